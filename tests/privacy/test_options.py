"""Every option that has a say in what comes out, each value of each with each of every other, and every way out: frames, films, pictures.

The networks see what is painted, wherever mirroring, turning and scaling have put it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import av
import cv2
import numpy as np
import pytest

from realtime import app
from realtime.backends.fake import FakeSession, spec
from realtime.errors import SinkError
from realtime.faces import RULES
from realtime.finishing import Finishing, open_finishing, wishes
from realtime.following import infer_stage
from realtime.models.masks.networks import REGIONS
from realtime.models.swappers.aligned import AlignedSwapper
from realtime.pipeline.controls import Controls
from realtime.pipeline.pipeline import Pipeline
from realtime.profiles import PROFILES
from realtime.settings import Settings
from realtime.sinks import video
from realtime.sinks.image import ImageSink
from realtime.sinks.video import VideoSink
from realtime.sources.base import EndOfStream, SourceInfo
from realtime.sources.sync import Managed
from realtime.sources.transform import Transformed
from realtime.types import Box, Detection, Floats, Frame, Image, Landmarks, Region, State
from realtime.vision import geometry
from realtime.vision.align import ARCFACE_128
from tests.models.swappers import scene
from tests.pipeline.people import SWAPPED, PaintingSwapper
from tests.pipeline.people import Person as Somebody
from tests.pipeline.test_pipeline import run
from tests.privacy.covering import pairwise
from tests.privacy.harness import Watch, paint, shows_checks
from tests.sinks.test_video import limited

FRAMES, FPS, SIZE = 34, 15.0, (320, 240)
OWN = 0.5
"""Share of the face that is painted: what a mask, or an aligned crop, certainly covers."""
BROKEN, MISSED, AWAY, LARGE, PAUSED, MIRRORED = (4, 5, 31), (8, 9, 27, 28), range(12, 14), range(19, 21), (23, 24), (26, 30)
FIRST_MISSED = (17, 18)
"""Frames in which something befalls whoever is there."""


class Film(Managed):
    """Somebody who sways, goes, and is back elsewhere, in a grey room, and for `--faces all` another one; mirrored, and of another size for
    some time."""

    def __init__(self, people: int, turn: Callable[[], None]) -> None:
        self._people, self._turn, self._next = people, turn, 0

    def open(self) -> SourceInfo:
        return SourceInfo("film", *SIZE, FPS, live=False)

    def read(self, timeout: float) -> Frame:
        if self._next >= FRAMES:
            raise EndOfStream
        seq, self._next = self._next, self._next + 1
        if seq in MIRRORED:
            self._turn()
        factor = 1.5 if seq in LARGE else 1.0
        image = np.full((round(SIZE[1] * factor), round(SIZE[0] * factor), 3), 90, np.uint8)
        for person in range(self._people):
            if seq in AWAY:
                continue
            x = (95, 235)[person] + 12 * np.sin(0.4 * seq) + 30 * (seq > AWAY[-1])
            half = OWN * 45 * factor
            paint(image, Box(factor * x - half, factor * 120 - half, factor * x + half, factor * 120 + half), fields=6)
        return Frame(seq, seq / FPS, image)

    def close(self) -> None:
        pass


class Sight:
    """A detector and a mesh network that see the mark, unless they are told to miss it or to break."""

    name = "sight"

    def __init__(self) -> None:
        self.missed = 0
        """How many of those who are there."""
        self.broken = False

    def detect(self, image: Image) -> list[Detection]:
        return [Detection(_box(place), geometry.five_points(_mesh(place)), 0.9) for place in self._seen(image)]

    def landmarks(self, image: Image, region: Region) -> Landmarks:
        near = [place for place in self._seen(image) if np.hypot(place[0] - region.x, place[1] - region.y) < 0.45 * place[2]]
        if not near:
            return Landmarks(MESH * np.float32(region.size / 3) + np.float32((region.x, region.y, 0)), 0.02)
        return Landmarks(_mesh(near[0]), 0.99)

    def _seen(self, image: Image) -> list[Place]:
        if self.broken:
            raise RuntimeError("device lost")
        return _places(image)[self.missed :]


def standing_upright() -> Floats:
    """The mesh of a synthetic person, as wide as 1."""
    _, points = scene.picture("p006_studio")
    low, high = points[:, :2].min(0), points[:, :2].max(0)
    return np.asarray((points - [*(low + high) / 2, 0]) / (high - low)[0], np.float32)


MESH = standing_upright()
Place = tuple[float, float, float]


def _places(image: Image) -> list[Place]:
    marked = cv2.inRange(image, (0, 141, 0), (109, 255, 255))
    _, _, found, _ = cv2.connectedComponentsWithStats(marked)
    return [(x + w / 2, y + h / 2, max(w, h) / OWN) for x, y, w, h, area in found[1:] if area > 100]


def _mesh(place: Place) -> Any:
    return MESH * np.float32(place[2]) + np.float32((*place[:2], 0))


def _box(place: Place) -> Box:
    x, y, size = place
    return Box(x - size / 2, y - size / 2, x + size / 2, y + size / 2)


class Covering(PaintingSwapper):
    """As the mesh does: a patch, of the part of the face that lies in the frame."""

    def swap(self, image, face):
        x0, y0, x1, y1 = (round(value) for value in face.box)
        inside = Box(max(x0, 0), max(y0, 0), min(x1, image.shape[1]), min(y1, image.shape[0]))
        patch = super().swap(image, replace(face, box=inside))
        if patch is not None:
            height, width = patch.alpha.shape
            patch.alpha[...] = 0
            cv2.ellipse(patch.alpha, (width // 2, height // 2), (width // 2, height // 2), 0, 0, 360, 255, cv2.FILLED)
        return patch

    def fork(self):
        return Covering()


class Flat:
    """A swap network that draws the same face whatever it is given."""

    name, backend, size, template = "flat", "fake fp32", 128, ARCFACE_128

    def prepare(self, photos):
        return np.zeros(1, np.float32)

    def use(self, source):
        pass

    def swap(self, before, swapped, mask):
        swapped[...] = SWAPPED
        return True


SPECS = {
    "selfie": (spec("x", 1, 3, 256, 256), spec("y", 1, 256, 256, 1)),
    "xseg_1": (spec("x", 1, 256, 256, 3), spec("y", 1, 256, 256, 1)),
    "bisenet_resnet_34": (spec("x", 1, 3, 512, 512), spec("y", 1, 19, 512, 512)),
    "occluder": (spec("x", 1, 3, 128, 128), spec("y", 1, 1, 64, 64)),
    "gfpgan_1.4": (spec("x", 1, 3, 128, 128), spec("y", 1, 3, 128, 128)),
}
ANSWERS = ("a face", "no face", "no numbers", "none")


class Answering(FakeSession):
    """Gives one answer for ever, after it was timed, as an enhancer is before the run."""

    def __init__(self, name: str, kind: str) -> None:
        taken, given = SPECS[name]
        self._name, self._kind, self._spared = name, kind, 3 if name == "gfpgan_1.4" else 0
        super().__init__([taken], [given], self._answer)

    def _answer(self, feeds: object) -> dict[str, Any]:
        kind = "a face" if self.runs <= self._spared else self._kind
        if kind == "none":
            raise RuntimeError("device lost")
        if self.runs > self._spared + 1:
            return {}  # what was given stays
        made = np.full(SPECS[self._name][1].shape, np.nan if kind == "no numbers" else float(kind == "a face"), np.float32)
        if self._name == "bisenet_resnet_34" and kind != "no numbers":
            made[...] = 0
            made[:, REGIONS["skin"][0] if kind == "a face" else 0] = 1
        return {"y": 0.3 * made if self._name == "gfpgan_1.4" else made}


def finishing(settings: Settings, kind: str, crops: bool) -> Finishing:
    """As the program puts it together, on networks that all give one answer."""
    opener = SimpleNamespace(
        store=SimpleNamespace(has=lambda name: name in SPECS, path=lambda name: Path(__file__)),
        open=lambda paths, *more: {name: Answering(name, kind) for name in paths},
        swapping=None,
        notify=lambda sentence: None,
    )
    return open_finishing(wishes(settings, opener.store.has), settings, opener, crops=crops)  # type: ignore[arg-type]


OPTIONS = {
    "mirror": (False, True),
    "rotate": (0, 90, 180, 270),
    "size": (None, (240, 180), (256, 256)),
    "faces": ("main", "all", "largest", "left", "right", "index:1"),
    "profile": tuple(PROFILES),
    "masks": (None, ("person",), ("occlusion",), ("region",), ("occluder",), ("box", "hull"), ("person", "region")),
    "enhance": (None, "off", "sharpen", "gfpgan_1.4"),
    "badge": ("off", "top-left", "top-right", "bottom-left", "bottom-right"),
    "on_lost": ("hide", "hide", "freeze"),
}
AROUND = {
    "network": (False, True),
    "answer": ANSWERS,
    "beside": ("nothing", "film.mp4", "last.png", "full.mp4", "full.mkv"),
}
ROWS = pairwise(OPTIONS | AROUND)


def test_all_rules_of_whom_to_swap_are_among_them() -> None:
    assert {str(rule).partition(":")[0] for rule in OPTIONS["faces"]} == set(RULES) - {"reference"}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: " ".join(str(value) for value in row.values()))
def test_no_raw_face_comes_out(row: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(sources=(), min_face=20.0, **{name: row[name] for name in OPTIONS})
    made = finishing(settings, row["answer"], row["network"])
    made.opened(live=False, fps=FPS)
    swapper = AlignedSwapper(Flat(), made.steps) if row["network"] else made.around(Covering())  # type: ignore[arg-type]
    sight, controls, stills = Sight(), Controls(), []
    people = [swapper.fit([]), swapper.fit([])] if row["network"] else [Somebody("anna"), Somebody("ben")]
    stage = infer_stage(settings, sight, sight, None, swapper, people, controls)

    def infer(frame: Frame) -> Any:
        sight.missed, sight.broken = 9 * (frame.seq in MISSED) or frame.seq in FIRST_MISSED, frame.seq in BROKEN
        controls.paused, controls.source = frame.seq in PAUSED, frame.seq // 5 % 2
        controls.still_wanted = frame.seq % 6 == 3
        return stage(frame)

    source = Transformed(
        Film(2 if settings.faces == "all" else 1, lambda: source.set_mirror(not source.mirror)),
        settings.mirror, settings.rotate, settings.size,
    )  # fmt: skip
    watch, path = Watch(shows=shows_checks), tmp_path / row["beside"]
    sinks: list[Any] = [watch]
    if path.suffix:
        sinks.append((ImageSink if path.suffix == ".png" else VideoSink)(path))
    if path.stem == "full":
        monkeypatch.setattr(video, "DiskFile", limited(6000))
    pipeline = Pipeline(
        source,
        infer,
        lambda w, h: app.finisher(settings, w, h, sinks),
        sinks,
        controls=controls,
        on_still=lambda f: stills.append(f.image.copy()),
    )
    error = run(pipeline)
    assert error is None or (path.stem == "full" and isinstance(error, SinkError)), error
    assert watch.leaks == []
    assert not any(map(shows_checks, stills))
    assert not any(map(shows_checks, written(tmp_path)))
    if error is None:
        assert watch.count == FRAMES and stills
        harmless = not made.masks and (made.enhancer is None or row["answer"] != "none")
        assert State.SWAPPED in watch.states or not (harmless or row["answer"] == "a face"), (
            "a run in which nothing is swapped proves nothing"
        )


def written(folder: Path) -> Iterator[Image]:
    """Every picture in every file that a run has left, if only a part of it."""
    for path in folder.iterdir():
        if path.suffix == ".png":
            image = cv2.imread(str(path))
            assert image is not None
            yield image
            continue
        with av.open(str(path)) as container:
            try:
                yield from (frame.to_ndarray(format="bgr24") for frame in container.decode(video=0))
            except av.FFmpegError:
                assert "part" in path.name
