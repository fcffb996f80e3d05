"""On which GPU a run's networks are opened: `--device 0,1` follows on one and swaps on the other."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from realtime import finishing, opening
from realtime.backends.fake import FakeSession, spec
from realtime.backends.place import Place
from realtime.models.store import ModelStore
from realtime.models.swappers.select import SwapOptions
from realtime.opening import Opener, open_swap_network

FIRST, SECOND = Place(0), Place(1)


@pytest.fixture
def places(monkeypatch: pytest.MonkeyPatch) -> dict[str, Place]:
    """What was opened, and where."""
    found: dict[str, Place] = {}

    def session(path: Path, *_: Any, place: Place, **__: Any) -> FakeSession:
        found[f"exact {path.stem}"] = place
        return FakeSession([spec("x", 1)], [spec("y", 1)])

    class Networks:
        def __init__(self, backend: str, engines: Path, cache: Path, place: Place, threads: int = 1) -> None:
            self._place = place

        def open(self, name: str, path: Path) -> FakeSession:
            found[name] = self._place
            return FakeSession([spec("x", 1)], [spec("y", 1)])

        def open_follow(self, mesh: Path) -> None:
            found["follow"] = self._place

        def open_follow_swap(self, mesh: Path, name: str, swap: Path) -> None:
            found["follow_swap"] = self._place

        def remarks(self, fraction: float | None) -> list[str]:
            return []

    monkeypatch.setattr(opening, "Networks", Networks)
    monkeypatch.setattr(opening, "open_session", session)
    return found


def test_faces_are_found_on_one_gpu_and_swapped_and_enhanced_on_the_other(
    places: dict[str, Place], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def open_swapper(path: Path, options: SwapOptions, around: Any) -> Any:
        around.open_network(path)
        around.open_exact(path)
        return SimpleNamespace(warm_up=lambda: None)

    monkeypatch.setattr(opening.select, "open_swapper", open_swapper)
    monkeypatch.setattr(opening.select, "terms", lambda *_: "whose it is")
    mine, enhancer = tmp_path / "mine.onnx", tmp_path / "enhancer.onnx"
    enhancer.write_bytes(b"small")
    with ExitStack() as cleanup:
        opener = Opener("auto", ModelStore(tmp_path), tmp_path, cleanup, lambda text: None, FIRST, SECOND)
        opener.open({"mesh": tmp_path / "mesh.onnx", "yunet_320": tmp_path / "yunet_320.onnx"})
        opener.open_follow(tmp_path / "mesh.onnx")
        opener.open_follow_swap(tmp_path / "mesh.onnx", str(mine))
        open_swap_network(str(mine), SwapOptions(), opener)
        finishing._open("enhancer", enhancer, opener)
    on = {0: {"mesh", "yunet_320", "follow"}, 1: {"mine", "exact mine", "follow_swap", "enhancer"}}
    assert {number: {name for name, place in places.items() if place.gpu == number} for number in (0, 1)} == on
