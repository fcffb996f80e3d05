"""Where the lines of a picture lie in another one that is seen through an affine map; for compiled code only."""

from __future__ import annotations

import numpy as np

from realtime.compiled import inner


@inner(error_model="numpy")
def begins(back, y, one):  # type: ignore[no-untyped-def]
    """Column and row at which line `y` begins, in parts of a pixel, of which `one` are a whole; `back` (2, 3) leads from here to there."""
    return int(np.rint((back[0, 1] * y + back[0, 2]) * one)), int(np.rint((back[1, 1] * y + back[1, 2]) * one))


@inner(error_model="numpy")
def within(start, step, limit, begin, end):  # type: ignore[no-untyped-def]
    """The part of begin <= n < end for which 0 <= start + n * step < limit; its end is not before its beginning."""
    if step == 0:
        return (begin, end) if 0 <= start < limit else (end, end)
    if step < 0:  # mirrored, so that the position grows
        start, step = limit - 1 - start, -step
    begin = max(begin, -(start // step))
    return begin, max(begin, min(end, (limit - 1 - start) // step + 1))
