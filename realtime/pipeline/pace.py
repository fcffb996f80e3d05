"""When a steady sink needs its last frame again."""

from __future__ import annotations


class Pace:
    """Keeps a stream at its nominal rate when the source is slower.

    A new frame is passed on the moment it comes; only when none came for one and a half periods is the last one due again, so a
    source at the nominal rate is never delayed and never doubled. Times are seconds of one monotonic clock.
    """

    PATIENCE = 1.5
    """Periods to wait for a new frame: less would double frames of a camera that jitters, more would show at the reader."""

    def __init__(self, fps: float) -> None:
        if not fps > 0:
            raise ValueError(f"expected a positive rate, got {fps}")
        self.period = 1.0 / fps
        self._due: float | None = None

    def sent(self, now: float, repeated: bool) -> None:
        """Note that a frame went out. After a repeat the next one is due a period after the last was due: no drift builds up."""
        if repeated and self._due is not None and now - self._due < self.period:
            self._due += self.period
        else:
            self._due = now + self.PATIENCE * self.period

    def remaining(self, now: float) -> float:
        """Seconds until a repeat is due; 0 when it is due now (or when nothing was sent yet)."""
        return 0.0 if self._due is None else max(0.0, self._due - now)
