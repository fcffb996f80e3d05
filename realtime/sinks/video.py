"""Video files: H.264 from the frames' I420 planes, with their times and the sound of the input."""

from __future__ import annotations

import logging
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
from numpy.typing import NDArray

from realtime.errors import SinkError, UsageError, reason, room_for
from realtime.sinks.codings import CODINGS, Coding
from realtime.sinks.disk import DiskFile, cut_to_whole
from realtime.sinks.files import Seal, Target
from realtime.sinks.lifecycle import Closing
from realtime.sinks.sound import Sound
from realtime.types import OutputFrame, StreamFormat

log = logging.getLogger(__name__)

TICKS = 720_000
"""Ticks a second: a multiple of 24, 25, 30, 50, 60, 120, 144, 1000, 90 000 and, in whole ticks a frame, of 24, 30 and 60 times 1000/1001,
so that the time of every frame of the usual constant rates is exact."""
_BT601_MATRIX, _BT709, _LIMITED = 6, 1, 1  # AVCOL_SPC_SMPTE170M, AVCOL_PRI_BT709 and AVCOL_TRC_BT709, AVCOL_RANGE_MPEG


# A fragmented file is readable up to its last fragment, half a second, however the run ends; the muxer turns it into a plain one when it is
# finished. Without an edit list it would prolong the first packet of sound that begins later than the picture; with one the header is
# late, unless it is asked to come with the first fragment.
_MOV_OPTIONS = {"movflags": "+hybrid_fragmented+delay_moov", "frag_duration": "500000", "flush_packets": "1", "use_editlist": "1"}
_MUXER_OPTIONS = {".mp4": _MOV_OPTIONS, ".mov": _MOV_OPTIONS}


