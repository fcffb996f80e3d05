"""Which encoders suit which video file. Apart from the sink, which brings PyAV along: 15 MB and 0.1 s that not every run needs."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Coding:
    """An encoder with its settings."""

    encoder: str
    options: dict[str, str] = field(default_factory=dict)


# At 1280x720 a frame costs 8, 10, 11.5 ms of CPU time with ultrafast, superfast, veryfast; ultrafast's files are twice as large.
# No B-frames: they would start the file later than zero, and a live run would wait for them at its end.
_X264 = Coding("libx264", {"preset": "superfast", "crf": "18", "bf": "0", "g": "60"})
_OPENH264 = Coding("libopenh264", {})
_MPEG4 = Coding("mpeg4", {"qscale": "3"})
_VP9 = Coding("libvpx-vp9", {"crf": "28", "b": "0", "deadline": "realtime", "cpu-used": "7", "row-mt": "1"})
_VP8 = Coding("libvpx", {"crf": "12", "b": "8M", "deadline": "realtime", "cpu-used": "8"})
CODINGS: dict[str, tuple[Coding, ...]] = {
    ".mp4": (_X264, _OPENH264, _MPEG4),
    ".mov": (_X264, _OPENH264, _MPEG4),
    ".mkv": (_X264, _OPENH264, _MPEG4),
    ".webm": (_VP9, _VP8),
}
"""What is tried for each suffix, best first: a build of FFmpeg may lack some."""
