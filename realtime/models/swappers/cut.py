"""Cutting an aligned crop out of a frame."""

from __future__ import annotations

from typing import Final

import numpy as np

from realtime.types import Image
from realtime.vision import geometry
from realtime.vision.align import crop
from realtime.vision.geometry import Transform
from realtime.vision.warp import cut_out

_COARSE: Final = 4.0
"""Frame pixels per crop pixel from which `align.crop` halves the frame first."""
_WIDEST: Final = 1 << 15
"""Sides of a picture whose positions fit into the 31 bits of `cut_out`."""
_BYTES: Final = 1 << 31


def cut(image: Image, transform: Transform, out: Image) -> None:
    """As `align.crop` into `out` (s, s, 3), in less time."""
    back = geometry.invert(transform)
    if geometry.scale_of(back) >= _COARSE or max(image.shape[:2]) >= _WIDEST or image.nbytes >= _BYTES:
        crop(image, transform, len(out), out=out)
    else:
        cut_out(np.ascontiguousarray(image), back, out)
