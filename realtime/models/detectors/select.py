"""Which kind of face detector a network is, told by its outputs."""

from __future__ import annotations

from collections.abc import Sequence

from realtime.backends.base import Session
from realtime.errors import ModelError
from realtime.models.detectors.finder import Decoder, FaceFinder
from realtime.models.detectors.retinaface import RetinaFaceDecoder
from realtime.models.detectors.scrfd import ScrfdDecoder
from realtime.models.detectors.yoloface import YoloFaceDecoder, YoloFaceRawDecoder
from realtime.models.detectors.yunet import YuNetDecoder
from realtime.models.floats import in_floats
from realtime.models.tensors import described

KINDS = (YuNetDecoder, ScrfdDecoder, RetinaFaceDecoder, YoloFaceDecoder, YoloFaceRawDecoder)
"""No two of them fit one network."""


def face_finder(
    sessions: Sequence[Session], file: str, *, score: float = 0.6, min_face: float = 0.0, thorough: bool = False, adaptive: bool = False
) -> FaceFinder:
    """The detector that these sessions of one network, at different input sizes, make; see `FaceFinder`. `file` names it in errors.

    Raises ModelError, one sentence, when the network is none that we know, or gives no points.
    """
    networks = [(session, decoder(session, file)) for session in map(in_floats, sessions)]
    return FaceFinder(networks, score=score, min_face=min_face, thorough=thorough, adaptive=adaptive)


def decoder(session: Session, file: str) -> Decoder:
    """The one of KINDS that fits, for the size of this session's input. Raises ModelError as `face_finder`."""
    for kind in KINDS:
        if kind.fits(session.specs):
            return kind(session)
    known = "YuNet, SCRFD, RetinaFace or YOLO-face with five points"
    raise ModelError(f"{file} is no face detector that this program knows ({described(session.specs)}): name a file of {known}")
