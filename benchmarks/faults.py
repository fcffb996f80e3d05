"""What can break around a running pipeline, made to break to order: a camera, a network, a sink, a clock, and who decides when."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import cv2
import numpy as np

from realtime.backends.around import AroundSession
from realtime.backends.base import Session
from realtime.errors import BackendError, SinkError
from realtime.sinks.lifecycle import Closing
from realtime.sinks.null import NullSink
from realtime.sources.base import Source, SourceInfo
from realtime.sources.sync import Managed
from realtime.sources.synthetic import Sway
from realtime.types import Array, Frame, Image, OutputFrame, State, StreamFormat

JUMP = 3600.0
"""Seconds that the clock jumps by."""


class Device:
    """A camera that plays a swaying face at its rate; `fault` says what is wrong with it: one of FAULTS, or nothing."""

    FAULTS = ("unplugged", "late", "short", "corrupt", "another size", "grey", "four channels", "no numbers")

    def __init__(self, photo: Image, fps: float) -> None:
        self.fault = ""
        self.sway = Sway(photo, fps, seed=0)
        self.fps = fps
        self.size = (photo.shape[1], photo.shape[0])
        self._rng = np.random.default_rng(1)

    def picture(self, index: int) -> Any:
        """Frame `index` as the driver would hand it over now."""
        image = self.sway.picture(index)
        if self.fault == "short":
            return image[: image.shape[0] // 3].copy()
        if self.fault == "corrupt":
            return self._torn(image)
        if self.fault == "another size":
            return cv2.resize(image, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)
        if self.fault == "grey":
            return cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
        if self.fault == "four channels":
            return cv2.cvtColor(image, cv2.COLOR_BGR2BGRA)
        return np.zeros(7, np.float32) if self.fault == "no numbers" else image

    def _torn(self, image: Image) -> Image:
        """Rows in the wrong place and noise, as half a transfer leaves them."""
        torn = np.roll(image, int(self._rng.integers(image.size // 2)))
        torn[:: int(self._rng.integers(2, 5))] = self._rng.integers(0, 256, (1, image.shape[1], 3), np.uint8)
        return torn


class Opened:
    """The device as cv2.VideoCapture shows it. Grabbing waits for the next frame's moment."""

    def __init__(self, device: Device) -> None:
        self._device, self._index, self._next = device, 0, time.perf_counter()
        self._open = device.fault != "unplugged"

    def isOpened(self) -> bool:  # noqa: N802 - OpenCV's name
        return self._open

    def set(self, prop: int, value: float, /) -> bool:
        return True

    def get(self, prop: int, /) -> float:
        return self._device.fps if prop == cv2.CAP_PROP_FPS else 0.0

    def grab(self) -> bool:
        if self._device.fault == "unplugged":
            self._open = False
        if not self._open:
            return False
        self._next = max(self._next + 1 / self._device.fps, time.perf_counter() - 1 / self._device.fps)
        time.sleep(max(self._next - time.perf_counter(), 0.0))
        if self._device.fault == "late":
            time.sleep(0.4)
        self._index += 1
        return True

    def retrieve(self, image: Any = None, /) -> tuple[bool, Any]:
        return True, self._device.picture(self._index)

    def release(self) -> None:
        self._open = False


class Network(AroundSession):
    """Another session, with a `fault` that all of a run's networks share through `Faults`."""

    def __init__(self, session: Session, faults: Faults) -> None:
        super().__init__(session)
        self._faults = faults

    def run(self, feeds: Mapping[str, Array] | None = None) -> Mapping[str, Array]:
        fault = self._faults.network
        if fault == "raises":
            raise BackendError("the device was lost")
        while self._faults.network == "hangs":
            time.sleep(0.01)
        outputs = self.session.run(feeds)
        return {name: np.full_like(value, np.nan) for name, value in outputs.items()} if fault == "gives no numbers" else outputs


class Clock(Managed):
    """Another source, whose clock jumps while `Faults.clock` is not zero."""

    def __init__(self, source: Source, faults: Faults) -> None:
        self._source, self._faults = source, faults

    def open(self) -> SourceInfo:
        return self._source.open()

    def read(self, timeout: float) -> Frame | None:
        frame = self._source.read(timeout)
        if frame is None or not self._faults.clock:
            return frame
        return replace(frame, captured_at=frame.captured_at + self._faults.clock)

    def close(self) -> None:
        self._source.close()


class Outlet(Closing):
    """A virtual camera that may break, and the counts of what it was given."""

    name = "virtual camera"
    steady = waits = True
    reads_image = False

    def __init__(self, faults: Faults) -> None:
        self._faults = faults
        self.swapped = 0
        """Different frames that came swapped."""
        self.first: int | None = None
        """Number of the first swapped frame since `restart`."""
        self.newest = -1
        self.newest_captured = -1.0
        self.state = State.STARTING

    def restart(self) -> None:
        """Begin to count anew."""
        self.swapped, self.first = 0, None

    def open(self, stream: StreamFormat) -> None:
        self._check()

    def write(self, frame: OutputFrame) -> None:
        while self._faults.sink == "blocks":
            time.sleep(0.01)
        self._check()
        self.state = frame.state
        if frame.state is not State.SWAPPED or frame.seq == self.newest:
            return
        self.newest, self.newest_captured = frame.seq, frame.captured_at
        if self.first is None:
            self.first = frame.seq
        self.swapped += 1

    def close(self) -> None:
        pass

    def _check(self) -> None:
        if self._faults.sink == "fails":
            self._faults.sink = ""  # once
            raise SinkError("the driver did not take a frame")
        if self._faults.sink == "disappears":
            raise SinkError("there is no such device")


