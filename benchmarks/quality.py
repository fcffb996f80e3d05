"""How good the swap looks, in figures: identity, expression, seam, flicker, hands, on the acceptance media.

The product's own path makes the outputs: detector, tracker with its smoothing, swapper, paste. `benchmarks.judge` measures them.
"""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import cv2
import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import Limit, Row, budgets, finish
from benchmarks.judge import Judge, Score, Seen, correlation, flicker
from benchmarks.sheets import Sheet
from realtime.backends.select import open_session
from realtime.config import GLASSES, option
from realtime.errors import UsageError
from realtime.finders import needed
from realtime.finishing import wishes
from realtime.following import tracking
from realtime.loading import Models, load_models
from realtime.models.base import Identity
from realtime.models.recognisers.sface import SFace
from realtime.photos.read import read_photo
from realtime.photos.source import load_source
from realtime.settings import Settings
from realtime.storage import model_store
from realtime.tracking import Tracker
from realtime.types import Face, Floats, Image
from realtime.vision import geometry
from realtime.vision.blend import paste

SUMMARY = "identity, expression, seam, flicker and hands of the swap on photographs and clips"

SOURCES: Final = {
    "openpeople_P001_studio_portrait.jpg": "openpeople_P001",
    "openpeople_P004_studio_portrait.jpg": "openpeople_P004",
    "faker_male_98.jpg": "faker_male_98",
}
"""Photos of synthetic people, and how the names of pictures of the same person begin."""
EMOTIONS: Final = "openpeople_P001_emotions_sheet.jpg"
"""Sixteen expressions of one person, which count for eyes and mouth only: so many alike would weigh too much elsewhere."""
CELL: Final = "expression"
"""Begins the names of the pictures cut from it."""
SHEETS: Final = (EMOTIONS, "openpeople_P004_character_sheet.jpg")
CLIPS: Final = (
    "asl_again.mkv",
    "asl_bird.mkv",
    "asl_book.mkv",
    "asl_brother.mkv",
    "asl_eat.mkv",
    "asl_yes.mkv",
    "head-pose-face-detection-male.mp4",
    "head-pose-face-detection-female-and-male.mp4",
)
QUICK_STILLS, QUICK_CLIPS = 8, ("asl_bird.mkv", "head-pose-face-detection-male.mp4")
UNSTEADY = 0.05
"""Outer-eye-corner distances by which a still's mesh may move from look to look; beyond (0.11 in profile against 0.03 elsewhere) its
eyes and mouth are guesses of the landmark network."""
LONGEST = 1280
"""Stills are shrunk to this, a camera's usual width."""
_USUAL = Settings(sources=())
HANDS = Path(__file__).with_name("hands.toml")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--media", type=Path, metavar="DIR", default=Path("shared/media"), help="the folder with stills/ and videos/")
    parser.add_argument("--quick", action="store_true", help="one source, a few stills and two clips; the limits then say little")
    parser.add_argument("--save", type=Path, metavar="DIR", help="write contact sheets, the original above what came out")
    parser.add_argument("--mask", metavar="NAMES", default="", help="with these masks, as the program's own --mask")
    parser.add_argument("--glasses", choices=GLASSES, default=_USUAL.glasses, help="as the program's own")
    parser.add_argument("--only", metavar="WORD", default="", help="'stills', or clips whose name holds WORD")


@dataclass(frozen=True, slots=True)
class Rig:
    """The product's networks and the judge's own."""

    settings: Settings
    models: Models
    judge: Judge

    def tracker(self) -> Tracker:
        return Tracker(self.models.detector, self.models.landmarker, self.models.recogniser, tracking(self.settings))


@dataclass(frozen=True, slots=True)
class Person:
    """A fitted source."""

    name: str
    own: str
    """How the names of pictures of the same person begin."""
    identity: Identity
    embedding: Floats


@dataclass(frozen=True, slots=True)
class Take:
    """One original picture, the face that the product follows in it and what the judge sees there; None where nobody is followed."""

    name: str
    image: Image
    face: Face | None
    seen: Seen | None
    hand: Floats | None = None


@dataclass(frozen=True, slots=True)
class Reel:
    """The outputs of one source on a sequence of takes."""

    scores: list[Score]
    expressions: list[Score]
    """Those whose eyes and mouth can be judged."""
    hidden: list[str]
    """Pictures in which the face is turned away: the program hides it, so there is nothing to judge."""
    trembling: float
    """Flicker of the outputs less that of the originals; NaN for stills."""


