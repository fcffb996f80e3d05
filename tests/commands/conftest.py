"""The builder's scenes and small network, for its command."""

from __future__ import annotations

from tests.builder.conftest import here, scenes, twin, write_scenes

__all__ = ["here", "scenes", "twin", "write_scenes"]
