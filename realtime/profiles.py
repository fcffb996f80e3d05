"""What a profile means: nothing but defaults, each of which an option or a setting can override."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Profile:
    detector: str
    """Name of the detector in the catalogue."""
    detector_size: int
    """Side in pixels of the input that a detector of open size gets."""
    detect_every: float
    """Seconds between two looks for a more prominent face while one is followed."""
    identify: bool
    """Whether a face taken up after a loss must be the person followed before."""
    swap_size: int | None = None
    """Side that the face of a smaller swap network is brought to, in several passes a frame."""
    masks: tuple[str, ...] = ()
    """Those whose models are there: a profile fetches nothing that has a licence to agree to."""
    colours: tuple[str, ...] = ()
    """For swap networks; the mesh matches the frame's light by itself."""
    enhancers: tuple[str, ...] = ("sharpen",)
    """The first whose model is there. In a live run it is used only where it fits between two frames."""


PROFILES: Mapping[str, Profile] = MappingProxyType(
    {
        "fast": Profile("yunet_320", 320, 2.0, identify=True),
        "quality": Profile(
            "yunet_640",
            640,
            1.0,
            identify=True,
            swap_size=256,
            masks=("occlusion", "region"),
            colours=("light",),
            enhancers=("gfpgan_1.4", "gpen_bfr_256", "sharpen"),
        ),
        # No recogniser: saves its 40 MB and the look at a face after each loss, for boards with little memory.
        "light": Profile("yunet_320", 320, 4.0, identify=False, enhancers=("off",)),
    }
)
