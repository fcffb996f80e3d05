"""The adapter for PyCUDA, on a stand-in for its module (the real one cannot be imported without a driver)."""

from __future__ import annotations

import importlib.util
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from realtime.backends import pycuda
from realtime.backends.base import UnavailableError
from realtime.backends.device import Budget, Replay
from realtime.backends.pycuda import PyCudaDevice
from realtime.errors import BackendError


class _Error(Exception):
    pass


class _Part:
    """A class of `pycuda.driver`; `module` is the one that it belongs to."""

    module: _Module


class _Device(_Part):
    def __init__(self, ordinal: int) -> None:
        self._ordinal = ordinal

    @staticmethod
    def count() -> int:
        return 1

    def name(self) -> str:
        return "Fake GPU"

    def retain_primary_context(self) -> Any:
        self.module.calls.append("retain")
        return self.module.Context()


class _Context(_Part):
    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Context)

    def __hash__(self) -> int:
        return 1

    def push(self) -> None:
        self.module.stack.append(self)

    @classmethod
    def get_current(cls) -> Any:
        return cls.module.stack[-1] if cls.module.stack else None

    @classmethod
    def pop(cls) -> None:
        cls.module.stack.pop()


class _Stream(_Part):
    handle = 77

    def synchronize(self) -> None:
        self.module.check("synchronize")

    def wait_for_event(self, event: Any) -> None:
        self.module.calls.append("wait")


class _Event(_Part):
    def __init__(self, flags: int) -> None:
        assert flags == 2

    def record(self, stream: Any) -> None:
        self.module.calls.append("record")


class _Allocation:
    def __init__(self, module: _Module, nbytes: int) -> None:
        self._module, self.buffer = module, np.zeros(nbytes, np.uint8)
        module.memory[int(self)] = self

    def __int__(self) -> int:
        return int(self.buffer.ctypes.data)

    def free(self) -> None:
        self._module.check("free")
        del self._module.memory[int(self)]


class _Module:
    """The parts of `pycuda.driver` that are used; device memory is host memory, and copies are done at once."""

    Error = _Error
    event_flags = SimpleNamespace(DISABLE_TIMING=2)

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.calls: list[str] = []
        self.memory: dict[int, Any] = {}
        self.fail = ""
        self.Device, self.Context, self.Stream, self.Event = (
            type(kind.__name__, (kind,), {"module": self}) for kind in (_Device, _Context, _Stream, _Event)
        )

    def check(self, what: str) -> None:
        self.calls.append(what)
        if what == self.fail:
            raise _Error(f"{what} failed: out of memory\nmore")

    def mem_alloc(self, nbytes: int) -> Any:
        self.check("mem_alloc")
        return _Allocation(self, nbytes)

    def pagelocked_zeros(self, nbytes: int, dtype: Any) -> Any:
        return np.zeros(nbytes, dtype)

    def memcpy_htod_async(self, to: int, array: Any, stream: Any) -> None:
        self.memory[to].buffer[: array.nbytes] = array

    def memcpy_dtoh_async(self, array: Any, source: int, stream: Any) -> None:
        array[:] = self.memory[source].buffer[: array.nbytes]


def test_copies_events_and_everything_freed_once() -> None:
    module, budget = _Module(), Budget(1000)
    device = PyCudaDevice(module, 0, budget)
    assert device.name == "Fake GPU" and not device.graphs
    with device:
        stream, event = device.stream(), device.event()
        assert device.raw(stream) == 77
        memory, freed = device.allocate(4, "a"), device.allocate(8, "b")
        device.charge(100, "weights")
        there, back = device.pinned(4), device.pinned(4)
        there[:] = 5
        device.upload(memory, there, stream)
        device.download(back, memory, stream)
        device.record(event, stream)
        device.wait(stream, event)
        device.synchronise(stream)
        assert back.tolist() == [5] * 4
        device.free(freed)
        device.free_pinned(back)
        assert budget.used == 104
        assert len(module.stack) == 1
    assert module.stack == [], "PyCUDA ends the program when a thread leaves one behind"
    device.close()
    device.close()
    assert module.memory == {} and budget.used == 0 and module.stack == []


def test_errors_are_one_sentence_and_cost_no_budget() -> None:
    module, budget = _Module(), Budget(1000)
    device = PyCudaDevice(module, 0, budget)
    module.fail = "mem_alloc"
    sentence = r"^PyCUDA failed on the GPU \(mem_alloc failed: out of memory\): start the program again"
    with pytest.raises(BackendError, match=sentence), device:
        device.allocate(4, "a")
    assert budget.used == 0 and module.stack == []


def test_a_gpu_that_has_failed_is_closed_all_the_same() -> None:
    """What failed is told by whoever used it last; closing comes after, and must not hide that."""
    module, budget = _Module(), Budget(1000)
    device = PyCudaDevice(module, 0, budget)
    with device:
        device.allocate(4, "a")
        device.allocate(8, "b")
        device.charge(100, "weights")
    module.fail = "free"
    device.close()
    device.close()
    assert budget.used == 0 and module.stack == []


def test_a_gpu_that_is_not_there() -> None:
    with pytest.raises(BackendError, match="there is no GPU 1: this machine has 1"):
        PyCudaDevice(_Module(), 1)


def test_it_says_that_it_has_no_graphs_and_work_runs_without() -> None:
    device = PyCudaDevice(_Module())
    with pytest.raises(BackendError, match="PyCUDA has no CUDA graphs"):
        device.capture(device.stream(), lambda: None)
    with pytest.raises(BackendError, match="no CUDA graphs"):
        device.launch(None, None)
    replay, done = Replay(device, device.stream(), graphs=True), []
    for _ in range(3):
        replay.run((), lambda: done.append(1))
    assert len(done) == 3 and not replay.on


def test_missing_or_without_a_driver_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    if importlib.util.find_spec("pycuda") is None:
        monkeypatch.setitem(sys.modules, "pycuda", None)
        with pytest.raises(UnavailableError, match=r"PyCUDA cannot be loaded .*: install a driver, and pycuda or cuda-bindings$"):
            pycuda.load()
