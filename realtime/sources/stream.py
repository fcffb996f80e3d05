"""A network stream (rtsp://, http:// and the like), through PyAV. A thread drains it: newest frame wins, no stall is waited out."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import closing, suppress

import av
from av.codec.context import Flags
from av.container import InputContainer
from av.packet import Packet
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from realtime.errors import SourceError
from realtime.sources.base import EndOfStream, SourceInfo
from realtime.sources.fit import letterbox
from realtime.sources.stream_advice import reason
from realtime.sources.sync import Drain, Managed, Newest, Stop
from realtime.sources.told import Told
from realtime.sources.urls import redacted
from realtime.sources.video import CAREFUL, Painter, clockwise, lenient, nominal_fps, pixel_aspect, unplayable
from realtime.sources.whole import promised_end
from realtime.types import Frame, Image

log = logging.getLogger(__name__)

_BACK_OFF = (0.25, 1.0)
"""Seconds between attempts to reconnect: the first, and the longest."""
_LONGEST_PACE = 1.0
_IN_PARTS = frozenset({"hls", "dash"})
"""FFmpeg's names of what comes in parts of some seconds, also live: taken as it comes it would be a burst and then a still picture."""
_JOIN = 0.5


class StreamSource(Managed):
    """The newest frame of a network stream; `read` gives None while it stalls or is being reconnected, which goes on for ever.

    A file served over HTTP (a stream of known length) is played at its own speed and ends; a live one never ends, and is played at its
    own speed only when it comes in parts (HLS, DASH). A file that breaks off goes on where it was. Motion JPEG has no length even in a
    file: cameras serve it too, some in pieces, so its end counts as a break and it is asked for again.
    Opening and every read have a time limit, given to the protocol (`timeout`, `stimeout`, `rw_timeout`) and, for those that
    ignore it, to PyAV's interrupt; what even that does not end happens in a thread that `open` and `close` do not wait for.
    `begin` connects already: until `open`, what is played at its own speed is kept at its first frame, and the rest is decoded only.
    """

    def __init__(self, url: str, open_timeout: float = 10.0, read_timeout: float = 4.0) -> None:
        self._url = url
        self._name = redacted(url)
        self._limits = (open_timeout, read_timeout)
        self._stop, self._wanted = Stop(), Stop()
        self._newest: Newest[Frame] = Newest()
        self._opened: Newest[SourceInfo] = Newest()
        self._info: SourceInfo | None = None
        self._drain: Drain | None = None
        self._painter, self._place = Painter(), _Place()
        self._seq = 0
        self._delay = _BACK_OFF[0]
        self._say = Told(log)

    def begin(self, wait: float = 0.0) -> None:
        """Connect in the background. Raises SourceError when that has failed within `wait` seconds."""
        if self._drain is None:
            self._drain = Drain("stream", self._run)
        self._opened.there(wait)

    def open(self) -> SourceInfo:
        """Raises SourceError when the stream cannot be reached or shows no picture within the time limit."""
        self._wanted.set()
        try:
            self.begin()
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
        self._wanted.set()
        self._newest.close()
        self._opened.close()
        if self._drain is not None:
            # A read that stalls right now ends by its own time limit; nobody needs to wait for that.
            self._drain.join(_JOIN)

    def _run(self) -> None:
        """The thread: play, and connect again when that ends."""
        try:
            while not self._stop:
                why = self._attempt()
                if self._stop:
                    return
                if self._info is None:
                    cure = "" if {",", ";"} & set(why) else "; check the address, and whether it can be reached from here"
                    self._opened.fail(SourceError(f"'{self._name}' cannot be played: {why}{cure}"))
                    return
                self._say(f"stream '{self._name}' broke off ({why}): connecting again")
                self._stop.wait(self._delay)
                self._delay = min(2 * self._delay, _BACK_OFF[1])
        except EndOfStream:
            self._newest.end()
        except Exception as error:
            self._opened.fail(error)
            self._newest.fail(error)

    def _attempt(self) -> str:
        """Connect and play to the end; why it ended, in words that do not show the URL. Raises EndOfStream at the end of a file."""
        begun = time.perf_counter()
        try:
            container = av.open(self._url, options=_options(self._url, self._limits), timeout=self._limits, **lenient())
        except (av.error.FFmpegError, OSError) as error:
            return reason(error, self._url, time.perf_counter() - begun, self._limits[1])
        with closing(container):
            problem = unplayable(container)
            if problem:
                return f"it {problem}"
            try:
                self._play(container, container.streams.video[0])
            except (av.error.FFmpegError, OSError) as error:
                return reason(error, self._url)
            if self._info is None:
                return "it holds no picture that can be decoded"
            if container.duration is not None and not self._stop and self._place.is_end(container):
                raise EndOfStream
        return "it ended"

    def _play(self, container: InputContainer, stream: VideoStream) -> None:
        # Frame threading would hold back a frame for every thread.
        stream.thread_type = "SLICE"
        stream.codec_context.options = dict(CAREFUL)
        stream.codec_context.flags |= Flags.low_delay
        place = self._place if container.duration is not None else None
        if place is not None:
            place.resume(container)
        pace = _Pace() if place or container.format.name in _IN_PARTS else None
        for packet in container.demux(stream):
            arrived = time.perf_counter()
            if self._stop:
                return
            for frame in _decoded(packet):
                if place is not None and not place.is_new(frame):
                    continue
                info = self._info or self._described(frame, stream)
                if pace is not None and self._given_up(pace, frame):
                    return
                if self._wanted:
                    self._show(frame, stream, info, time.perf_counter() if pace else arrived)

    def _described(self, frame: VideoFrame, stream: VideoStream) -> SourceInfo:
        height, width = self._painted(frame, stream).shape[:2]
        self._info = SourceInfo(self._name, width, height, fps=nominal_fps(stream), live=True)
        self._opened.put(self._info)
        return self._info

    def _given_up(self, pace: _Pace, frame: VideoFrame) -> bool:
        """Wait until somebody wants frames, and until this one is due; whether the source was closed meanwhile."""
        while not self._wanted.wait(3600.0):
            pass
        return self._stop.wait(pace.ahead(frame))

    def _show(self, frame: VideoFrame, stream: VideoStream, info: SourceInfo, captured_at: float) -> None:
        self._delay = _BACK_OFF[0]
        self._newest.put(Frame(self._seq, captured_at, self._announced(self._painted(frame, stream), info)))
        self._seq += 1

    def _painted(self, frame: VideoFrame, stream: VideoStream) -> Image:
        return self._painter.paint(frame, clockwise(frame), pixel_aspect(stream))

    def _announced(self, image: Image, info: SourceInfo) -> Image:
        if image.shape[:2] == (info.height, info.width):
            return image
        self._say(f"stream '{self._name}' changed its frame size: it is fitted into {info.width}x{info.height}")
        return letterbox(image, (info.width, info.height))


