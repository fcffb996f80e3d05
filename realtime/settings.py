"""What a run is asked for: plain, checked values, made by `config` from the command line and a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from realtime.faces import MAIN, REFERENCE, rule


@dataclass(frozen=True, slots=True)
class Settings:
    """One run, as asked for. `None` means: whatever the camera or file has."""

    sources: tuple[tuple[Path, ...], ...]
    """Each group holds photos of one person; further groups are further people, chosen in the window with the digit keys."""
    input: str = "camera"
    """A camera's number, name or path, a file, a stream, "synthetic"; "camera" is the first that is not a virtual one."""
    outputs: tuple[str, ...] = ("virtualcam",)
    overwrite: bool = False
    """Whether outputs that are files may replace older ones."""
    size: tuple[int, int] | None = None
    """(width, height) in pixels, both even."""
    fps: float | None = None
    mirror: bool = False
    rotate: int = 0
    """Degrees clockwise: 0, 90, 180 or 270."""
    profile: str = "fast"
    swapper: str = "mesh"
    """"mesh", a swap network of the catalogue, or the file of one."""
    swap_contract: str | None = None
    """How the network of a file wants its pictures; None: recognised."""
    swap_size: int | None = None
    """Side in pixels of the face that a swap network draws; None: what it was made for."""
    morph: float = 0.75
    """0..1: how far a DFM file that can do so goes towards its person."""
    swap_layers: tuple[int, ...] = (4, 5, 6, 7)
    """Layers of a latent swap network that the source decides."""
    detector: str = "auto"
    """"auto", a detector of the catalogue, or the file of one."""
    landmarker: str = "mesh"
    """What aligns the crops of swap networks: "mesh", a landmark network of the catalogue, or the file of one."""
    recogniser: str = "auto"
    """"auto" (what the profile has), a recogniser of the catalogue, or the file of one."""
    masks: tuple[str, ...] | None = None
    """What limits where the swap is shown; None: the profile's."""
    mask_padding: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    """Percent of the crop's side at the top, right, bottom and left."""
    mask_blur: float = 0.1
    """Share of the crop's side."""
    keep: tuple[str, ...] = ("glasses", "hair", "mouth")
    """Regions that the region mask leaves the frame's own."""
    colours: tuple[str, ...] | None = None
    """Colour steps in order; None: the profile's."""
    enhance: str | None = None
    """"off", "sharpen", an enhancer of the catalogue, or the file of one; None: the profile's."""
    enhance_blend: float = 0.8
    """0..1: how much of the enhanced face is shown."""
    fidelity: float = 0.7
    """0..1: how true CodeFormer stays to what it is given."""
    enlarge: str = "off"
    """A network that enlarges the frames of files, or "off"."""
    faces: str = MAIN
    """Which faces are swapped, as `faces.rule` reads it."""
    map: tuple[tuple[int, Path], ...] = ()
    """Several people at once: the number of a group in `sources`, and a photo of the person on whose face it goes."""
    similarity: float | None = None
    """0..1: cosine from which two faces are one person; None: what suits the recogniser."""
    on_lost: str = "hide"
    glasses: str = "keep"
    min_face: float = 40.0
    """Pixels: a face less wide than this is treated as absent."""
    score: float = 0.6
    """0..1: how sure the detector must be."""
    badge: str = "bottom-right"
    """A corner, or "off"."""
    backend: str = "auto"
    engines: Path | None = None
    device: str = "auto"
    """"auto", "cpu", a GPU's number, or two with a comma: one to follow on and one to swap on."""
    gpu_memory_fraction: float | None = None
    """0..1 of the GPU's memory; None: no limit."""
    report: Path | None = None
    frame_log: Path | None = None
    log_level: str = "warning"
    frames: int | None = None
    """Stop after this many frames."""
    seconds: float | None = None
    """Stop after this many seconds."""

    @property
    def needs_recogniser(self) -> bool:
        """Whether faces are chosen by who they are, so that a recogniser is needed whatever the profile."""
        return bool(self.map) or rule(self.faces).name == REFERENCE
