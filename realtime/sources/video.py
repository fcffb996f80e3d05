"""A video file, every frame in order."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import av
import numpy as np
from av.container import InputContainer
from av.video.frame import VideoFrame
from av.video.reformatter import ColorRange, VideoReformatter
from av.video.stream import VideoStream
from numpy.typing import NDArray

from realtime.buffers import ImagePool
from realtime.errors import SourceError, UsageError
from realtime.machine import cores
from realtime.sources.base import EndOfStream, SourceInfo
from realtime.sources.fit import letterbox, rotated
from realtime.sources.sync import Lease, Managed
from realtime.sources.told import Told
from realtime.sources.torn import torn
from realtime.sources.whole import promised_end
from realtime.types import Frame, Image
from realtime.vision.yuv import BT601, BT709, convertible, from_planes

log = logging.getLogger(__name__)

FALLBACK_FPS = 30.0
MOST_PIXELS = 8192 * 8192
"""Of a picture: twice 8K. A header of a few bytes can claim a quarter of a gigapixel, and FFmpeg would believe it."""
CAREFUL = {"max_pixels": str(MOST_PIXELS)}
"""Options that make FFmpeg refuse larger pictures before it asks for their memory, also when the size changes in mid-stream."""
_DECODERS = 4
"""Threads at most: more hold more frames in memory, for a decoder that already outruns the swap."""

_SHORT_BY, _SHORT_BY_SHARE = 0.5, 0.1
"""Seconds, and share of the whole, that may be missing at the end of a sound file: the last picture of a variable rate stands for long."""


_LIMITED = (ColorRange.UNSPECIFIED, ColorRange.MPEG)
_MATRICES = {1: BT709, 2: BT601, 5: BT601, 6: BT601}
"""By FFmpeg's number of a colour space (AVColorSpace): BT.709, unspecified, BT.470 BG, SMPTE 170M."""
_HDR = (16, 18)
"""By FFmpeg's number of a transfer characteristic (AVColorTransferCharacteristic): SMPTE ST 2084 (PQ), ARIB STD-B67 (HLG)."""


class Painter:
    """Turns decoded frames into upright BGR pictures with square pixels. Not thread-safe."""

    def __init__(self) -> None:
        self._reformatter = VideoReformatter()
        self._pool = ImagePool()

    def paint(self, frame: VideoFrame, degrees: int, aspect: float = 1.0) -> Image:
        """(h, w, 3) uint8 BGR, an array of its own, turned clockwise by `degrees`; `aspect` is the width of a pixel over its height."""
        width = round(frame.width * aspect)
        if width * frame.height > MOST_PIXELS:  # the header's shape of a pixel, not the picture, makes it so large
            width = frame.width
        matrix = _matrix(frame) if width == frame.width else None
        image = self._scaled(frame, width) if matrix is None else self._unpacked(frame, matrix)
        return rotated(image, degrees)

    def _unpacked(self, frame: VideoFrame, matrix: NDArray[np.int16]) -> Image:
        luma, blue, red = (np.frombuffer(memoryview(plane), np.uint8) for plane in frame.planes)
        strides = frame.planes[0].line_size, frame.planes[1].line_size
        image = self._pool.take(frame.height, frame.width)
        from_planes(luma, blue, red, strides, matrix, image)
        return image

    def _scaled(self, frame: VideoFrame, width: int) -> Image:
        """Any format and shape of pixels, by FFmpeg."""
        picture = self._reformatter.reformat(frame, width=width, height=frame.height, format="bgr24")
        plane = picture.planes[0]
        # The picture is new each time, so a view of it needs no copy; rows are padded only where the width is not a multiple of 16 or so.
        rows = np.frombuffer(memoryview(plane), np.uint8).reshape(picture.height, plane.line_size)[:, : picture.width * 3]
        return np.ascontiguousarray(rows).reshape(picture.height, picture.width, 3)


def _matrix(frame: VideoFrame) -> NDArray[np.int16] | None:
    """How the frame's planes become BGR; None where they are not those of usual video."""
    usual = frame.format.name == "yuv420p" and frame.color_range in _LIMITED and convertible(frame.width, frame.height)
    return _MATRICES.get(frame.colorspace) if usual else None


def clockwise(frame: VideoFrame) -> int:
    """How far a frame must be turned clockwise to stand upright: 0, 90, 180 or 270.

    The display matrix gives the angle counter-clockwise (libavutil, av_display_rotation_get).
    """
    return round(-frame.rotation / 90) * 90 % 360