class _Place:
    """How far a stream of known length was played: after a break it goes on there, and is not taken for ended."""

    def __init__(self) -> None:
        self._reached: float | None = None
        self._before: float | None = None

    def resume(self, container: InputContainer) -> None:
        """Go to where it broke off, or as near before that as can be; an RTSP server plays a recording from its beginning."""
        if container.format.name == "rtsp":
            self._reached = None
        self._before = self._reached
        if self._reached is not None:
            with suppress(av.error.FFmpegError, OSError):
                container.seek(round(self._reached * 1e6))

    def is_new(self, frame: VideoFrame) -> bool:
        """Whether the frame was not there before the break."""
        if frame.time is not None and self._reached is not None and frame.time <= self._reached:
            return False
        self._reached = self._reached if frame.time is None else frame.time
        return True

    def is_end(self, container: InputContainer) -> bool:
        """Whether the frame reached is the last, as far as can be known, or nothing came after it at a further attempt."""
        end = promised_end(container)
        if container.duration and container.format.name in ("rtsp", *_IN_PARTS):
            end = (container.duration + (container.start_time or 0)) / 1e6
        near = end is None or self._reached is None or end - self._reached < max(_LONGEST_PACE, 0.1 * end)
        return near or self._reached == self._before


class _Pace:
    """Holds the frames of what comes faster than it is to be shown to their own times, from the first one on."""

    def __init__(self) -> None:
        self._zero: float | None = None

    def ahead(self, frame: VideoFrame) -> float:
        """Seconds to wait until the frame is due."""
        if frame.time is None:
            return 0.0
        now = time.perf_counter()
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
    if url.lower().startswith("rtmp"):
        del options["timeout"]  # there it is how long to wait for somebody who sends, and makes a server of us
    if url.lower().startswith("rtsp"):
        # UDP loses packets on any busy network and smears the picture: only for servers that have nothing else. `stimeout` is what FFmpeg
        # before 5 calls `timeout`.
        options |= {"rtsp_flags": "prefer_tcp", "stimeout": limit, "max_delay": "200000"}
    return options
