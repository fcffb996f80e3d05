"""Sessions on engines of TensorRT and TensorRT-RTX: one upload, one launch and one download a run, as one graph where that is possible."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self

import numpy as np

from realtime.backends import engine
from realtime.backends.base import SessionSpecs, TensorSpec
from realtime.backends.bound import BoundSession
from realtime.backends.device import Block, Device, Event, Memory, Replay
from realtime.backends.engine import Execution, GraphUse
from realtime.errors import BackendError
from realtime.types import Array

FRAME = "frame"
"""The input that is a whole frame, in graphs of ours."""


class TensorRtSession(BoundSession):
    """An engine at fixed sizes; open ones are the likeliest of its profile. Inputs and outputs are page-locked, and gone with `close`.

    `device` is the session's own and closed with it. `cache`: a folder for what TensorRT-RTX compiles at run time.
    """

    def __init__(
        self, path: Path, backend: str, device: Device, *, label: str = "", graphs: GraphUse = "auto", cache: Path | None = None
    ) -> None:
        with _opening(device) as undo:
            trt = engine.load(backend)
            self._device = device
            self._execution = Execution(trt, path, device, graphs=graphs, cache=cache and cache / f"{path.name}.cache")
            undo.callback(self._execution.close)
            opened = {spec.name: self._execution.profile(spec.name)[1] for spec in self._execution.inputs if -1 in spec.shape}
            inputs = [TensorSpec(spec.name, opened.get(spec.name, spec.shape), spec.dtype) for spec in self._execution.inputs]
            self._stream = device.stream()
            self._taken, self._given = Block(device, inputs, "inputs"), Block(device, self._execution.outputs_for(opened), "outputs")
            specs = SessionSpecs(self._taken.specs, self._given.specs)
            super().__init__(f"{backend} {device.name} {label}".strip(), specs, self._taken.arrays, self._given.arrays)
            ours = self._execution.prepare(self._stream, {**self._taken.addresses, **self._given.addresses}, opened)
            self._replay = Replay(device, self._stream, graphs=ours)

    @property
    def captures(self) -> int:
        """Graphs made so far: one at most."""
        return self._replay.captures

    def _infer(self) -> None:
        with self._device:
            self._replay.run((), self._work)
            self._device.synchronise(self._stream)

    def _work(self) -> None:
        self._device.upload(self._taken.memory, self._taken.host, self._stream)
        self._execution.enqueue(self._stream)
        self._device.download(self._given.host, self._given.memory, self._stream)

    def close(self) -> None:
        if not self._closed:
            super().close()
            _close(self._execution, self._device)


@dataclass(slots=True)
class _Place:
    """Room for one frame on the device, and the page-locked memory that it passes through."""

    number: int
    memory: Memory
    staging: Array
    uploaded: Event
    """Recorded in the copy stream."""
    used: Event
    """Recorded in the stream that runs: what was launched on this frame is done."""
    frame: Array | None = None


class TensorRtFrames:
    """A `FrameSession` on an engine with an open input `frame`.

    Two frames have room on the device: the next one is uploaded, by a stream of its own, while the present one is worked on. Each has a
    graph of its own: the small inputs' upload, the execution, the outputs' download. Another size makes new buffers and new graphs.
    """

    def __init__(
        self, path: Path, backend: str, device: Device, *, label: str = "", graphs: GraphUse = "auto", cache: Path | None = None
    ) -> None:
        with _opening(device) as undo:
            trt = engine.load(backend)
            self._device = device
            self._execution = Execution(trt, path, device, graphs=graphs, cache=cache and cache / f"{path.name}.cache")
            undo.callback(self._execution.close)
            self.backend = f"{backend} {device.name} {label}".strip()
            small = [spec for spec in self._execution.inputs if spec.name != FRAME]
            if len(small) == len(self._execution.inputs):
                raise BackendError(f"{path.name} takes no whole frames: expected an input called {FRAME}")
            self._sizes = self._execution.profile(FRAME)
            outputs = self._execution.outputs_for({FRAME: self._sizes[1]})
            self._stream, self._copies = device.stream(), device.stream()
            self._taken = Block(device, small, "inputs")
            self._given = Block(device, outputs, "outputs")
            self._views = MappingProxyType(self._taken.arrays), MappingProxyType(self._given.arrays)
            self._events = [(device.event(), device.event()) for _ in range(2)]
            self._places: list[_Place] = []
            self._shape: tuple[int, ...] = ()
            self._now = 0
            self._upcoming: Callable[[], Array | None] = lambda: None
            self._replay = Replay(device, self._stream, graphs=False)
            self.uploads = 0
            """Of frames, so far."""
            self._closed = False

    @property
    def inputs(self) -> Mapping[str, Array]:
        return self._views[0]

    def takes(self, shape: tuple[int, ...]) -> bool:
        low, _, high = self._sizes
        return len(shape) == 3 and all(least <= size <= most for least, size, most in zip(low, shape, high, strict=True))

    @property
    def captures(self) -> int:
        """Graphs made for the present size."""
        return self._replay.captures

    def run(self, frame: Array) -> Mapping[str, Array]:
        self._check(frame)
        with self._device:
            if frame.shape != self._shape:
                self._resize(frame.shape)
            self._launch(self._bring(frame))
            following = self._upcoming()
            if following is not None and following.shape == self._shape:  # another size would take the present frame's buffers away
                self._bring(following)
            self._device.synchronise(self._stream)
        return self._views[1]

    def _launch(self, place: _Place) -> None:
        self._now = place.number
        self._device.wait(self._stream, place.uploaded)
        self._replay.run(place.number, lambda: self._work(place))
        self._device.record(place.used, self._stream)

    def watch(self, upcoming: Callable[[], Array | None]) -> None:
        self._upcoming = upcoming

    def _check(self, frame: Array) -> None:
        if self._closed:
            raise BackendError(f"this {self.backend} session was closed: open the model again")
        if frame.ndim != 3 or frame.shape[2] != 3 or frame.dtype != np.uint8:
            raise BackendError(f"expected {FRAME} (h, w, 3) uint8, got {frame.shape} {frame.dtype}")

    def _bring(self, frame: Array) -> _Place:
        """The place where the frame is, or is on its way to."""
        for place in self._places:
            if place.frame is frame:
                return place
        place = self._places[1 - self._now]
        if place.frame is not None:  # what was copied out of its staging memory last must have left it
            self._device.synchronise(self._copies)
        np.copyto(place.staging, frame)
        self._device.wait(self._copies, place.used)
        self._device.upload(place.memory, place.staging, self._copies)
        self._device.record(place.uploaded, self._copies)
        self.uploads += 1
        place.frame = frame
        return place

    def _work(self, place: _Place) -> None:
        self._execution.bind({FRAME: place.memory.address})
        self._device.upload(self._taken.memory, self._taken.host, self._stream)
        self._execution.enqueue(self._stream)
        self._device.download(self._given.host, self._given.memory, self._stream)

    def _resize(self, shape: tuple[int, ...]) -> None:
        self._device.synchronise(self._copies)
        self._device.synchronise(self._stream)
        self._replay.forget()
        for place in self._places:
            self._device.free(place.memory)
            self._device.free_pinned(place.staging)
        self._places, self._shape = [], ()
        self._places = [self._new_place(number, shape) for number in range(2)]
        addresses = {FRAME: self._places[0].memory.address, **self._taken.addresses, **self._given.addresses}
        ours = self._execution.prepare(self._stream, addresses, {FRAME: shape})
        self._replay = Replay(self._device, self._stream, graphs=ours)
        self._shape, self._now = shape, 0

    def _new_place(self, number: int, shape: tuple[int, ...]) -> _Place:
        nbytes = int(np.prod(shape))
        memory, staging = self._device.allocate(nbytes, "a frame"), self._device.pinned(nbytes).reshape(shape)
        return _Place(number, memory, staging, *self._events[number])

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            _close(self._execution, self._device)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


@contextmanager
def _opening(device: Device) -> Iterator[ExitStack]:
    """The GPU is the thread's inside; when something fails there, what the stack holds is undone and the device closed."""
    with ExitStack() as undo:
        undo.callback(device.close)
        with device, ExitStack() as inner:
            yield inner
            inner.pop_all()
        undo.pop_all()


def _close(execution: Execution, device: Device) -> None:
    with device:
        execution.close()
    device.close()
