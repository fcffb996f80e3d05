"""The values that travel through the pipeline. Imports nothing of ours.

Images are BGR, uint8, C-contiguous, (height, width, 3). Points are (x, y) in image pixels, the centre of the top-left pixel at
(0, 0). Times are seconds of `time.perf_counter()` unless named otherwise: `time.monotonic()` advances by 16 ms at a time on Windows before
Python 3.13.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.uint8]
"""(height, width, 3) uint8 BGR."""
Floats = NDArray[np.float32]
Array = NDArray[Any]


class Box(NamedTuple):
    """An axis-aligned rectangle in pixels, x1 and y1 exclusive."""

    x0: float
    y0: float
    x1: float
    y1: float

    @property
    def width(self) -> float:
        return self.x1 - self.x0

    @property
    def height(self) -> float:
        return self.y1 - self.y0

    @property
    def centre(self) -> tuple[float, float]:
        return (self.x0 + self.x1) / 2, (self.y0 + self.y1) / 2

    @property
    def side(self) -> float:
        """The longer one: the size of a face."""
        return max(self.width, self.height)

    @property
    def area(self) -> float:
        return max(self.width, 0.0) * max(self.height, 0.0)


class Region(NamedTuple):
    """A square crop for a landmark network: centre and side in pixels, `angle` the roll in degrees (the crop is rotated upright)."""

    x: float
    y: float
    size: float
    angle: float


@dataclass(frozen=True, slots=True)
class Frame:
    """One captured picture.

    The source gives every frame a buffer of its own and never touches it again. The picture is read-only until the blend stage,
    the last to see it, which writes the swapped face into it in place.
    """

    seq: int
    captured_at: float
    """Monotonic seconds, taken right after the grab."""
    image: Image
    media_time: float | None = None
    """Presentation time in seconds within a file; None for live sources."""

    @property
    def time(self) -> float:
        """Seconds by which faces are followed: a film's own, however fast it is worked on, so that all machines make the same of it."""
        return self.captured_at if self.media_time is None else self.media_time


@dataclass(frozen=True, slots=True)
class Detection:
    """A face found by a detector."""

    box: Box
    points: Floats
    """(5, 2) float32: two eyes, nose tip, two corners of the mouth; of each pair the one on the image's left first."""
    score: float
    """0..1."""


MESH_POINTS = 468
"""Of the dense mesh: MediaPipe's face mesh without the irises."""


@dataclass(frozen=True, slots=True)
class Landmarks:
    """The dense mesh of one face."""

    points: Floats
    """(468, 3) float32: x and y in image pixels, z in the same scale (negative towards the camera)."""
    presence: float
    """0..1: how sure the network is that the crop showed a face."""


@dataclass(frozen=True, slots=True)
class Face:
    """The followed face in one frame."""

    landmarks: Landmarks
    box: Box
    """Bounding box of the landmarks."""
    track: int
    """Changes when the tracker loses the face and takes one up again, or it looks like another: nothing known of who it is holds then."""
    refined: Floats | None = None
    """(5, 2) float32, as in `Detection`: the points that align crops, from a landmark network of their own; None: as the mesh has them."""
    looks: int | None = None
    """Changes when what was learned of its looks must be dropped, as its light: with `track`, but not when something only came before a
    part of the face. None: as `track`."""

    @property
    def memory(self) -> int:
        """The number under which what was learned of its looks is kept."""
        return self.track if self.looks is None else self.looks


@dataclass(frozen=True, slots=True)
class SourcePhoto:
    """A source face ready to be fitted by a swapper."""

    image: Image
    detection: Detection
    landmarks: Landmarks
    name: str = ""
    refined: Floats | None = None
    """As in `Face`."""


@dataclass(frozen=True, slots=True)
class Patch:
    """A swapped face to be blended into a frame: out = frame + (colour - frame) * alpha / 255, in its own rectangle only.

    The arrays belong to the swapper, which keeps at least four of them in turn: a patch stays valid until the fourth `swap` after it.
    """

    x: int
    y: int
    colour: Image
    """(h, w, 3) uint8 BGR; the rectangle lies inside the frame."""
    alpha: NDArray[np.uint8]
    """(h, w) uint8."""

    @property
    def box(self) -> Box:
        height, width = self.alpha.shape
        return Box(self.x, self.y, self.x + width, self.y + height)


class State(StrEnum):
    """What became of a frame."""

    STARTING = "starting"
    """Nothing was swapped yet: the sink shows the placeholder."""
    SWAPPED = "swapped"
    LOST = "lost"
    """The face was followed before and cannot be found now."""
    FAILED = "failed"
    """Swapping raised or gave nothing usable: treated as lost."""
    PAUSED = "paused"
    """The user paused the swap: the face stays hidden."""
    NO_SIGNAL = "no_signal"
    """The source gives no frames at the moment."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The infer stage's decision about one frame, for the blend stage to carry out."""

    frame: Frame
    state: State
    patches: tuple[Patch, ...] = ()
    hide: Box | None = None
    """The region to hide when the state is not SWAPPED; None with a state other than SWAPPED means: the whole frame."""
    reason: str = ""
    times: dict[str, float] = field(default_factory=dict)
    """Seconds spent by part: detect, follow, swap, ..."""
    also: tuple[Box, ...] = ()
    """More regions to hide together with `hide`. In a SWAPPED frame with several faces: those of them that are not swapped, hidden before
    the patches are laid over."""
    failed: bool = False
    """A network or a swapper raised; `reason` says what."""


@dataclass(frozen=True, slots=True)
class StreamFormat:
    """What a sink will be given: every frame of a run has this size."""

    width: int
    height: int
    fps: float
    """Nominal frames a second; files with a variable rate carry times in each frame."""
    live: bool
    """False when every frame of a file passes in order, as fast as it goes."""


@dataclass(frozen=True, slots=True)
class OutputFrame:
    """A finished frame. The arrays may be reused once `Sink.write` has returned: whoever keeps one copies it."""

    seq: int
    captured_at: float
    state: State
    image: Image
    """(height, width, 3) uint8 BGR, marked like `i420`."""
    i420: NDArray[np.uint8]
    """(height * 3 / 2, width) uint8: planes Y, U, V; BT.601 limited range, as cv2.COLOR_BGR2YUV_I420 makes it."""
    media_time: float | None = None
    frozen: bool = False
    """An earlier frame, in which a face was swapped, stands in for this one."""
    card: bool = False
    """The placeholder: nothing of the frame is in the picture."""

    @property
    def shows_swap(self) -> bool:
        """Whether there is a swapped face in the picture: files of such frames are signed."""
        return self.frozen or self.state is State.SWAPPED