class VideoSink(Closing):
    """Writes a video file that appears under its name when it is complete.

    Frames carry the time they have in the input file (`media_time`: a variable rate stays one), else the time since the first frame was
    captured. Both times start at zero. An odd width or height loses its last column or row, which 4:2:0 video cannot have.
    """

    steady = False
    waits = True
    reads_image = False

    def __init__(self, path: Path, audio_from: str | None = None, seal: Seal | None = None, *, replace: bool = False) -> None:
        """`audio_from`: a file whose first sound track is taken along; may be set until `open`. `seal` finishes the file when a frame
        of it was swapped. `replace`: an older file of this name may go. Raises UsageError for an unknown suffix.
        """
        if path.suffix.lower() not in CODINGS:
            raise UsageError(f"cannot write {path} as a video: use one of {' '.join(CODINGS)}")
        self.path = path
        self.audio_from = audio_from
        self._seal = seal
        self._swapped = False
        self._target = Target(path, replace=replace)
        self._disk: DiskFile | None = None
        self._container: Any = None
        self._stream: Any = None
        self._sound: Sound | None = None
        self._first: float | None = None
        self._last_tick = -1
        self._last_step = 0
        self._broken = False
        self._worthless = False
        """Whether what there is of a broken file shows nothing."""

    @property
    def name(self) -> str:
        return str(self.path)

    @property
    def remains(self) -> str:
        return str(self._target.part)

    def open(self, stream: StreamFormat) -> None:
        """Raises UsageError (folder missing or not writable, such a file there already) or SinkError (no encoder, no room on the disk)."""
        if stream.width < 2 or stream.height < 2:
            raise UsageError(f"cannot write a video of {stream.width}x{stream.height}")
        try:
            self._target.prepare()
            self._begin(stream)
        except BaseException:
            self._abandon()
            raise

    def _begin(self, stream: StreamFormat) -> None:
        suffix = self.path.suffix.lower()
        self._disk = DiskFile(self._target.part, self.headway.stopped)
        self._container = av.open(self._disk, "w", options=_MUXER_OPTIONS.get(suffix, {}))
        self._stream = _add_video(self._container, CODINGS[suffix], stream)
        self._last_step = round(TICKS / stream.fps) if stream.fps > 0 else TICKS // 30
        if self.audio_from:
            self._sound = Sound.open(self.audio_from, self._container)

    def write(self, frame: OutputFrame) -> None:
        """Raises SinkError: the disk is full, or the encoder failed."""
        tick = self._tick(frame)
        self._swapped = self._swapped or frame.shows_swap
        picture = av.VideoFrame.from_ndarray(self._planes(frame), format="yuv420p")
        picture.pts, picture.time_base = tick, Fraction(1, TICKS)
        picture.colorspace, picture.color_range = _BT601_MATRIX, _LIMITED
        try:
            self._mux(picture)
            if self._sound is not None:
                self._sound.copy_until(tick / TICKS)
            self._check_disk()
        except (OSError, av.FFmpegError) as error:
            self._broken = True
            raise SinkError(self._failure("go on writing", error)) from error

    def _mux(self, picture: Any) -> None:
        for packet in self._stream.encode(picture):
            packet.duration = round(self._last_step / TICKS / packet.time_base)  # only the last one's counts: it ends the file
            self._container.mux_one(packet)

    def _check_disk(self) -> None:
        if self._disk is not None and self._disk.error is not None:
            raise self._disk.error

    def _failure(self, what: str, error: Exception) -> str:
        """The sentence about a failed write; a part file that shows nothing is removed."""
        if self.path.suffix.lower() in _MUXER_OPTIONS:
            with suppress(OSError):  # the disk may be gone: then there is nothing to keep
                cut_to_whole(self._target.part)
        cure = room_for(error)
        kept = f"the video so far is in {self._target.part}{f'; {cure}, and run it again' if cure else ''}"
        if not _shows_something(self._target.part):
            self._worthless = True
            self._target.discard()
            kept = cure or "nothing was written"
        return f"cannot {what} {self.path}: {reason(error)}; {kept}"

    def _tick(self, frame: OutputFrame) -> int:
        now = frame.captured_at if frame.media_time is None else frame.media_time
        if self._first is None:
            self._first = now
            if self._sound is not None:
                self._sound.start_at(frame.media_time or 0.0)
        tick = max(round((now - self._first) * TICKS), self._last_tick + 1)  # a repeated frame: as soon as possible
        if self._last_tick >= 0:
            self._last_step = tick - self._last_tick
        self._last_tick = tick
        return tick

    def _planes(self, frame: OutputFrame) -> NDArray[np.uint8]:
        width, height = self._stream.width, self._stream.height
        if frame.i420.shape == (height * 3 // 2, width):
            return frame.i420
        if frame.image.shape[0] // 2 * 2 == height and frame.image.shape[1] // 2 * 2 == width:
            planes: NDArray[np.uint8] = cv2.cvtColor(frame.image[:height, :width], cv2.COLOR_BGR2YUV_I420)
            return planes
        size = f"{frame.image.shape[1]}x{frame.image.shape[0]}"
        raise SinkError(f"{self.path} holds frames of {width}x{height}: one of {size} does not fit; use one --size for the whole run")

    def close(self) -> None:
        """Raises SinkError when the file cannot be finished or sealed; says where it is then."""
        if self._container is None:
            return
        if self._last_tick < 0:
            log.warning("no frame came: %s is not written", self.path)
            self._abandon()
            return
        try:
            self._finish()
        except (OSError, av.FFmpegError) as error:
            if not self._broken:
                raise SinkError(self._failure("finish", error)) from error
            log.debug("cannot finish %s: %s", self.path, reason(error))  # why it broke was told
        if self._worthless:
            self._target.discard()
        elif not self._broken:
            self._target.commit(self._seal if self._swapped else None, self.headway.stopped)

    def _finish(self) -> None:
        try:
            if not self._broken:  # a muxer that failed once must get no more packets
                self._mux(None)
                if self._sound is not None:
                    self._sound.copy_until((self._last_tick + self._last_step) / TICKS)
        finally:
            self._release()
        self._check_disk()

    def _release(self) -> None:
        """Close everything that is open; the container writes its end."""
        container, self._container = self._container, None
        try:
            if self._sound is not None:
                self._sound.close()
            if container is not None:
                container.close()
        finally:
            if self._disk is not None:
                self._disk.close()

    def _abandon(self) -> None:
        try:
            self._release()
        finally:
            self._target.discard()


def _shows_something(path: Path) -> bool:
    """True when the file, finished or not, has a first frame."""
    try:
        with av.open(str(path)) as container:
            return next(container.decode(video=0), None) is not None
    except (OSError, IndexError, av.FFmpegError):
        return False


def _add_video(container: Any, codings: tuple[Coding, ...], stream: StreamFormat) -> Any:
    """The stream of the first encoder that this FFmpeg has. Raises SinkError when it has none."""
    coding = next((coding for coding in codings if coding.encoder in av.codec.codecs_available), None)
    if coding is None:
        names = ", ".join(coding.encoder for coding in codings)
        raise SinkError(f"this build of PyAV has none of the encoders {names}: pip install --upgrade av, or write another kind of file")
    rate = Fraction(stream.fps).limit_denominator(1001) if stream.fps > 0 else Fraction(30)
    video = container.add_stream(coding.encoder, rate=rate, options=dict(coding.options))
    video.width, video.height, video.pix_fmt = stream.width // 2 * 2, stream.height // 2 * 2, "yuv420p"
    context = video.codec_context
    context.time_base = Fraction(1, TICKS) if coding.encoder != "mpeg4" else Fraction(1, 60_000)  # MPEG-4's clock has 16 bits
    context.colorspace, context.color_range = _BT601_MATRIX, _LIMITED
    context.color_primaries, context.color_trc = _BT709, _BT709
    return video
