"""Which faces a run follows and swaps: from what was asked to a tracker, and to the infer stage that goes with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Final

from realtime import faces
from realtime.backends.select import BACKENDS, backend_of
from realtime.errors import UsageError
from realtime.models.base import Detector, Identity, Landmarker, Recogniser, Swapper
from realtime.photos.read import read_photo
from realtime.photos.source import load_source
from realtime.pipeline.controls import Controls
from realtime.pipeline.infer import Infer
from realtime.pipeline.pipeline import Halves
from realtime.pipeline.several import InferSeveral
from realtime.profiles import PROFILES
from realtime.settings import Settings
from realtime.tracking import Everyone, Gallery, People, Ranked, SeveralTracker, Tracker, TrackerSettings, largest, left, nth, right
from realtime.tracking.choice import Choice
from realtime.tracking.preference import Rank
from realtime.types import Floats, Image
from realtime.vision import geometry

MOST_FACES: Final = 8
"""Faces swapped at once with `--faces all`: the main ones, the others are hidden. Each costs a look of the mesh network and a swap."""
_PATIENCE: Final = 1.0
"""Seconds after which a place chooses anew when the face that it chose is lost, or is another's."""
_RANKS: Mapping[str, Rank] = MappingProxyType({"largest": largest, "left": left, "right": right})

Stage = Infer | InferSeveral
Notify = Callable[[str], None]
"""Tells the user one sentence."""


def tracking(settings: Settings, patient: bool = False) -> TrackerSettings:
    """`patient`: for a picture."""
    return TrackerSettings(
        score=settings.score,
        min_face=settings.min_face,
        detect_every=PROFILES[settings.profile].detect_every,
        similarity=settings.similarity,
        patient=patient,
    )


def references(
    settings: Settings,
    detector: Detector,
    landmarker: Landmarker,
    recogniser: Recogniser | None,
    notify: Notify,
    read: Callable[[Path], Image] = read_photo,
) -> list[Floats]:
    """An embedding for each person who is looked for. `read` gives the picture of a file. Raises UsageError for a photo without a face."""
    photo = faces.rule(settings.faces).photo
    paths: list[Path] = [path for _, path in settings.map] if photo is None else [photo]
    if not paths:
        return []
    if recogniser is None:
        raise UsageError("--map and --faces reference: need a network that knows faces: give one with --recogniser, or leave that out")
    found = []
    for path in paths:
        photos, notes = load_source([path], detector, landmarker, read, shown=False)
        for note in notes:
            notify(note)
        found.append(recogniser.embed(photos[0].image, geometry.five_points(photos[0].landmarks.points)).copy())
    return found


def infer_stage(
    settings: Settings,
    detector: Detector,
    landmarker: Landmarker,
    recogniser: Recogniser | None,
    swapper: Swapper,
    identities: Sequence[Identity],
    controls: Controls,
    known: Sequence[Floats] = (),
    patient: bool = False,
) -> Stage:
    """`known`: what `references` gave. `patient`: for a picture."""
    rule, tracked = faces.rule(settings.faces), tracking(settings, patient)
    if settings.map or rule.name in (faces.ALL, faces.REFERENCE):
        tracker = SeveralTracker(detector, landmarker, _choice(recogniser, known, tracked), tracked)
        return InferSeveral(tracker, swapper, identities, controls, [number for number, _ in settings.map])
    one = Tracker(detector, landmarker, recogniser, tracked)
    if rule.name != faces.MAIN:
        rank = nth(rule.number) if rule.name == faces.INDEX else _RANKS[rule.name]
        one = Tracker(detector, landmarker, recogniser, replace(tracked, takeover=_PATIENCE), Ranked(rank))
    return Infer(one, swapper, identities, controls)


def beside(stage: Stage, settings: Settings, swapped_by: str) -> Stage | Halves:
    """The stage in two threads where `swapped_by`, the swapper's backend, leaves the processor free, or there are two GPUs.

    Every frame is followed then, however long a swap takes: a face that moved for 50 ms unseen costs a look or two more, and the swap
    begins with a frame that is followed already. Where the swap needs the processor, a second thread would only take it away.
    """
    backend = BACKENDS.get(backend_of(swapped_by))
    free = "," in settings.device or (backend is not None and backend.on_gpu)
    return Halves(stage.follow, stage.swap) if free else stage


def _choice(recogniser: Recogniser | None, known: Sequence[Floats], settings: TrackerSettings) -> Choice:
    if known and recogniser is not None:
        return People(Gallery(recogniser, known, settings.similarity), settings)
    return Everyone(MOST_FACES, settings.patient)