class Beside(NullSink):
    """The sink beside the outlet, which is to go on while that one hangs."""

    def __init__(self, faults: Faults) -> None:
        super().__init__()
        self._faults = faults
        self.meanwhile = 0
        """Swapped frames that came while the outlet was blocked."""

    def write(self, frame: OutputFrame) -> None:
        super().write(frame)
        self.meanwhile += self._faults.sink == "blocks" and frame.state is State.SWAPPED


@dataclass(slots=True)
class Faults:
    """What is wrong now; everything above looks here."""

    network: str = ""
    sink: str = ""
    clock: float = 0.0


@dataclass(frozen=True, slots=True)
class Fault:
    """One kind of break: how it begins and ends, and how long it lasts in seconds."""

    name: str
    begin: Callable[[], object]
    end: Callable[[], object]
    seconds: float


BLOCKS = "sink: blocks"
BLOCK_SECONDS = 0.7


def every_fault(device: Device, faults: Faults) -> list[Fault]:
    def setting(owner: object, what: str, value: object, nothing: object, name: str, seconds: float) -> Fault:
        return Fault(name, lambda: setattr(owner, what, value), lambda: setattr(owner, what, nothing), seconds)

    return [
        *(setting(device, "fault", kind, "", f"camera: {kind}", 1.2 if kind == "unplugged" else 0.5) for kind in Device.FAULTS),
        *(setting(faults, "network", kind, "", f"networks: {kind}", 0.4) for kind in ("raises", "gives no numbers")),
        setting(faults, "network", "hangs", "", "networks: hang", 1.6),
        setting(faults, "sink", "blocks", "", BLOCKS, BLOCK_SECONDS),
        setting(faults, "sink", "fails", "", "sink: fails", 0.1),
        setting(faults, "sink", "disappears", "", "sink: disappears", 1.2),
        setting(faults, "clock", JUMP, 0.0, "clock: an hour ahead", 0.3),
        setting(faults, "clock", -JUMP, 0.0, "clock: an hour back", 0.3),
    ]


@dataclass(slots=True)
class Tally:
    """What became of the faults of one kind."""

    times: int = 0
    survived: int = 0
    slowest: float = 0.0
    """Seconds from the end of the fault to a swapped frame captured after it."""


@dataclass(slots=True)
class Director:
    """Lets faults happen one after the other, in a new random order each round; `tick` is called often, from one thread."""

    faults: Sequence[Fault]
    outlet: Outlet
    quiet: float
    """Seconds of undisturbed running between the recovery from one fault and the next."""
    seed: int
    patience: float = 10.0
    tallies: dict[str, Tally] = field(default_factory=dict)
    lost: int = 0
    """Frames that are missing at the sink in undisturbed times."""
    passed: int = 0
    """Frames that came through in undisturbed times."""
    rounds: int = 0
    _rng: random.Random = field(init=False)
    _waiting: list[Fault] = field(default_factory=list)
    _now: Fault | None = None
    _at: float = 0.0
    """When the present fault began, or ended, or when the last recovery was."""
    _ended: bool = False

    def __post_init__(self) -> None:
        self._rng = random.Random(self.seed)

    @property
    def busy(self) -> bool:
        """Whether a fault is going on, or has not been recovered from."""
        return self._now is not None

    def tick(self) -> None:
        now = time.perf_counter()
        if self._at == 0.0:
            self._at = now
        elif self._now is None:
            self._maybe_begin(now)
        elif not self._ended and now - self._at >= self._now.seconds:
            self._now.end()
            self._ended, self._at = True, time.perf_counter()
        elif self._ended:
            self._maybe_recovered(self._now, now)

    def stop(self) -> None:
        """End what is going on: a thread that hangs in a fault is let go."""
        if self._now is not None and not self._ended:
            self._now.end()

    def _maybe_begin(self, now: float) -> None:
        if now - self._at < self.quiet * (1 + 0.3 * self._rng.random()):
            return
        self._count_quiet()
        if not self._waiting:
            self._waiting = self._rng.sample(list(self.faults), len(self.faults))
            self.rounds += 1
        self._now, self._ended, self._at = self._waiting.pop(), False, now
        self.tallies.setdefault(self._now.name, Tally()).times += 1
        self._now.begin()

    def _maybe_recovered(self, fault: Fault, now: float) -> None:
        tally = self.tallies[fault.name]
        back = self._at < self.outlet.newest_captured < now + 1.0
        if back:
            tally.survived += 1
            tally.slowest = max(tally.slowest, now - self._at)
        if back or now - self._at > self.patience:
            self._now, self._at = None, now
            self.outlet.restart()

    def _count_quiet(self) -> None:
        if self.outlet.first is not None:
            self.lost += self.outlet.newest - self.outlet.first + 1 - self.outlet.swapped
            self.passed += self.outlet.swapped
