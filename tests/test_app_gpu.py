"""A run as on a GPU: the graph around the mesh follows, in two threads, on ONNX Runtime in place of an engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from realtime import app, assets, loading
from realtime.backends.base import FrameSession
from realtime.backends.onnxruntime import OnnxRuntimeFrames
from realtime.backends.select import open_frames
from realtime.graphs.follow import follow
from realtime.models.store import ModelStore
from realtime.networks import FOLLOW, Networks
from realtime.settings import Settings
from tests.sources.media import write_video

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
