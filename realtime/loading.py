"""What a run needs before its first frame: the networks on their backends, and the source photos fitted to the swapper."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from realtime.assets import SOURCE
from realtime.backends import native
from realtime.backends.base import FrameSession, Session
from realtime.backends.place import Place
from realtime.backends.select import open_session
from realtime.faces import MAIN
from realtime.finders import MESH, SFACE, Finders, finders
from realtime.finishing import Finishing, open_finishing, wishes
from realtime.models.base import Detector, Identity, Landmarker, Recogniser, Swapper
from realtime.models.landmarks.fused import FusedLandmarker
from realtime.models.landmarks.mesh import MeshLandmarker
from realtime.models.landmarks.swapping import SwappingLandmarker
from realtime.models.recognisers.sface import SFace
from realtime.models.store import ModelStore
from realtime.models.swappers.aligned import AlignedSwapper
from realtime.models.swappers.mesh import MeshSwapper
from realtime.models.swappers.refined import RefinedSwapper
from realtime.models.swappers.select import SwapOptions
from realtime.networks import Notify, places, whole
from realtime.opening import Opener, needs_exact, open_swap_network
from realtime.photos.read import read_photo
from realtime.photos.source import load_source
from realtime.profiles import PROFILES
from realtime.settings import Settings
from realtime.starting import remember_kernels
from realtime.storage import engines_folder
from realtime.tracking import warm_up
from realtime.trust.consent import reminder
from realtime.types import Image, SourcePhoto
from realtime.vision import cover, geometry, scenery, shift, yuv

log = logging.getLogger(__name__)

Follows = MeshLandmarker | FusedLandmarker | SwappingLandmarker
"""What finds the mesh in frames."""
_ONE_PERSON = 0.25
"""How far above a recogniser's limit, on the way to 1, photos of one person lie: with SFace at 0.52. Measured on portraits and
selfies: one person 0.57 to 0.93, two people up to 0.52; where alike in age and looks now and then 0.67, which nothing tells apart."""


@dataclass(frozen=True, slots=True)
class Models:
    """The loaded networks of a run."""

    detector: Detector
    photo_detector: Detector
    """For source photos: takes its time and looks for faces of any size."""
    landmarker: Landmarker
    photo_landmarker: Landmarker
    """For source photos, which have any size."""
    recogniser: Recogniser | None
    swapper: Swapper
    roles: dict[str, dict[str, str]]
    """Role -> {"model": ..., "backend": ...}, for the report."""
    finishing: Finishing = field(default_factory=Finishing)
    """What follows the swap and depends on the input."""


def load_models(
    settings: Settings, models: ModelStore, cleanup: ExitStack, notify: Notify = log.warning, kernels: Callable[[], None] | None = None
) -> Models:
    """Open every network on its backend; `cleanup` closes them. The models must be in the store.

    `kernels` is called when the compiled kernels are needed: it may wait for those that others compile.
    """
    used = finders(settings, models)
    opener = _opener(settings, models, len(used.names) + (settings.swapper != MESH), cleanup, notify)
    sessions, follow, (swapper, swapped_by, finishing) = _opened(settings, used, opener, kernels)
    detector, patient = used.detectors(sessions, settings.score, settings.min_face)
    single, recogniser, points = MeshLandmarker(sessions[MESH]), used.knows(sessions), used.points(sessions)
    landmarker = _followed(settings, opener, single if follow is None else FusedLandmarker(follow, single), swapper)
    aligned_by = points if settings.swapper != MESH else None
    roles = {
        "detector": _role(used.detector, detector.backend),
        "landmarker": _role(MESH, landmarker.backend),
        "swapper": _role(swapper.name, swapped_by),
        **({"recogniser": _role(recogniser.name, recogniser.backend)} if recogniser is not None else {}),
        **({"alignment": _role(used.landmarker, aligned_by.backend)} if aligned_by is not None else {}),
        **finishing.roles,
    }
    if aligned_by is not None:
        swapper = RefinedSwapper(swapper, aligned_by)
    return Models(detector, patient, landmarker, single, recogniser, swapper, roles, finishing)


def _opened(
    settings: Settings, used: Finders, opener: Opener, kernels: Callable[[], None] | None
) -> tuple[dict[str, Session], FrameSession | None, tuple[Swapper, str, Finishing]]:
    """The networks that find faces, opened while the swapper and all that is compiled get ready; what `_swapper` gives comes last."""

    def open_finders() -> tuple[dict[str, Session], FrameSession | None]:
        return opener.open(used.paths(opener.store)), opener.open_follow(opener.store.path(MESH))

    # Networks load without the interpreter's lock, on a core that would be idle. They have the extra thread because they are done within
    # a second: compiling our own code, the first time ever, takes many, during which Ctrl-C reaches the main thread only.
    with _one_thread("networks") as extra:
        opening = extra.submit(open_finders)
        if kernels is not None:
            kernels()
        swapping = _swapper(settings, opener)
        for each in (warm_up, native.warm_up, yuv.warm_up, shift.warm_up, scenery.warm_up, cover.warm_up):
            each()
        remember_kernels("mesh" if settings.swapper == MESH else "network")
        return *opening.result(), swapping


@contextmanager
def _one_thread(name: str) -> Iterator[ThreadPoolExecutor]:
    """A thread that is waited for at the end of the block, but not after Ctrl-C: a network loads for seconds on a busy machine."""
    wait, extra = True, ThreadPoolExecutor(1, name)
    try:
        yield extra
    except KeyboardInterrupt:
        wait = False
        raise
    finally:
        extra.shutdown(wait, cancel_futures=True)


def _followed(settings: Settings, opener: Opener, landmarker: Follows, swapper: Swapper) -> Follows:
    """The landmarker, or where there is an engine for it, one that swaps with the same look, which the swapper then takes from."""
    if not isinstance(swapper, AlignedSwapper) or not opener.has_follow_swap(settings.swapper):
        return landmarker
    if reason := _why_apart(settings, opener, swapper):
        opener.notify(f"{whole(Path(settings.swapper).stem)} is not used: {reason}; following and swapping run one after the other")
        return landmarker
    session = opener.open_follow_swap(opener.store.path(MESH), settings.swapper)
    if session is None:
        return landmarker
    swapping = SwappingLandmarker(session, landmarker)
    swapper.take_from(swapping)
    return swapping


def _why_apart(settings: Settings, opener: Opener, swapper: AlignedSwapper) -> str:
    """What keeps the graph that follows and swaps from doing what was asked for; empty when nothing does."""
    reasons = {
        "it is for one face": settings.faces != MAIN or bool(settings.map),
        "it runs on one GPU": "," in settings.device,
        "it aligns by the mesh": settings.landmarker != MESH,
        "it swaps in one pass": swapper.passes > 1,
        "it was built for what the file says of itself": settings.swap_contract is not None,
    }
    if not any(reasons.values()) and needs_exact(settings.swapper, opener):
        return "the network needs single precision"
    return next((reason for reason, holds in reasons.items() if holds), "")


def _opener(settings: Settings, models: ModelStore, networks: int, cleanup: ExitStack, notify: Notify) -> Opener:
    """`networks`: how many there will be, for those that share a GPU's memory."""
    fraction = settings.gpu_memory_fraction
    where = places(settings.device, fraction, networks)
    return Opener(settings.backend, models, settings.engines or engines_folder(), cleanup, notify, *where, fraction)


