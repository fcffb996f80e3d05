"""What the user can change while the pipeline runs."""

from __future__ import annotations


class Controls:
    """Single attributes, each set by the main thread and read by a stage: every read or write is atomic in Python.

    A stage reads a value once a frame, so a change takes effect on a whole frame, never in the middle of one.
    """

    def __init__(self) -> None:
        self.paused = False
        """The swap is paused: the face stays hidden."""
        self.source = 0
        """Which of the prepared source people is swapped in."""
        self.still_wanted = False
        """Save the next finished frame; the blend stage sets it back."""
