"""Which kind of recogniser a network is, told by its input and the length of its embedding."""

from __future__ import annotations

import math

from realtime.backends.base import Session
from realtime.errors import ModelError
from realtime.models.floats import in_floats
from realtime.models.recognisers.arcface import NUMBERS, ArcFace
from realtime.models.recognisers.sface import SFace
from realtime.models.tensors import described

_SFACE_NUMBERS = 128
_MXNET_INPUT = "data"
"""MXNet's exporter names inputs so; insightface's networks of that time normalise their pixels by themselves."""


def recogniser_of(session: Session, file: str, name: str) -> SFace | ArcFace:
    """SFace or ArcFace. `name` is that of the weights, `file` names the network in errors. Raises ModelError for another network."""
    session = in_floats(session)
    numbers = [math.prod(output.shape) for output in session.specs.outputs]
    inputs = session.specs.inputs
    if numbers == [_SFACE_NUMBERS]:
        return SFace(session)
    if numbers == [NUMBERS]:
        return ArcFace(session, name, normalises=inputs[0].name == _MXNET_INPUT)
    raise ModelError(
        f"{file} is no face recogniser that this program knows ({described(session.specs)}): name a file of ArcFace (w600k_r50, w600k_mbf) "
        f"or SFace"
    )
