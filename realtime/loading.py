"""What a run needs before its first frame: the networks on their backends, and the source photos fitted to the swapper."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from realtime.assets import SOURCE
from realtime.backends import native
from realtime.backends.base import FrameSession, Session
from realtime.faces import MAIN
from realtime.finders import MESH, Finders, finders
from realtime.finishing import Finishing, open_finishing, wishes
from realtime.models.base import Detector, Identity, Landmarker, Recogniser, Swapper
from realtime.models.landmarks.fused import FusedLandmarker
from realtime.models.landmarks.mesh import MeshLandmarker
from realtime.models.landmarks.swapping import SwappingLandmarker
from realtime.models.store import ModelStore
from realtime.models.swappers.aligned import AlignedSwapper
from realtime.models.swappers.mesh import MeshSwapper
from realtime.models.swappers.refined import RefinedSwapper
from realtime.models.swappers.select import SwapOptions
from realtime.networks import Notify, places, whole
from realtime.opening import Opener, needs_exact, open_swap_network
from realtime.photos.source import load_source
from realtime.profiles import PROFILES
from realtime.settings import Settings
from realtime.starting import remember_kernels
from realtime.storage import engines_folder
from realtime.tracking import warm_up
from realtime.trust.consent import reminder
from realtime.types import SourcePhoto
from realtime.vision import geometry, yuv

log = logging.getLogger(__name__)

Follows = MeshLandmarker | FusedLandmarker | SwappingLandmarker
"""What finds the mesh in frames."""


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
    with ThreadPoolExecutor(1, "networks") as extra:
        opening = extra.submit(open_finders)
        if kernels is not None:
            kernels()
        swapping = _swapper(settings, opener)
        warm_up()
        native.warm_up()
        yuv.warm_up()
        remember_kernels("mesh" if settings.swapper == MESH else "network")
        return *opening.result(), swapping


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


def fit_sources(settings: Settings, models: Models, notify: Notify) -> list[Identity]:
    """Read and fit each person's photos, in the order of the digit keys; whom a DFM file shows needs none.

    Raises UsageError when a photo cannot be used.
    """
    if not settings.sources:
        return [models.swapper.fit([])]
    identities = []
    for paths in settings.sources:
        photos, notes = load_source(paths, models.photo_detector, models.photo_landmarker)
        own = [] if tuple(paths) == (SOURCE,) else [reminder(paths)]
        for note in (*own, *notes, *strangers(photos, models.recogniser)):
            notify(note)
        identities.append(models.swapper.fit(photos))
    return identities


def strangers(photos: Sequence[SourcePhoto], recogniser: Recogniser | None) -> list[str]:
    """A sentence about each photo whose face does not look like the first one's, though they are to be one person."""
    if recogniser is None or len(photos) < 2:
        return []
    first, *others = (recogniser.embed(photo.image, geometry.five_points(photo.landmarks.points)) for photo in photos)
    return [
        f"{photo.name} and {photos[0].name} do not look like one person: for two people give each a --source of their own"
        for photo, other in zip(photos[1:], others, strict=True)
        if float(first @ other) < recogniser.same_person
    ]
