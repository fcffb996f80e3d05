"""What the tracker is told and what it answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from realtime.types import Box, Face
from realtime.vision.filters import OneEuroSettings


class Status(StrEnum):
    FOLLOWED = "followed"
    """By the mesh, from the frame before."""
    DETECTED = "detected"
    """By the detector in this frame, then refined by the mesh."""
    LOST = "lost"
    """Somebody was followed before and is not now."""
    NONE = "none"
    """Nobody was ever followed."""


@dataclass(frozen=True, slots=True)
class Tracked:
    """The tracker's answer for one frame. `face` is set exactly when the state is FOLLOWED or DETECTED."""

    face: Face | None
    """Finite points, and a box whose centre lies in the frame; the arrays are the caller's own."""
    state: Status
    reason: str
    """Why there is no face, or why it had to be detected anew; short words for the frame log ("presence 0.31"). Empty when followed."""
    detected: bool
    """Whether the detector ran on this frame."""
    last_box: Box | None
    """Where the face is or was last, within the frame: what to hide when there is no face to swap. After a loss it takes in every face in
    view that may be the lost person, too. None when nobody was ever followed."""
    times: dict[str, float] = field(default_factory=dict)
    """Seconds spent: "detect", "follow", "identify"."""
    hidden: tuple[Box, ...] = ()
    """More to hide, within the frame: every face in view that may be the person, and where a lost one was heading."""
    closed: bool = False
    """The face that is followed may be somebody else's just now: it is to be hidden too, not swapped."""
    anywhere: bool = False
    """With `closed`: the person may be anywhere in the frame, so all of it is to be hidden."""


@dataclass(frozen=True, slots=True)
class TrackerSettings:
    """Times are in seconds, sizes are the longer side of a face box."""

    score: float = 0.6
    """Least score of a detection."""
    min_face: float = 24.0
    """Smallest face taken up: pixels, or a share of the frame's shorter side when below 1."""
    presence: float = 0.5
    """Least presence of a mesh; below it the face is detected anew."""
    detect_every: float = 1.0
    """How often the detector checks on a followed face."""
    detect_lost_every: float = 0.0
    """How often the detector looks while nobody is followed; 0 means on every frame."""
    challenge_ratio: float = 1.4
    """How much better (bigger, more central, surer) another face must be, `challenge_checks` checks in a row, to get the swap instead."""
    challenge_checks: int = 3
    resume_within: float = 0.3
    """After so short a loss a face in the same place counts as the same person; its identity is checked after."""
    takeover: float = 3.0
    """How long somebody else must be the main face before the swap passes to them."""
    takeover_alone: float = 1.0
    """The same for somebody alone in view when the person has been gone for `long_loss`."""
    long_loss: float = 10.0
    identify_every: float = 15.0
    """How often a followed face's identity is checked; with several faces in view seven times as often."""
    similarity: float | None = None
    """Cosine from which two faces are one person; None: the recogniser's own."""
    patient: bool = False
    """A frame may take as long as it takes, for it is a picture: all that is to be found out is found out in it."""
    smoothing: OneEuroSettings | None = field(default_factory=OneEuroSettings)
    """None: raw landmarks."""

    def __post_init__(self) -> None:
        for name in ("score", "presence"):
            if not 0 < getattr(self, name) < 1:
                raise ValueError(f"expected {name} between 0 and 1, got {getattr(self, name)}")
        if not self.challenge_ratio > 1 or self.challenge_checks < 1:
            raise ValueError(f"expected challenge_ratio above 1 and 1 check or more, got {self.challenge_ratio}, {self.challenge_checks}")
        for name in ("min_face", "detect_every", "detect_lost_every", "resume_within", "takeover", "takeover_alone", "long_loss"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"expected {name} of 0 or more, got {getattr(self, name)}")
        if self.similarity is not None and not 0 < self.similarity < 1:
            raise ValueError(f"expected similarity between 0 and 1, got {self.similarity}")
        if not self.identify_every > 0:
            raise ValueError(f"expected identify_every above 0, got {self.identify_every}")

    def smallest(self, height: int, width: int) -> float:
        """`min_face` in pixels of a frame of this size."""
        return self.min_face * min(height, width) if self.min_face < 1 else self.min_face
