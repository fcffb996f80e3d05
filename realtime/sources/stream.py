"""A network stream (rtsp://, http:// and the like), through PyAV. A thread drains it: newest frame wins, no stall is waited out."""

from __future__ import annotations

import errno
import logging
import time
from collections.abc import Iterator
from contextlib import closing

import av
from av.codec.context import Flags
from av.container import InputContainer
from av.packet import Packet
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from realtime.errors import SourceError
from realtime.sources.base import EndOfStream, SourceInfo
from realtime.sources.fit import letterbox
from realtime.sources.sync import Drain, Managed, Newest, Stop
from realtime.sources.told import Told
from realtime.sources.urls import redacted
from realtime.sources.video import CAREFUL, Painter, clockwise, nominal_fps, pixel_aspect, unplayable
from realtime.types import Frame, Image

log = logging.getLogger(__name__)

_BACK_OFF = (0.25, 1.0)
"""Seconds between attempts to reconnect: the first, and the longest."""
_LONGEST_PACE = 1.0
_JOIN = 0.5


class StreamSource(Managed):
    """The newest frame of a network stream; `read` gives None while it stalls or is being reconnected, which goes on for ever.

    A file served over HTTP (a stream of known length) is played at its own speed and ends; a live one never ends. Motion JPEG has no
    length even in a file: cameras serve it too, some in pieces, so its end counts as a break and it is asked for again.
    Opening and every read have a time limit, given to the protocol (`timeout`, `stimeout`, `rw_timeout`) and, for those that
    ignore it, to PyAV's interrupt; what even that does not end happens in a thread that `open` and `close` do not wait for.
    """

    def __init__(self, url: str, open_timeout: float = 10.0, read_timeout: float = 4.0) -> None:
        self._url = url
        self._name = redacted(url)
        self._limits = (open_timeout, read_timeout)
        self._stop = Stop()
        self._newest: Newest[Frame] = Newest()
        self._opened: Newest[SourceInfo] = Newest()
        self._info: SourceInfo | None = None
        self._drain: Drain | None = None
        self._painter = Painter()
        self._seq = 0
        self._delay = _BACK_OFF[0]
        self._say = Told(log)

    def open(self) -> SourceInfo:
        """Raises SourceError when the stream cannot be reached or shows no picture within the time limit."""
        self._drain = Drain("stream", self._run)
        try:
            info = self._opened.take(sum(self._limits))
            if info is None:
                raise SourceError(f"'{self._name}' does not answer: check the address and whether it can be reached from here")
            return info
        except BaseException:
            self.close()
            raise

    def read(self, timeout: float) -> Frame | None:
        return self._newest.take(timeout)

    def close(self) -> None:
        self._stop.set()
        self._newest.close()
        self._opened.close()
        if self._drain is not None:
            # A read that stalls right now ends by its own time limit; nobody needs to wait for that.
            self._drain.join(_JOIN)

    def _run(self) -> None:
        """The thread: play, and connect again when that ends."""
        try:
            while not self._stop:
                reason = self._attempt()
                if self._info is None:
                    cure = "" if {",", ";"} & set(reason) else "; check the address, and whether it can be reached from here"
                    self._opened.fail(SourceError(f"'{self._name}' cannot be played: {reason}{cure}"))
                    return
                self._say(f"stream '{self._name}' broke off ({reason}): connecting again")
                self._stop.wait(self._delay)
                self._delay = min(2 * self._delay, _BACK_OFF[1])
        except EndOfStream:
            self._newest.end()
        except Exception as error:
            self._opened.fail(error)
            self._newest.fail(error)

    def _attempt(self) -> str:
        """Connect and play to the end; why it ended, in words that do not show the URL. Raises EndOfStream at the end of a file."""
        try:
            container = av.open(self._url, options=_options(self._url, self._limits), timeout=self._limits, metadata_errors="replace")
        except (av.error.FFmpegError, OSError) as error:
            return _reason(error)
        with closing(container):
            problem = unplayable(container)
            if problem:
                return f"it {problem}"
            try:
                self._play(container, container.streams.video[0])
            except (av.error.FFmpegError, OSError) as error:
                return _reason(error)
            if self._info is None:
                return "it holds no picture that can be decoded"
            if container.duration is not None and not self._stop:
                raise EndOfStream
        return "it ended"

    def _play(self, container: InputContainer, stream: VideoStream) -> None:
        # Frame threading would hold back a frame for every thread.
        stream.thread_type = "SLICE"
        stream.codec_context.options = dict(CAREFUL)
        stream.codec_context.flags |= Flags.low_delay
        pace = _Pace() if container.duration is not None else None
        for packet in container.demux(stream):
            arrived = time.monotonic()
            if self._stop:
                return
            for frame in _decoded(packet):
                if pace is not None and self._stop.wait(pace.ahead(frame)):
                    return
                self._show(frame, stream, time.monotonic() if pace else arrived)

    def _show(self, frame: VideoFrame, stream: VideoStream, captured_at: float) -> None:
        image = self._painter.paint(frame, clockwise(frame), pixel_aspect(stream))
        if self._info is None:
            self._info = SourceInfo(self._name, image.shape[1], image.shape[0], fps=nominal_fps(stream), live=True)
            self._opened.put(self._info)
        self._delay = _BACK_OFF[0]
        self._newest.put(Frame(self._seq, captured_at, self._announced(image, self._info)))
        self._seq += 1

    def _announced(self, image: Image, info: SourceInfo) -> Image:
        if image.shape[:2] == (info.height, info.width):
            return image
        self._say(f"stream '{self._name}' changed its frame size: it is fitted into {info.width}x{info.height}")
        return letterbox(image, (info.width, info.height))


