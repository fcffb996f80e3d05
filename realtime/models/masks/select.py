"""Masks by name: what each needs of the catalogue and how it is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from realtime.backends.base import Session
from realtime.models.base import Finish
from realtime.models.masks.base import FaceMask, MaskStep
from realtime.models.masks.hands import HandMask, HandNetwork, PalmDetector
from realtime.models.masks.networks import OcclusionMask, PersonMask, RegionMask
from realtime.models.masks.occluder import OccluderMask
from realtime.models.masks.shapes import BoxMask, HullMask, MouthMask

Open = Callable[[str], Session]
"""Opens a model of the catalogue."""


@dataclass(frozen=True, slots=True)
class MaskOptions:
    padding: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    """Top, right, bottom, left, shares of the crop's side; the hull takes their mean off."""
    blur: float = 0.1
    """Share of the crop's side, or of the face's size."""
    keep: tuple[str, ...] = ("glasses", "hair", "mouth")
    """Regions that stay the frame's own."""


@dataclass(frozen=True, slots=True)
class MaskRow:
    models: tuple[tuple[str, ...], ...]
    """For each network it needs, the models of the catalogue that will do, the usual one first."""
    make: Callable[[Open, Sequence[str], MaskOptions], FaceMask]
    """From the names that were chosen, in the same order."""
    any_swapper: bool = True
    """False: of use only for a crop, which ends in sides and holds a face whose mouth somebody has drawn."""


MASKS: Mapping[str, MaskRow] = MappingProxyType(
    {
        "hull": MaskRow((), lambda open_, names, options: HullMask(-sum(options.padding) / 4, options.blur), any_swapper=False),
        "mouth": MaskRow((), lambda open_, names, options: MouthMask(), any_swapper=False),
        "person": MaskRow((("selfie", "selfie_landscape"),), lambda open_, names, options: PersonMask(open_(names[0]))),
        "occlusion": MaskRow((("xseg_1", "xseg_3", "xseg_2"),), lambda open_, names, options: OcclusionMask(open_(names[0]))),
        "region": MaskRow(
            (("bisenet_resnet_34", "bisenet_resnet_18"),), lambda open_, names, options: RegionMask(open_(names[0]), options.keep)
        ),
        "occluder": MaskRow((("occluder",),), lambda open_, names, options: OccluderMask(open_(names[0]))),
        "hands": MaskRow(
            (("palm",), ("hand",)), lambda open_, names, options: HandMask(PalmDetector(open_(names[0])), HandNetwork(open_(names[1])))
        ),
    }
)
"""All but `box`, which is a step on a crop and nothing else."""
BOX = "box"


def models_of(masks: Sequence[str], has: Callable[[str], bool]) -> tuple[str, ...]:
    """The catalogue's models that these masks need: of those that will do one that is there, else the usual one."""
    return tuple(_chosen(choices, has) for mask in masks if mask != BOX for choices in MASKS[mask].models)


def _chosen(choices: Sequence[str], has: Callable[[str], bool]) -> str:
    return next((name for name in choices if has(name)), choices[0])


def make_masks(masks: Sequence[str], open_: Open, has: Callable[[str], bool], options: MaskOptions) -> list[FaceMask]:
    """The masks of any swapper, in this order; `box` is left out."""
    rows = [MASKS[mask] for mask in masks if mask != BOX]
    return [row.make(open_, [_chosen(choices, has) for choices in row.models], options) for row in rows]


def make_steps(masks: Sequence[str], faces: Sequence[FaceMask], options: MaskOptions) -> list[Finish]:
    """The masks as steps of a swap network."""
    box: list[Finish] = [BoxMask(options.padding, options.blur)] if BOX in masks else []
    return [*box, *(MaskStep(mask) for mask in faces)]