def run(options: argparse.Namespace) -> int:
    """Exit code 1 when a limit is missed. Raises UsageError when the media are not there."""
    media: Path = options.media
    if not (media / "stills").is_dir() or not (media / "videos").is_dir():
        raise UsageError(f"{media} holds no stills/ and videos/: point --media at the folder of the acceptance media")
    cv2.setNumThreads(1)
    with ExitStack() as cleanup:
        rig = opened(cleanup, option("mask").parse(options.mask) if options.mask else None, options.glasses)
        sources = list(SOURCES)[: 1 if options.quick else None]
        people = [fitted(rig, media / "stills" / name) for name in sources]
        rows = list(stills_rows(rig, people, media / "stills", options))
        for clip in QUICK_CLIPS if options.quick else CLIPS:
            if options.only in clip:
                rows += clip_rows(rig, people, media / "videos" / clip, options.save)
    asked = {"quick": options.quick, "mask": options.mask, "glasses": options.glasses}
    settings = {**asked, "sources": [person.name for person in people], "roles": rig.models.roles}
    return finish("quality", rows, settings, options.json)


def opened(cleanup: ExitStack, masks: Any = None, glasses: str = _USUAL.glasses) -> Rig:
    """The default models, and those of `masks`; `glasses` as the program's own.

    Recognition is loaded for the judge whether the tracker uses it or not.
    """
    settings, models = Settings(sources=(), masks=masks, glasses=glasses), model_store()
    models.ensure({*needed(settings, models), *wishes(settings, models.has).models(models.has), "sface"})
    product = load_models(settings, models, cleanup)
    recogniser = SFace(cleanup.enter_context(open_session(models.path("sface"))))
    return Rig(settings, product, Judge(product.landmarker, recogniser))


def fitted(rig: Rig, path: Path) -> Person:
    """A source photo, fitted by the swapper and embedded by the judge."""
    photos, _ = load_source((path,), rig.models.photo_detector, rig.models.photo_landmarker)
    embedding = rig.judge.embedding(photos[0].image, photos[0].landmarks.points)
    return Person(path.stem, SOURCES[path.name], rig.models.swapper.fit(photos), embedding)


# -------------------------------------------------------------------------------------------------------------------- takes


def stills(rig: Rig, folder: Path) -> Iterator[Take]:
    """Every still with one face, then each face of the sheet of expressions."""
    for path in sorted(folder.iterdir()):
        if path.suffix in (".jpg", ".png") and path.name not in SHEETS:
            yield take(rig, rig.tracker(), path.stem, shrunk(read_photo(path)), 0.0, None)
    for number, cell in enumerate(cells(rig, read_photo(folder / EMOTIONS))):
        yield take(rig, rig.tracker(), f"{CELL}_{number}", cell, 0.0, None)


def cells(rig: Rig, sheet: Image) -> Iterator[Image]:
    """A picture around each face of a sheet, row by row."""
    boxes = [detection.box for detection in rig.models.photo_detector.detect(sheet)]
    for box in sorted(boxes, key=lambda box: (round(box.centre[1] / box.height), box.centre[0])):
        x0, y0, x1, y1 = (max(int(value), 0) for value in geometry.grow(box, 0.6))
        yield np.ascontiguousarray(sheet[y0:y1, x0:x1])


def frames(rig: Rig, path: Path) -> Iterator[Take]:
    """Every frame of a clip, followed by one tracker."""
    video, tracker, hands = cv2.VideoCapture(str(path)), rig.tracker(), outlines(path.stem)
    rate = video.get(cv2.CAP_PROP_FPS) or 30.0
    number = 0
    while True:
        good, image = video.read()
        if not good:
            break
        yield take(rig, tracker, path.stem, image, number / rate, outline_at(hands, number))
        number += 1
    if not number:
        raise UsageError(f"{path} has no frames that can be read")


def take(rig: Rig, tracker: Tracker, name: str, image: Image, at: float, hand: Floats | None) -> Take:
    face = tracker.track(image, at).face
    if face is None:
        return Take(name, image, None, None, hand)
    return Take(name, image, face, rig.judge.see(image, face.landmarks.points), hand)


def shrunk(image: Image) -> Image:
    scale = LONGEST / max(image.shape[:2])
    return np.asarray(cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA), np.uint8) if scale < 1 else image


def outlines(clip: str) -> dict[int, Floats]:
    """The hand's outline (n, 2) at each keyframe of a clip."""
    keyframes = tomllib.loads(HANDS.read_text(encoding="utf-8")).get(clip, [])
    return {key["frame"]: np.array(key["outline"], np.float32) for key in keyframes}


def outline_at(keyframes: Mapping[int, Floats], frame: int) -> Floats | None:
    """Between keyframes the outline moves evenly; None outside them."""
    before, after = [k for k in keyframes if k <= frame], [k for k in keyframes if k >= frame]
    if not before or not after:
        return None
    a, b = max(before), min(after)
    share = (frame - a) / max(b - a, 1)
    return np.asarray(keyframes[a] * (1 - share) + keyframes[b] * share, np.float32)


# --------------------------------------------------------------------------------------------------------------------- rows


