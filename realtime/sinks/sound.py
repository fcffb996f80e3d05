"""The sound of the input file, taken along into the file that is written."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Self

import av

log = logging.getLogger(__name__)

_COPIED = {
    "mp4": ("aac", "mp3", "ac3", "eac3", "alac", "opus", "flac"),
    "mov": ("aac", "mp3", "ac3", "eac3", "alac", "pcm_s16le", "pcm_s24le"),
    "matroska": ("aac", "mp3", "ac3", "eac3", "alac", "opus", "flac", "vorbis", "pcm_s16le", "pcm_s24le", "dts"),
    "webm": ("opus", "vorbis"),
}
"""What each container takes as it is; anything else is encoded anew."""
_UNTIMED = ("avi",)
"""Containers that tell no times of sound: what is copied from there, MP4 refuses."""
_ENCODED = {"webm": "libopus"}
_BIT_RATE = 160_000


class Sound:
    """Packets of one sound track, handed over in step with the video so that the file is interleaved."""

    def __init__(self, source: Any, track: Any, container: Any) -> None:
        self._source, self._container = source, container
        copied = track.codec.canonical_name in _COPIED.get(container.format.name, ()) and source.format.name not in _UNTIMED
        self._out = container.add_stream_from_template(track) if copied else _encoder(container, track)
        self._packets: Iterator[Any] = self._copies(track) if copied else self._encodes(track)
        self._start = 0.0
        self._waiting: Any = None

    @classmethod
    def open(cls, path: str, container: Any) -> Self | None:
        """None, and a warning, when the file has no sound that can be used: the picture matters more."""
        try:
            source = av.open(path)
        except (OSError, av.FFmpegError) as error:
            log.warning("the sound of %s cannot be read (%s): the video is written without", path, error)
            return None
        if not source.streams.audio:
            source.close()
            return None
        try:
            return cls(source, source.streams.audio[0], container)
        except (OSError, ValueError, av.FFmpegError) as error:
            log.warning("the sound of %s cannot be taken along (%s): the video is written without", path, error)
            source.close()
            return None

    def start_at(self, seconds: float) -> None:
        """The time in the source that becomes zero; earlier sound is left out."""
        self._start = seconds

    def copy_until(self, seconds: float) -> None:
        """Write the sound that begins before `seconds` of the output. Raises OSError when it cannot be written."""
        while True:
            packet = self._waiting if self._waiting is not None else self._read()
            if packet is None:
                return
            if packet.pts * packet.time_base >= seconds:
                self._waiting = packet
                return
            self._waiting = None
            self._container.mux_one(packet)

    def _read(self) -> Any:
        """The next packet, or None at the end; broken sound ends it early."""
        try:
            return next(self._packets, None)
        except av.FFmpegError as error:
            log.warning("the sound breaks off: %s", error)
            self._packets = iter(())
            return None

    def _copies(self, track: Any) -> Iterator[Any]:
        offset = round(self._start / track.time_base)
        for packet in self._source.demux(track):
            if packet.dts is None or packet.pts is None or packet.pts < offset:
                continue
            packet.pts, packet.dts = packet.pts - offset, packet.dts - offset
            packet.stream = self._out
            yield packet

    def _encodes(self, track: Any) -> Iterator[Any]:
        context = self._out.codec_context
        size = context.frame_size or None
        resampler = av.AudioResampler(format=context.format, layout=context.layout, rate=context.sample_rate, frame_size=size)
        for frame in self._source.decode(track):
            if frame.pts is None or frame.time < self._start:
                continue
            # In samples: the encoder refuses times that AVI's whole packets round to one another.
            frame.pts, frame.time_base = round((frame.time - self._start) * frame.sample_rate), Fraction(1, frame.sample_rate)
            for part in resampler.resample(frame):
                yield from self._out.encode(part)
        for part in resampler.resample(None):
            yield from self._out.encode(part)
        yield from self._out.encode(None)

    def close(self) -> None:
        self._source.close()


def _encoder(container: Any, track: Any) -> Any:
    name = _ENCODED.get(container.format.name, "aac")
    rate = 48_000 if name == "libopus" else track.codec_context.sample_rate
    stream = container.add_stream(name, rate=rate)
    stream.codec_context.layout = "stereo" if track.codec_context.channels > 1 else "mono"
    stream.codec_context.bit_rate = _BIT_RATE
    return stream
