"""A run as on a GPU: the graph around the mesh follows, in two threads, on ONNX Runtime in place of an engine."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from realtime import app, assets, loading
from realtime.backends.base import FrameSession
from realtime.backends.onnxruntime import OnnxRuntimeFrames
from realtime.backends.select import open_frames
from realtime.graphs.follow import follow, follow_swap
from realtime.models.peek import Peek
from realtime.models.store import ModelStore
from realtime.models.swappers.aligned import AlignedSwapper
from realtime.models.swappers.fused import fused
from realtime.models.swappers.planar import PlanarNetwork
from realtime.models.swappers.recognise import recognise
from realtime.networks import FOLLOW, Networks
from realtime.settings import Settings
from tests.models.swappers import scene
from tests.sources.media import write_video
from tests.twins.swappers import twin

pytestmark = pytest.mark.models


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """`open_follow` gives a session on the processor; what it is told to watch, and each frame that it brings, in order."""
    seen: list[Any] = []

    class Frames(OnnxRuntimeFrames):
        def watch(self, upcoming: Any) -> None:
            seen.append(upcoming)

        def _bring(self, given: Any) -> None:
            seen.append(given.shape)
            super()._bring(given)

    def opened(networks: Networks, mesh: Path) -> FrameSession:
        session = open_frames(follow(mesh, gather_bytes=True).SerializeToString(), on_gpu=False)
        session.__class__ = Frames
        networks.opened[FOLLOW] = session
        return session

    monkeypatch.setattr(Networks, "open_follow", opened)
    return seen


@pytest.mark.parametrize("device", ["auto", "0,1"])
def test_the_graph_follows_and_each_frame_is_brought_once(
    device: str, watched: list[Any], models: ModelStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import cv2
    import numpy as np

    from realtime.backends.place import ANYWHERE

    monkeypatch.setattr(loading, "places", lambda *asked: (ANYWHERE, ANYWHERE))
    monkeypatch.setattr("realtime.backends.select.check", lambda *asked: None)
    person = cv2.resize(cv2.imread(str(assets.PERSON)), (512, 512))
    film = write_video(tmp_path / "in.mp4", [np.roll(person, 2 * n, axis=1) for n in range(12)], sound=False)
    settings = Settings(sources=((assets.SOURCE,),), input=str(film), outputs=(str(tmp_path / "out.mp4"),), device=device)
    said: list[str] = []
    report = app.run(settings, notify=said.append)
    assert report["states"] == {"swapped": 12}
    assert report["roles"]["landmarker"] == {"model": "mesh", "backend": "onnxruntime cpu fp32"}
    upcoming, *frames = watched
    assert callable(upcoming) and frames == [(512, 512, 3)] * 12, "twelve frames, however often each was looked at; no photo"
    assert ("the second GPU has nothing to do" in " ".join(said)) == (device == "0,1")


@pytest.fixture
def whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A swap network for which `open_follow_swap` gives a session of the whole path on the processor, as if there were an engine."""
    path = scene.save(tmp_path, "inswapper_128.onnx", twin("inswapper_128"))
    scene.companions(tmp_path)
    monkeypatch.setenv("REALTIME_ENGINES", str(tmp_path))
    (tmp_path / "follow_swap-inswapper_128.json").touch()

    def opened(networks: Networks, mesh: Path, name: str, swap: Path) -> FrameSession:
        assert (name, swap) == ("inswapper_128", path)
        graph = follow_swap(mesh, fused(recognise(swap, Peek(swap)), swap), gather_bytes=True)
        return open_frames(graph.SerializeToString(), on_gpu=False)

    monkeypatch.setattr(Networks, "open_follow_swap", opened)
    return path


def _swapped(monkeypatch: pytest.MonkeyPatch, path: Path, tmp_path: Path, **changes: Any) -> tuple[int, dict[str, Any], list[str]]:
    """Runs of the swap network by itself in a film of twelve frames, the report and what was said."""
    import cv2
    import numpy as np

    runs: list[int] = []
    plain = PlanarNetwork.swap
    monkeypatch.setattr(PlanarNetwork, "swap", lambda self, *args: runs.append(1) or plain(self, *args))
    person = cv2.resize(cv2.imread(str(assets.PERSON)), (512, 512))
    film = write_video(tmp_path / "in.mp4", [np.roll(person, 2 * n, axis=1) for n in range(12)], sound=False)
    settings = Settings(sources=((assets.SOURCE,),), input=str(film), outputs=(str(tmp_path / "out.mp4"),), swapper=str(path), **changes)
    said: list[str] = []
    report = app.run(settings, notify=said.append)
    return len(runs), report, [each for each in said if "follow_swap" in each]


def test_the_look_that_follows_swaps_as_well(whole: Path, models: ModelStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs, report, said = _swapped(monkeypatch, whole, tmp_path)
    assert report["states"] == {"swapped": 12} and report["roles"]["landmarker"]["backend"] == "onnxruntime cpu fp32"
    assert 1 <= runs <= 4 and said == [], "the first frame's face is found by looks that do not swap; smoothing is furthest off at first"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"faces": "largest"}, "it is for one face"),
        ({"landmarker": "2d106"}, "it aligns by the mesh"),
        ({"device": "0,1"}, "it runs on one GPU"),
        ({}, "it swaps in one pass"),
        ({"swap_contract": "inswapper"}, "it was built for what the file says of itself"),
    ],
)
def test_where_the_whole_path_does_not_do_it_is_said_once(changes: dict[str, Any], reason: str, whole: Path) -> None:
    said: list[str] = []
    opener = SimpleNamespace(has_follow_swap=lambda name: True, notify=said.append)
    settings = Settings(sources=((assets.SOURCE,),), swapper=str(whole), **changes)
    swapper, landmarker = AlignedSwapper.__new__(AlignedSwapper), object()
    swapper._shared = SimpleNamespace(network=SimpleNamespace(passes=1 if changes else 2))  # type: ignore[assignment]
    assert loading._followed(settings, opener, landmarker, swapper) is landmarker  # type: ignore[arg-type]
    assert said == [f"follow_swap-inswapper_128 is not used: {reason}; following and swapping run one after the other"]