def stills_rows(rig: Rig, people: Sequence[Person], folder: Path, options: argparse.Namespace) -> Iterator[Row]:
    """The figures of the stills, one row a metric; a picture of the source's own person counts for its expression only."""
    if options.only not in "stills":
        return
    takes = list(stills(rig, folder))[: QUICK_STILLS if options.quick else None]
    reels = []
    for person in people:
        reels.append(swapped(rig, person, takes, options.save, still=True))
    missed = [take.name for take in takes if take.seen is None]
    unsteady = [take.name for take in takes if take.seen and take.seen.spread > UNSTEADY]
    hidden = sorted({name for reel in reels for name in reel.hidden})
    told = {"no face followed": missed, "hidden": hidden, "expression not judged": unsteady}
    note = "; ".join(f"{what}: {', '.join(names) or 'none'}" for what, names in told.items())
    yield Row("stills", "pictures", len(takes), note=note)
    yield from summary("stills", reels, budgets("quality"))


def clip_rows(rig: Rig, people: Sequence[Person], path: Path, save: Path | None) -> list[Row]:
    """The figures of one clip."""
    takes = list(frames(rig, path))
    reels = [swapped(rig, person, takes, save) for person in people]
    lost = sum(take.seen is None for take in takes)
    hidden = max(len(reel.hidden) for reel in reels)
    size = Row(path.stem, "frames", len(takes), note=f"{lost} without a face, {hidden} hidden" if lost or hidden else "")
    return [size, *summary(path.stem, reels, budgets("quality"))]


def swapped(rig: Rig, person: Person, takes: Sequence[Take], save: Path | None, still: bool = False) -> Reel:
    """Swap `person` into every take and judge the outputs. A still is a face of its own."""
    swapper, scores, expressions, hidden, film = rig.models.swapper, [], [], [], Film()
    swapper.use(person.identity)
    sheet = Sheet(every=1 if still else 6)
    for take in takes:
        if still or take.face is None:
            swapper.reset()
        if take.face is None or take.seen is None:
            continue
        output = take.image.copy()
        patch = swapper.swap(take.image, take.face)
        if patch is None:
            hidden.append(take.name)
            continue
        paste(output, patch.x, patch.y, patch.colour, patch.alpha)
        score = rig.judge.score(person.embedding, take.image, take.seen, output, take.hand)
        if not take.name.startswith((person.own, CELL)):
            scores.append(score)
        if not still or take.seen.spread <= UNSTEADY:
            expressions.append(score)
        if not still:
            film.add(take.image, output, take.seen.points)
        if save:
            sheet.add(take.image, output, take.seen.points, f"{take.name[:22]} {score.identity:.2f}")
    if save:
        sheet.write(save / f"{'stills' if still else takes[0].name}-{person.name}.png")
    return Reel(scores, expressions, hidden, film.flicker())


class Film:
    """The originals and outputs of a clip in grey, for what shows only over time."""

    def __init__(self) -> None:
        self._before: list[NDArray[np.uint8]] = []
        self._after: list[NDArray[np.uint8]] = []
        self._meshes: list[Floats] = []

    def add(self, original: Image, output: Image, mesh: Floats) -> None:
        for film, image in ((self._before, original), (self._after, output)):
            film.append(np.asarray(cv2.cvtColor(image, cv2.COLOR_BGR2GRAY), np.uint8))
        self._meshes.append(mesh)

    def flicker(self) -> float:
        """Of the outputs less that of the originals, both held still by the landmarks of the originals."""
        return flicker(self._after, self._meshes) - flicker(self._before, self._meshes)


def summary(name: str, reels: Sequence[Reel], limits: Mapping[str, Limit]) -> Iterator[Row]:
    """One row a metric: the mean over sources of the mean over frames, or of the correlation over frames."""

    def row(metric: str, values: Sequence[float], unit: str = "", note: str = "") -> Row:
        real = [value for value in values if not np.isnan(value)]
        limit = limits.get(f"{name}.{metric}", limits.get(metric))
        return Row(name, metric, float(np.mean(real)) if real else float("nan"), unit, limit, note)

    def mean(metric: str) -> list[float]:
        return [float(np.mean([getattr(score, metric) for score in reel.scores])) for reel in reels]

    bases, kept = float(np.mean(mean("base"))), float(np.mean(mean("kept")))
    identities = mean("identity")
    each = ", ".join(f"{value:.3f}" for value in identities)
    yield row("identity", identities, "cosine", f"each source {each}; base {bases:.2f}, to the original {kept:.2f}")
    yield row("landmarks", mean("landmarks"), "eye distances")
    yield row("eyes", [correlation([score.eyes for score in reel.expressions]) for reel in reels], "r")
    yield row("mouth", [correlation([score.mouth for score in reel.expressions]) for reel in reels], "r")
    yield row("seam", mean("seam"), "dE", "beyond the original's")
    yield row("outside", [max(score.outside for score in reel.scores) for reel in reels], "share", "largest")
    if not all(np.isnan(reel.trembling) for reel in reels):
        yield row("flicker", [reel.trembling for reel in reels], "levels", "beyond the original's")
    hands = [[score.hand for score in reel.scores if not np.isnan(score.hand)] for reel in reels]
    if all(hands):
        yield row("hand", [float(np.mean(values)) for values in hands], "levels", f"{len(hands[0])} frames")
