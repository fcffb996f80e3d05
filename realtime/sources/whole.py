"""Whether a video file is as long as it was: a copy or download that broke off plays, and just ends early."""

from __future__ import annotations

import re

from av.container import InputContainer
from av.video.stream import VideoStream


def promised_end(container: InputContainer) -> float | None:
    """The time in seconds at which the header says that the pictures end; None where it does not say, or a length is only a guess.

    Of a Matroska file that a recorder never finished, and of a transport stream, nothing is known. Sound may be longer than the pictures.
    An AVI file counts its pictures (`dwLength`); what FFmpeg calls its duration comes from the file's size.
    """
    if container.format.name == "avi":
        return counted_end(container.streams.video[0])
    if container.format.name == "flv":
        return container.duration / 1e6 if container.duration and not container.streams.audio else None
    if not {"matroska", "mov"} & set(container.format.name.split(",")):
        return None
    video = container.streams.video[0]
    lengths = []
    if video.duration and video.time_base:
        lengths.append(float(video.duration * video.time_base))
    named = re.fullmatch(r"(\d+):(\d\d):(\d\d(?:\.\d+)?)", video.metadata.get("DURATION", ""))
    if named:
        lengths.append(int(named[1]) * 3600 + int(named[2]) * 60 + float(named[3]))
    if container.duration and (lengths or not container.streams.audio):
        lengths.append(container.duration / 1e6)
    return min(lengths) + (container.start_time or 0) / 1e6 if lengths else None


def counted_end(stream: VideoStream) -> float | None:
    """The end by the number of pictures in the header; None where it has none."""
    return stream.frames / float(stream.average_rate) if stream.frames and stream.average_rate else None