def _role(model: str, backend: str) -> dict[str, str]:
    return {"model": model, "backend": backend}


def _swapper(settings: Settings, opener: Opener) -> tuple[Swapper, str, Finishing]:
    """The swapper that was asked for, ready for its first frame, what it runs on, and what follows it."""
    crops = settings.swapper != MESH
    finishing = open_finishing(wishes(settings, opener.store.has), settings, opener, crops=crops)
    finishing.warm_up(crops=crops)
    if crops:
        swapper = open_swap_network(settings.swapper, swap_options(settings), opener, finishing.steps)
        return swapper, swapper.backend, finishing
    mesh = MeshSwapper(glasses=settings.glasses == "keep")
    mesh.warm_up()
    return finishing.around(mesh), "cpu", finishing


def swap_options(settings: Settings) -> SwapOptions:
    """What the settings say of how a swap network is run."""
    least = PROFILES[settings.profile].swap_size
    return SwapOptions(settings.swap_contract, settings.swap_size, least, settings.morph, settings.swap_layers)


@contextmanager
def photo_recogniser(settings: Settings, models: Models, store: ModelStore) -> Iterator[Recogniser | None]:
    """What can tell whether the photos of a person show one person: the run's own recogniser, else SFace, for as long as that takes.

    None where nobody has several photos, or SFace is not there: for this alone it is not fetched.
    """
    if models.recogniser is not None or not any(len(group) > 1 for group in settings.sources) or not store.has(SFACE):
        yield models.recogniser
        return
    with open_session(store.path(SFACE), cache=store.folder / "compiled", place=Place(processor_only=True)) as session:
        yield SFace(session)


def fit_sources(
    settings: Settings, models: Models, notify: Notify, read: Callable[[Path], Image] = read_photo, recogniser: Recogniser | None = None
) -> list[Identity]:
    """Read and fit each person's photos, in the order of the digit keys; whom a DFM file shows needs none.

    `read` gives the picture of a file. With `recogniser`, photos of one `--source` that do not show one person are told. Raises UsageError
    when a photo cannot be used.
    """
    if not settings.sources:
        return [models.swapper.fit([])]
    identities = []
    for paths in settings.sources:
        photos, notes = load_source(paths, models.photo_detector, models.photo_landmarker, read)
        own = [] if tuple(paths) == (SOURCE,) else [reminder(paths)]
        for note in (*own, *notes, *strangers(photos, recogniser)):
            notify(note)
        identities.append(models.swapper.fit(photos))
    return identities


def strangers(photos: Sequence[SourcePhoto], recogniser: Recogniser | None) -> list[str]:
    """A sentence about each photo that does not show the person whom most of them do, the first one's where that cannot be told."""
    if recogniser is None or len(photos) < 2:
        return []
    seen = np.stack([recogniser.embed(photo.image, geometry.five_points(photo.landmarks.points)) for photo in photos])
    limit = recogniser.same_person + _ONE_PERSON * (1.0 - recogniser.same_person)
    alike = max(_groups(seen @ seen.T >= limit), key=len)
    others = "the person in the other photos" if len(alike) > 1 else photos[alike[0]].name
    return [
        f"{photo.name} does not look like {others}: leave it out, or for two people give each a --source of their own"
        for number, photo in enumerate(photos)
        if number not in alike
    ]


def _groups(alike: NDArray[np.bool_]) -> list[list[int]]:
    """Numbers of photos that hang together, from an (n, n) table of pairs that are alike, by the first of each."""
    groups: list[list[int]] = []
    for number, row in enumerate(alike):
        near = [group for group in groups if row[group].any()]
        joined = sorted([*(each for group in near for each in group), number])
        groups = sorted([*(group for group in groups if group not in near), joined])
    return groups
