"""The person to be shown, in the form that a swap network takes: made once for each source."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from realtime.errors import UsageError
from realtime.types import Floats, Image, SourcePhoto
from realtime.vision import geometry
from realtime.vision.align import align


class SourceInput(Protocol):
    def prepare(self, photos: Sequence[SourcePhoto]) -> Floats:
        """Float32, in the shape of the network's input. Raises UsageError without a photo."""


class RawEmbedder(Protocol):
    """ArcFace, as far as a source needs it."""

    def raw(self, image: Image, points: Floats) -> Floats:
        """(512,) float32 with the length that the network gives it."""


class EmbeddingConverter(Protocol):
    def convert(self, raw: Floats, *, normalise: bool) -> Floats:
        """(512,) float32 in, (512,) float32 out."""


class Embedding:
    """(1, 512): the embedding of length 1; times `matrix` (512, 512) before that where the network brings one along."""

    def __init__(self, arcface: RawEmbedder, matrix: Floats | None = None) -> None:
        self._arcface, self._matrix = arcface, matrix

    def prepare(self, photos: Sequence[SourcePhoto]) -> Floats:
        vector = mean_embedding(self._arcface, photos)
        vector = vector if self._matrix is None else vector @ self._matrix
        return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-12), np.float32).reshape(1, -1)


class Converted:
    """(1, 512): the embedding sent through a converter."""

    def __init__(self, arcface: RawEmbedder, converter: EmbeddingConverter, *, normalise: bool) -> None:
        self._arcface, self._converter, self._normalise = arcface, converter, normalise

    def prepare(self, photos: Sequence[SourcePhoto]) -> Floats:
        raw = mean_embedding(self._arcface, photos)
        return self._converter.convert(raw, normalise=self._normalise).reshape(1, -1)


class Picture:
    """(1, 3, s, s): the first photo's face on a template, planes of RGB 0..1, times `scale` plus `shift`."""

    def __init__(self, template: Floats, size: int, scale: float = 1.0, shift: float = 0.0) -> None:
        self._template, self._size = template, size
        self._scale, self._shift = np.float32(scale), np.float32(shift)

    def prepare(self, photos: Sequence[SourcePhoto]) -> Floats:
        photo = _first(photos)
        face, _ = align(photo.image, geometry.alignment_points(photo), self._template, self._size)
        planes = face[..., ::-1].transpose(2, 0, 1)[None] / np.float32(255)
        return np.ascontiguousarray(planes * self._scale + self._shift, np.float32)


class Nothing:
    """(0,): for networks that hold the person."""

    def prepare(self, photos: Sequence[SourcePhoto]) -> Floats:
        return np.empty(0, np.float32)


def mean_embedding(arcface: RawEmbedder, photos: Sequence[SourcePhoto]) -> Floats:
    """(512,) float32: the mean over all photos, as the network gives them, so that a photo it is sure of counts more."""
    _first(photos)
    seen = [arcface.raw(photo.image, geometry.alignment_points(photo)) for photo in photos]
    return np.asarray(np.mean(seen, axis=0), np.float32)


def _first(photos: Sequence[SourcePhoto]) -> SourcePhoto:
    if not photos:
        raise UsageError("no source photo was given; pass one or several photos of one person with --source")
    return photos[0]
