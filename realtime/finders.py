"""Which networks find, align and know faces in a run: from what was asked to files, and from sessions to models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from realtime.backends.base import Session
from realtime.backends.gpus import gpus
from realtime.backends.select import AUTO, BACKENDS, ENGINES, describe
from realtime.models.catalog import MODELS
from realtime.models.convert.fixed import checked, fixed_copies
from realtime.models.detectors.finder import FaceFinder
from realtime.models.detectors.select import face_finder
from realtime.models.landmarks.points import PointLandmarker
from realtime.models.recognisers.arcface import ArcFace
from realtime.models.recognisers.select import recogniser_of
from realtime.models.recognisers.sface import SFace
from realtime.models.store import ModelStore
from realtime.profiles import PROFILES
from realtime.settings import Settings

BEST_DETECTOR = "scrfd_10g"
"""Of those of the catalogue; 13 G multiply-adds a look at 640 pixels: for GPUs."""
MESH, SFACE = "mesh", "sface"
_CPU = "cpu"
_FULL = 640
_COPIES = "sized"
"""Folder within the store's for files of open size that got one."""


@dataclass(frozen=True, slots=True)
class Finders:
    """What a run uses: names of the catalogue, or files of the user."""

    detector: str
    detector_size: int
    """Of its input, where the file leaves it open."""
    landmarker: str
    """MESH: no network of its own aligns crops."""
    recogniser: str | None

    @property
    def names(self) -> tuple[str, ...]:
        """Those in the catalogue, which the store must have; the mesh, which every run follows with, among them."""
        asked = (self.detector, MESH, self.landmarker, self.recogniser)
        return tuple(dict.fromkeys(name for name in asked if name is not None and name in MODELS))

    def paths(self, store: ModelStore) -> dict[str, Path]:
        """The files of all of them, by names for sessions. Raises ModelError when one cannot be used."""
        found = self._detector_paths(store) | {MESH: store.path(MESH)}
        for choice in (self.landmarker, self.recogniser):
            if choice is not None:
                path = _path(choice, store)
                found[_key(choice)] = path if choice in MODELS else checked(path)
        return found

    def _detector_paths(self, store: ModelStore) -> dict[str, Path]:
        """A file of open size gets two, the second for large faces; engines of theirs go by the names of these files."""
        path, key = _path(self.detector, store), _key(self.detector)
        if self.detector in MODELS and MODELS[self.detector].wheel is not None:
            return {key: path}  # made by the store with a fixed size: looking at it again would cost a fifth of a second
        sizes = (self.detector_size, self.detector_size // 2)
        copies = fixed_copies(path, sizes, store.folder / _COPIES)
        return {key: path} if copies == (path,) else {copy.stem: copy for copy in copies}

    def detectors(self, sessions: Mapping[str, Session], score: float, min_face: float) -> tuple[FaceFinder, FaceFinder]:
        """One for frames, and one for photos, which takes its time and looks for faces of any size. Raises ModelError."""
        others = {MESH, _key(self.landmarker), _key(self.recogniser or MESH)} - {_key(self.detector)}
        used, file = [session for name, session in sessions.items() if name not in others], Path(self.detector).name
        live = face_finder(used, file, score=score, min_face=min_face, adaptive=True)
        return live, face_finder(used, file, thorough=True)

    def points(self, sessions: Mapping[str, Session]) -> PointLandmarker | None:
        """The network that aligns crops; None: the mesh does. Raises ModelError."""
        if self.landmarker == MESH:
            return None
        return PointLandmarker(sessions[_key(self.landmarker)], Path(self.landmarker).name)

    def knows(self, sessions: Mapping[str, Session]) -> SFace | ArcFace | None:
        """Raises ModelError when the network is no recogniser."""
        if self.recogniser is None:
            return None
        return recogniser_of(sessions[_key(self.recogniser)], Path(self.recogniser).name, _key(self.recogniser))


def finders(settings: Settings, store: ModelStore) -> Finders:
    """What a run with these settings uses."""
    profile = PROFILES[settings.profile]
    return choose(
        settings.detector,
        settings.landmarker,
        settings.recogniser,
        store,
        usual=(profile.detector, profile.detector_size),
        identify=profile.identify or settings.needs_recogniser,
        on_gpu=settings.device != _CPU and runs_on_gpu(settings.backend),
    )


def needed(settings: Settings, store: ModelStore) -> tuple[str, ...]:
    """Names of the catalogue's models that find, align and know faces in a run with these settings."""
    return finders(settings, store).names


def choose(
    detector: str, landmarker: str, recogniser: str, store: ModelStore, *, usual: tuple[str, int], identify: bool, on_gpu: bool
) -> Finders:
    """From the words of the options. `usual` is the profile's detector with its size, `identify` whether it wants a recogniser.

    Where networks run on a GPU, `auto` is the best detector that the store has.
    """
    name, size = (detector, usual[1]) if detector != AUTO else usual
    if on_gpu:
        size = _FULL
        name = BEST_DETECTOR if detector == AUTO and store.has(BEST_DETECTOR) else name
    known = (SFACE if identify else None) if recogniser == AUTO else recogniser
    return Finders(name, size, landmarker, known)


def runs_on_gpu(backend: str) -> bool:
    """Whether networks that are opened as files run on a GPU here; engines are built for some of them only."""
    if backend != AUTO:
        return BACKENDS[backend].on_gpu
    candidates = [name for name, each in BACKENDS.items() if each.on_gpu and name not in ENGINES]
    return bool(gpus()) and any(each.usable for each in describe(candidates))


def _path(choice: str, store: ModelStore) -> Path:
    return store.path(choice) if choice in MODELS else Path(choice).expanduser()


def _key(choice: str) -> str:
    """The name that engines are looked for by. A file that is called like a model of the catalogue is not that model."""
    if choice in MODELS:
        return choice
    stem = Path(choice).stem
    return f"{stem}-file" if stem in MODELS else stem
