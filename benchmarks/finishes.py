"""What follows the swap: what each mask, colour step and enhancer costs; and how long their networks take at the published size."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from time import thread_time
from typing import Any

import cv2
import numpy as np
import onnx

from benchmarks import fullsize, harness
from benchmarks.harness import Row
from benchmarks.models import FACE, SIZE, Clocked, Scene
from realtime.backends.base import Session
from realtime.backends.select import open_session
from realtime.models.base import Crop, Finish
from realtime.models.enhancers.face import FaceEnhancer
from realtime.models.finishes.colour import COLOURS
from realtime.models.finishes.sharpen import Sharpen
from realtime.models.masks.base import FaceMask, MaskStep
from realtime.models.masks.hands import HandMask, HandNetwork, PalmDetector
from realtime.models.masks.networks import OcclusionMask, PersonMask, RegionMask
from realtime.models.masks.shapes import BoxMask, HullMask, MouthMask
from realtime.storage import model_store
from realtime.vision import geometry
from realtime.vision.align import ARCFACE_128, crop
from realtime.vision.crops import soft_box
from tests.twins import enhancers, masks

SUMMARY = "what each mask, colour step and enhancer costs after the swap"
CROPS = (128, 256, 512)
ROUNDS = 6
"""Spans of a measurement that the note tells the spread of."""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--frames", type=int, default=60, metavar="N", help="frames measured with each step [60]")
    fullsize.arguments(parser, 0, ("masks", "enhancers"))


def run(options: argparse.Namespace) -> int:
    cv2.setNumThreads(1)
    limits, scene = harness.budgets("finishes"), Scene()
    rows = [row for size in CROPS for row in plain_steps(scene, size, options.frames, limits)]
    with tempfile.TemporaryDirectory() as folder:
        rows += around_networks(Path(folder), scene, options.frames, limits)
        rows += fullsize.of_published_size(Path(folder), options.networks, options.runs)
    rows += with_networks(scene, options.frames)
    return harness.finish("finishes", rows, {"frames": options.frames, "size": SIZE, "face": FACE}, options.json)


def plain_steps(scene: Scene, size: int, frames: int, limits: Mapping[str, harness.Limit]) -> list[Row]:
    """Steps without a network on a crop of so many pixels."""
    steps: list[tuple[Finish, bool]] = [(row.make(), row.live) for row in COLOURS.values()]
    steps += [(each, True) for each in (Sharpen(), BoxMask(), MaskStep(HullMask()), MaskStep(MouthMask()))]
    rows = []
    for step, live in steps:
        limit = limits.get(f"live_{size}") if live else None
        rows.append(
            _row(f"{step.name}, {size} pixels", "step", _timed(step, scene, size, frames), limit, "" if live else "not before a camera")
        )
    return rows


def around_networks(folder: Path, scene: Scene, frames: int, limits: Mapping[str, harness.Limit]) -> list[Row]:
    """The code around each network, on its twin."""
    sessions: list[Clocked] = []

    def opened(model: Any) -> Session:
        path = folder / f"{len(sessions)}.onnx"
        onnx.save(model, path)
        sessions.append(Clocked(open_session(path)))
        return sessions[-1]

    found: dict[str, Callable[[], Finish]] = {
        "person": lambda: MaskStep(PersonMask(opened(masks.person_twin()))),
        "occlusion": lambda: MaskStep(OcclusionMask(opened(masks.occlusion_twin()))),
        "region": lambda: MaskStep(RegionMask(opened(masks.region_twin()))),
        "enhancer, 256 pixels": lambda: FaceEnhancer(opened(enhancers.face_twin(256)), "arcface_128"),
        "enhancer, 512 pixels": lambda: FaceEnhancer(opened(enhancers.face_twin()), "ffhq_512"),
    }
    rows = []
    for name, make in found.items():
        step, begun = make(), len(sessions) - 1
        taken = _timed(step, scene, 256, frames, lambda begun=begun: sum(each.seconds for each in sessions[begun:]))  # type: ignore[misc]
        rows.append(_row(name, "around the network", taken, limits.get("around")))
    return rows


def with_networks(scene: Scene, frames: int) -> list[Row]:
    """Masks whose networks come with the default models' package, if they are there."""
    store = model_store()
    made: dict[str, tuple[tuple[str, ...], Callable[..., FaceMask]]] = {
        "person": (("selfie",), PersonMask),
        "hands, none before the face": (("palm", "hand"), lambda palm, hand: HandMask(PalmDetector(palm), HandNetwork(hand))),
    }
    rows = []
    for name, (models, make) in made.items():
        if not all(store.has(model) for model in models):
            print(f"{name}: not measured, run `python -m realtime models fetch {' '.join(models)}`")
            continue
        sessions = [open_session(store.path(model)) for model in models]
        step = MaskStep(make(*sessions))
        rows.append(_row(name, "with the network", _timed(step, scene, 256, frames), None, sessions[0].backend))
    return rows


def _timed(step: Finish, scene: Scene, size: int, frames: int, network: Callable[[], float] = lambda: 0.0) -> list[float]:
    """Thread CPU time in milliseconds of each frame, without the network's, after some that do not count."""
    taken = []
    for made in _crops(scene, size, 10 + frames):
        before, start = network(), thread_time()
        step.finish(made)
        taken.append((thread_time() - start - (network() - before)) * 1e3)
    return taken[10:]


def _crops(scene: Scene, size: int, count: int) -> Iterator[Crop]:
    """The moving face as a swap network would give it: a little softer, and of another colour."""
    template, box = ARCFACE_128 * np.float32(size / 128), soft_box(size, 0.12)
    for image, face in islice(scene.played(), count):
        transform = geometry.similarity(geometry.five_points(face.landmarks.points), template)
        before = crop(image, transform, size)
        swapped = np.asarray(cv2.add(cv2.GaussianBlur(before, (0, 0), 1.0), np.array([12, 4, -8, 0])), np.uint8)
        yield Crop(image, face, transform, before, swapped, box.copy())


def _row(name: str, metric: str, taken: list[float], limit: harness.Limit | None, note: str = "") -> Row:
    return harness.steady(name, metric, taken, max(len(taken) // ROUNDS, 1), limit, note=note)
