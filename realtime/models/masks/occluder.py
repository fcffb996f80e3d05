"""What lies before the face, by a small network trained on drawn hands, glasses, hair and things over portraits. Experimental."""

from __future__ import annotations

import cv2
import numpy as np

from realtime.backends.base import Session
from realtime.models.masks.base import View
from realtime.models.masks.networks import Eye, one_a_pixel
from realtime.models.swappers.ports import FloatOutput
from realtime.models.tensors import sound
from realtime.types import Face, Floats, Image
from realtime.vision import geometry
from realtime.vision.masks import Mask, fill_share
from realtime.vision.mesh import indices
from realtime.vision.mesh.topology import canonical_face
from realtime.vision.mesh.upright import upright_square
from realtime.vision.planes import fill_planes

_UNIT = 1 / 255
_SIZE = 128
_EYES = np.array(indices.LEFT_EYE), np.array(indices.RIGHT_EYE)
_SOCKET = (0.8, 0.62)
"""Half of a socket's width and height over the eye's width."""
_AROUND = 1.5
"""The oval around a socket, which a hand before the eye covers too, over the socket."""
_ONE_SIDED = 0.3
"""By how much more one socket than the other is hidden when it is not glasses that hide it."""
_ALONE = 0.3
"""How much of what is around a socket is hidden at most when it is only its shadow that is taken for something."""
_IN_VIEW = 0.5
"""Width of the narrower eye over that of the wider one from which both can be compared."""


class OccluderMask:
    """Keeps what the network does not take for the face's visible skin; implements `FaceMask`.

    Planes of RGB 0..1 (1, 3, 128, 128) in; (1, 1, n, n) out, 1 where skin is seen. It is meant for the mesh swap, whose own mask of what is
    hidden it adds to: each sees hands that the other one misses. Hard light from the side leaves one eye so dark that the network takes it
    for a lens: a socket that is hidden by itself, while the other is not, is shown. Raises ModelError for a network of another shape.
    """

    def __init__(self, session: Session, name: str = "occluder") -> None:
        self._eye = Eye(session, "an occluder mask", _SIZE, planes=True)
        spec = one_a_pixel(session, None, "an occluder mask")
        self._output = FloatOutput(spec)
        self._session, self._name, self._face = session, name, canonical_face()
        self._shown = np.empty(spec.shape[2:], np.uint8)
        self._zones = np.empty((2, *spec.shape[2:]), np.uint8)

    @property
    def name(self) -> str:
        return self._name

    def look(self, frame: Image, face: Face) -> View:
        points = face.landmarks.points
        region = upright_square(points, self._face)
        self._eye.see(frame, geometry.crop_transform(region, _SIZE), lambda pixels, planes: fill_planes(pixels, planes, _UNIT, True))
        share = sound(self._output.read(self._session.run()), self._name)
        fill_share(share.reshape(self._shown.shape), self._shown)
        transform = geometry.crop_transform(region, len(self._shown))
        left, right = (geometry.apply(transform, points[eye, :2]) for eye in _EYES)
        show_a_dark_socket(self._shown, left, right, self._zones)
        return View(self._shown, transform, 255)

    def reset(self) -> None:
        pass

    def fork(self) -> OccluderMask:
        return self


def show_a_dark_socket(shown: Mask, left: Floats, right: Floats, zones: Mask) -> None:
    """Show the one socket that is hidden by itself. `left`, `right`: outlines of the eyes (k, 2) in the mask's pixels; zones: (2, h, w) to
    draw in. Nothing is done when both are hidden, which glasses do, nor when what is around it is hidden too, as by a hand."""
    widths = [float(np.ptp(eye[:, 0])) for eye in (left, right)]
    if min(widths) < _IN_VIEW * max(widths) or min(widths) < 1:
        return
    hidden = [_hidden(shown, eye, width, zones) for eye, width in zip((left, right), widths, strict=True)]
    darker = int(hidden[1][0] > hidden[0][0])
    inside, around = hidden[darker]
    if inside - hidden[1 - darker][0] > _ONE_SIDED and around < _ALONE:
        _draw(zones[0], (left, right)[darker], widths[darker], _AROUND)
        cv2.max(shown, zones[0], dst=shown)


def _hidden(shown: Mask, eye: Floats, width: float, zones: Mask) -> tuple[float, float]:
    """How much of a socket, and of what is around it, is hidden, 0..1."""
    inner, outer = zones
    _draw(inner, eye, width, 1.0)
    _draw(outer, eye, width, _AROUND)
    cv2.subtract(outer, inner, dst=outer)
    return tuple(1 - cv2.mean(shown, mask=zone)[0] / 255 if zone.any() else 1.0 for zone in (inner, outer))  # type: ignore[return-value]


def _draw(zone: Mask, eye: Floats, width: float, grown: float) -> None:
    x, y = (eye.min(0) + eye.max(0)) / 2
    axes = tuple(max(round(grown * half * width), 1) for half in _SOCKET)
    zone.fill(0)
    cv2.ellipse(zone, (round(float(x)), round(float(y))), axes, 0, 0, 360, 255, cv2.FILLED)
