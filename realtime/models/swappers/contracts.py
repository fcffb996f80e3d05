"""How each swap network of the field wants its face and its source, as rows of data. A new one is a row here.

Facts from the public programs that run them, chiefly facefusion's `face_swapper.py` and, for inswapper, insightface's `inswapper.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

import numpy as np

from realtime.types import Floats
from realtime.vision import align

Triple = tuple[float, float, float]

_ZERO, _ONE, _HALF = (0.0, 0.0, 0.0), (1.0, 1.0, 1.0), (0.5, 0.5, 0.5)
_IMAGENET_MEAN, _IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class SourceKind(StrEnum):
    """What a network takes of the person to be shown."""

    EMAP = "emap"
    """The ArcFace embedding times the 512 x 512 matrix that lies in the network's own file, then brought to length 1."""
    EMBEDDING = "embedding"
    """The ArcFace embedding, of length 1."""
    CONVERTED = "converted"
    """The ArcFace embedding as it is, sent through a converter, then brought to length 1."""
    CONVERTED_RAW = "converted, as it is"
    """The same with the length that the converter gives it."""
    PICTURE = "picture"
    """An aligned photo, planes of RGB 0..1."""
    NOBODY = "nobody"
    """Nothing: the person is in the file."""


@dataclass(frozen=True, slots=True)
class Contract:
    """One kind of swap network.

    It takes planes of RGB, (x - mean) / std with x in 0..1, of a face on the template, and gives planes of RGB 0..1, or such as must be
    brought back by * std + mean where `denormalise`.
    """

    name: str
    size: int
    """Side of the crop in pixels; 0: the file says."""
    points: Floats
    """(5, 2) float32: eyes, nose tip and mouth corners in a crop of `points_size` pixels."""
    points_size: int
    source: SourceKind
    mean: Triple = _ZERO
    std: Triple = _ONE
    denormalise: bool = False
    words: tuple[str, ...] = ()
    """Any of these in a file's name speaks for this contract."""
    converter: tuple[str, ...] = ()
    """File names of the converter, newest first."""
    source_points: Floats | None = None
    source_size: int = 0
    """As points and points_size, of the source's picture."""
    source_points_size: int = 0
    licence: str = ""
    """Of the weights, where none were published for all to use: the catalogue has the licences of the others."""

    def template(self, size: int) -> Floats:
        """(5, 2) float32: the points in a crop of `size` pixels."""
        return np.asarray(self.points * np.float32(size / self.points_size), np.float32)

    @property
    def source_template(self) -> Floats:
        """(5, 2) float32: the points in the source's picture. Only for SourceKind.PICTURE."""
        assert self.source_points is not None
        return np.asarray(self.source_points * np.float32(self.source_size / self.source_points_size), np.float32)

    @property
    def takes_latent(self) -> bool:
        return self.source not in (SourceKind.PICTURE, SourceKind.NOBODY)


_ROWS = (
    Contract(
        "inswapper", 128, align.ARCFACE_128, 128, SourceKind.EMAP,
        words=("inswapper",),
    ),
    Contract(
        "hyperswap", 256, align.ARCFACE_128, 128, SourceKind.EMBEDDING, _HALF, _HALF, denormalise=True,
        words=("hyperswap",),
    ),
    Contract(
        "ghost", 256, align.ARCFACE_112_V1, 112, SourceKind.CONVERTED_RAW, _HALF, _HALF, denormalise=True,
        words=("ghost",), converter=("crossface_ghost", "arcface_converter_ghost"),
    ),
    Contract(
        "simswap", 256, align.ARCFACE_112_V1, 112, SourceKind.CONVERTED, _IMAGENET_MEAN, _IMAGENET_STD,
        words=("simswap_256", "simswap256"), converter=("crossface_simswap", "arcface_converter_simswap"),
    ),
    Contract(
        "simswap_512", 512, align.ARCFACE_112_V1, 112, SourceKind.CONVERTED,
        words=("simswap_unofficial", "simswap_512", "simswap512"), converter=("crossface_simswap", "arcface_converter_simswap"),
    ),
    Contract(
        "hififace", 256, align.MTCNN_512, 512, SourceKind.CONVERTED, _HALF, _HALF, denormalise=True,
        words=("hififace",), converter=("crossface_hififace", "arcface_converter_hififace"),
    ),
    Contract(
        "uniface", 256, align.FFHQ_512, 512, SourceKind.PICTURE, _HALF, _HALF, denormalise=True,
        words=("uniface",), source_points=align.FFHQ_512, source_size=256, source_points_size=512,
    ),
    Contract(
        "blendswap", 256, align.FFHQ_512, 512, SourceKind.PICTURE,
        words=("blendswap", "blendface"), source_points=align.ARCFACE_112, source_size=112, source_points_size=112,
    ),
    Contract(
        "dfm", 0, align.DFL_WHOLE_FACE_224, 224, SourceKind.NOBODY,
        words=(".dfm",), licence="what its maker says",
    ),
    Contract(
        "latent", 0, align.FFHQ_512, 512, SourceKind.PICTURE, _HALF, _HALF, denormalise=True,
        words=("e4e", "stylegan"), source_points=align.FFHQ_512, source_size=256, source_points_size=512, licence="what its maker says",
    ),
)  # fmt: skip

CONTRACTS: Mapping[str, Contract] = MappingProxyType({row.name: row for row in _ROWS})