class _Pace:
    """Holds the frames of a file to their own times, from the first one on."""

    def __init__(self) -> None:
        self._zero: float | None = None

    def ahead(self, frame: VideoFrame) -> float:
        """Seconds to wait until the frame is due."""
        if frame.time is None:
            return 0.0
        now = time.monotonic()
        if self._zero is None or not -_LONGEST_PACE < self._zero + frame.time - now < _LONGEST_PACE:
            # The first frame, or a jump in the times or a stall: count from here.
            self._zero = now - frame.time
        return max(self._zero + frame.time - now, 0.0)


def _decoded(packet: Packet[VideoStream]) -> Iterator[VideoFrame]:
    """A packet's frames; a broken packet has none."""
    try:
        yield from packet.decode()
    except av.error.InvalidDataError as error:
        log.debug("a packet was left out: %s", error.strerror)


def _options(url: str, limits: tuple[float, float]) -> dict[str, str]:
    """Container options: time limits in microseconds, and a short look at the stream before it starts.

    Not `fflags=nobuffer`: it throws away what that look has read, the first key frame with it. Kept, it is decoded in a burst, and
    since only the newest frame counts no delay remains.
    """
    limit = str(int(limits[1] * 1e6))
    options = {"rw_timeout": limit, "timeout": limit, "analyzeduration": "1000000", **CAREFUL}
    if url.lower().startswith("rtsp"):
        # UDP loses packets on any busy network and smears the picture. `stimeout` is what FFmpeg before 5 calls `timeout`.
        options |= {"rtsp_transport": "tcp", "stimeout": limit, "max_delay": "200000"}
    return options


def _reason(error: Exception) -> str:
    if isinstance(error, av.error.HTTPUnauthorizedError | av.error.HTTPForbiddenError):
        return "it asks for a user and password, give them in the address as rtsp://user:password@host/"
    if isinstance(error, av.error.ExitError | TimeoutError):
        return "it gave nothing within the time limit"
    if isinstance(error, av.error.InvalidDataError):
        return "it is not a video stream"
    if isinstance(error, OSError) and error.errno == errno.EIO:
        # All that FFmpeg says of a host that is not known, and of a file whose index is out of reach.
        return "input/output error; check the host's name, or download the file first and give its path"
    return (getattr(error, "strerror", None) or type(error).__name__).lower()
