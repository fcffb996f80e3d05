"""The graphs built for real by TensorRT-RTX, which needs no GPU for that. Runs where the package is installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest

from realtime.graphs.detect import detect
from realtime.graphs.follow import Swap, follow, follow_swap
from realtime.models.store import ModelStore
from realtime.vision.align import ARCFACE_112
from tests.models.rtx import engine_size
from tests.twins import inswapper, mesh

_FRAMES = ((480, 640, 3), (720, 1280, 3), (2160, 3840, 3))
"""Smallest, likeliest and largest frame."""


def _built(model: Any) -> int:
    """Bytes of the engine for two generations of GPUs."""
    return engine_size(model.SerializeToString(), {"frame": _FRAMES}, (86, 89))


def _swapped(size: int, element: int = onnx.TensorProto.FLOAT) -> Any:
    template = ARCFACE_112 * np.float32(size / 112)
    return follow_swap(mesh.mesh_twin(), Swap(inswapper.random_twin(size, element=element), template))


CASES: dict[str, Callable[[], Any]] = {
    "follow": lambda: follow(mesh.mesh_twin()),
    "swap 128": lambda: _swapped(128),
    "swap 256 half": lambda: _swapped(256, onnx.TensorProto.FLOAT16),
    "swap 512": lambda: _swapped(512),
}


@pytest.mark.parametrize("name", CASES)
def test_builds_around_a_twin(name: str) -> None:
    assert _built(CASES[name]()) > 10_000


@pytest.mark.models
def test_builds_around_the_default_networks(models: ModelStore) -> None:
    assert _built(follow(models.path("mesh"))) > 1_000_000
    assert _built(detect(models.path("yunet_320"))) > 100_000