def pixel_aspect(stream: VideoStream) -> float:
    """Width over height of a pixel; 1 when unknown or implausible."""
    ratio = float(stream.sample_aspect_ratio or 1)
    return ratio if 0.2 < ratio < 5 and abs(ratio - 1) > 0.01 else 1.0


def decoders() -> int:
    """Threads that decode: half of the cores, for the swap and the output want the others.

    On two cores a second one costs more than it brings at every size from 720p to 2160p: 130 instead of 170 frames a second.
    """
    return min(max(cores() // 2, 1), _DECODERS)


def nominal_fps(stream: VideoStream) -> float:
    """The stream's average rate; a fallback when the container gives none or nonsense."""
    for rate in (stream.average_rate, stream.guessed_rate):
        if rate is not None and 0.5 <= float(rate) <= 480:
            return float(rate)
    return FALLBACK_FPS


def _hdr(name: str, stream: VideoStream) -> str:
    """What to say of a video whose levels are not those of a usual screen; empty for others."""
    if getattr(stream.codec_context, "color_trc", None) not in _HDR:
        return ""
    return f"{name} is HDR video, which is taken as usual video: if its colours look pale, convert it to SDR first"


def _expected(stream: VideoStream, end: float | None, fps: float) -> int | None:
    """How many frames the header promises, or lets expect by the time at which they `end`."""
    return stream.frames or (None if end is None else round(end * fps)) or None


def lenient() -> dict[str, Any]:
    """What makes `av.open` take names and titles that are no UTF-8: from version 19 on PyAV does by itself, and knows no such option."""
    return {"metadata_errors": "replace"} if int(av.__version__.partition(".")[0]) < 19 else {}


def unplayable(container: InputContainer) -> str:
    """What keeps an opened container from being played, to follow its name; empty when nothing does."""
    if not container.streams.video:
        return "has no picture in it (sound only?)"
    # PyAV's types do not know it: a stream whose codec is unknown (or whose header is cut short) has no context.
    context: object = container.streams.video[0].codec_context
    if context is None:
        return "is damaged or in a format that is not known here"
    width, height = container.streams.video[0].width or 0, container.streams.video[0].height or 0
    return f"has pictures of {width}x{height}, more than {MOST_PIXELS // 1_000_000} million pixels" if width * height > MOST_PIXELS else ""


class _Reel:
    """An opened container and the way through its frames."""

    def __init__(self, path: Path) -> None:
        self.corrupt = 0
        self.container: InputContainer = av.open(str(path), options=CAREFUL, **lenient())
        problem = unplayable(self.container)
        if problem:
            self.container.close()
            raise UsageError(f"'{path}' {problem}: give another video file")
        self.stream = self.container.streams.video[0]
        self.promised = promised_end(self.container)
        self.stream.codec_context.options = dict(CAREFUL)
        self.stream.thread_type = "AUTO"
        self.stream.codec_context.thread_count = decoders()

    def frames(self) -> Iterator[VideoFrame]:
        """Every frame that can be decoded; a broken packet is counted and left out."""
        packets = self.container.demux(self.stream)
        while True:
            try:
                packet = next(packets)
            except (StopIteration, EOFError):
                return
            except av.error.FFmpegError as error:
                log.debug("reading the file stopped early: %s", error)
                self.corrupt += 1
                return
            try:
                yield from packet.decode()
            except EOFError:
                return
            except av.error.FFmpegError:
                self.corrupt += 1


class FileSource(Managed):
    """Every frame of a video file in order, as fast as it is read.

    media_time: the file's own presentation time, on the clock of its sound too, so a variable frame rate and lip sync are kept.
    Pictures are upright (display matrix) with square pixels; one of another size is letterboxed to the size announced.
    `loop` starts again at the end, for ever, the media time going on.
    """

    def __init__(self, path: Path | str, loop: bool = False) -> None:
        self._path = Path(path)
        self._loop = loop
        self._painter = Painter()
        self._reel: _Reel | None = None
        self._lease = Lease(self._release)
        self._frames: Iterator[VideoFrame] = iter(())
        self._first: VideoFrame | None = None
        self._degrees, self._aspect = 0, 1.0
        self._size = (0, 0)
        self._fps = FALLBACK_FPS
        self._seq = 0
        self._corrupt = 0
        self._offset = 0.0
        self._last: float | None = None
        self._say = Told(log)

    @property
    def corrupt(self) -> int:
        """Packets left out so far because they could not be decoded."""
        return self._corrupt + (self._reel.corrupt if self._reel else 0)

    def open(self) -> SourceInfo:
        """Raises UsageError when the file is none that can be read, SourceError when no frame of it can be decoded."""
        with self._lease.use():
            self._start()
            assert self._reel is not None and self._first is not None
            stream = self._reel.stream
            self._degrees, self._aspect = clockwise(self._first), pixel_aspect(stream)
            self._fps = nominal_fps(stream)
            width, height = round(self._first.width * self._aspect), self._first.height
            self._size = (height, width) if self._degrees in (90, 270) else (width, height)
            sound = str(self._path) if self._reel.container.streams.audio and not self._loop else None
            count = None if self._loop else _expected(stream, self._reel.promised, self._fps)
            note = _hdr(self._path.name, stream)
            return SourceInfo(self._path.name, *self._size, fps=self._fps, live=False, note=note, audio_from=sound, frames=count)

    def read(self, timeout: float) -> Frame | None:
        """Never None: a file does not stall. The time limit is not used."""
        with self._lease.use():
            frame = self._following()
            image = self._painter.paint(frame, self._degrees, self._aspect)
            if (image.shape[1], image.shape[0]) != self._size:
                self._say(f"'{self._path.name}' changes its frame size: those frames are fitted into {self._size[0]}x{self._size[1]}")
                image = letterbox(image, self._size)
            seq, self._seq = self._seq, self._seq + 1
            return Frame(seq, time.perf_counter(), image, self._media_time(frame))

    def close(self) -> None:
        self._lease.close()

    def _start(self) -> None:
        """Open the file and decode its first frame."""
        _check(self._path)
        try:
            self._reel = _Reel(self._path)
        except av.error.FFmpegError as error:
            why = (error.strerror or str(error)).lower()
            raise UsageError(f"'{self._path}' is not a video that can be read ({why}): it may be cut short; copy it again") from error
        self._frames = self._reel.frames()
        self._first = next(self._frames, None)
        if self._first is None:
            raise SourceError(f"'{self._path}' holds no frame that can be decoded: it is empty or damaged, record or download it again")

    def _following(self) -> VideoFrame:
        frame, self._first = self._first or next(self._frames, None), None
        if frame is None and self._loop:
            self._rewind()
            frame, self._first = self._first, None
        if frame is None:
            self._finish()
            raise EndOfStream
        return frame

    def _rewind(self) -> None:
        self._release()
        self._start()
        assert self._first is not None
        self._offset = (self._last or 0.0) + 1 / self._fps - (self._first.time or 0.0)

    def _media_time(self, frame: VideoFrame) -> float:
        """Strictly increasing, also where the file's own times are missing or run backwards."""
        expected = 0.0 if self._last is None else self._last + 1 / self._fps
        moment = expected if frame.time is None else frame.time + self._offset
        if self._last is not None and moment <= self._last:
            moment = expected
        self._last = moment
        return moment

    def _finish(self) -> None:
        if self.corrupt:
            self._say(f"'{self._path.name}' is damaged: {self.corrupt} of its packets could not be decoded and were left out")
        promised, reached = self._reel.promised if self._reel else None, (self._last or 0.0) + 1 / self._fps
        if promised is not None and promised - reached > max(_SHORT_BY, _SHORT_BY_SHARE * promised):
            ending = f"it ends early, after {reached:.1f} of {promised:.1f} seconds"
            self._say(f"'{self._path.name}' is cut short or damaged: {ending}; copy or download it again")
        elif self._reel and torn(self._path, self._reel.container.format.name):
            self._say(f"'{self._path.name}' is cut short: its end is missing; copy or download it again")

    def _release(self) -> None:
        if self._reel is None:
            return
        self._corrupt += self._reel.corrupt
        with suppress(av.error.FFmpegError):
            self._reel.container.close()
        self._reel = None
        self._frames, self._first = iter(()), None


def _check(path: Path) -> None:
    if not path.exists():
        raise UsageError(f"there is no file '{path}': check the name and the folder")
    if path.is_dir():
        raise UsageError(f"'{path}' is a folder: give a video file in it")
    if not os.access(path, os.R_OK):
        raise UsageError(f"'{path}' may not be read: change its permissions")
    if path.stat().st_size == 0:
        raise UsageError(f"'{path}' is an empty file: record or download it again")
