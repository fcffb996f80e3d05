"""The device layer on a driver that records: what is called, in which order, and that everything is freed once."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from realtime.backends import cuda
from realtime.backends.base import TensorSpec
from realtime.backends.cuda import CudaDevice
from realtime.backends.device import Block, Budget, Replay
from realtime.backends.gpus import gpus
from realtime.errors import BackendError
from tests.backends.gpu import FakeDriver, Result

_ROOT = Path(__file__).parents[2]
_THERE = importlib.util.find_spec("cuda") is not None and importlib.util.find_spec("cuda.bindings") is not None
needs_package = pytest.mark.skipif(not _THERE, reason="cuda-bindings is not installed: pip install cuda-bindings")


@pytest.fixture
def driver() -> FakeDriver:
    return FakeDriver()


def test_a_copy_there_and_back(driver: FakeDriver) -> None:
    device = CudaDevice(driver).__enter__()
    stream, memory = device.stream(), device.allocate(8, "numbers")
    there, back = device.pinned(8), device.pinned(8)
    there[:] = range(8)
    device.upload(memory, there, stream)
    device.download(back, memory, stream)
    assert not back.any(), "nothing has run yet"
    device.synchronise(stream)
    assert back.tolist() == list(range(8))
    device.close()


def test_streams_wait_for_no_other_librarys_and_events_take_no_time_on_the_named_gpu() -> None:
    """CU_STREAM_NON_BLOCKING is 1, CU_EVENT_DISABLE_TIMING is 2."""
    driver = FakeDriver(2)
    device = CudaDevice(driver, 1).__enter__()
    device.stream()
    device.event()
    assert driver.calls == [("cuDevicePrimaryCtxRetain", 1), ("cuStreamCreate", 1), ("cuEventCreate", 2)]
    assert set(driver.current.values()) == {"context 1"} and not device.pinned(3).any()
    device.close()
    assert driver.calls[-1] == ("cuDevicePrimaryCtxRelease", 1)


def test_everything_is_freed_once_and_the_context_last(driver: FakeDriver) -> None:
    device = CudaDevice(driver).__enter__()
    stream = device.stream()
    device.event()
    freed, kept = device.allocate(10, "a"), device.allocate(20, "b")
    staging = device.pinned(30)
    graph = device.capture(stream, lambda: device.upload(kept, staging[:20], stream))
    device.free(freed)
    device.drop(graph)
    device.free_pinned(staging)
    device.pinned(5)
    device.close()
    device.close()
    assert driver.alive == {} and driver.contexts == 0
    closing = ["cuMemFreeHost", "cuMemFree", "cuEventDestroy", "cuStreamDestroy", "cuDevicePrimaryCtxRelease"]
    assert driver.names()[-len(closing) :] == closing, "the youngest first"
    assert (driver.count("cuMemFree"), driver.count("cuMemFreeHost"), driver.count("cuGraphExecDestroy")) == (2, 2, 1)


def test_a_gpu_that_failed_is_closed_all_the_same(driver: FakeDriver) -> None:
    device = CudaDevice(driver).__enter__()
    device.stream()
    device.allocate(10, "a")
    driver.fail = {"cuMemFree": Result.CUDA_ERROR_LAUNCH_FAILED, "cuStreamDestroy": Result.CUDA_ERROR_LAUNCH_FAILED}
    device.close()
    assert driver.contexts == 0


@pytest.mark.parametrize(
    ("call", "fails", "sentence"),
    [
        (lambda d: d.allocate(3_000_000, "a frame"), "cuMemAlloc", "ALLOC.* 3.0 MB for a frame on Fake GPU 0: close other programs"),
        (lambda d: d.pinned(3_000_000), "cuMemHostAlloc", "locking 3.0 MB of memory"),
        (lambda d: d.stream(), "cuStreamCreate", "making a stream"),
        (lambda d: d.event(), "cuEventCreate", "making an event"),
        (lambda d: d.synchronise(d.stream()), "cuStreamSynchronize", "running a network"),
        (lambda d: d.capture(d.stream(), lambda: None), "cuStreamBeginCapture", "beginning a graph"),
        (lambda d: d.capture(d.stream(), lambda: None), "cuStreamEndCapture", "capturing a graph"),
        (lambda d: d.capture(d.stream(), lambda: None), "cuGraphInstantiate", "making a graph"),
    ],
)
def test_errors_bear_their_cuda_name_and_what_to_do(
    driver: FakeDriver, call: Callable[[CudaDevice], object], fails: str, sentence: str
) -> None:
    device = CudaDevice(driver).__enter__()
    driver.fail = {fails: Result.CUDA_ERROR_OUT_OF_MEMORY}
    with pytest.raises(BackendError, match=rf"CUDA_ERROR_OUT_OF_MEMORY while {sentence.replace('ALLOC.*', 'allocating')}"):
        call(device)
    driver.fail = {}
    device.close()
    assert driver.alive == {}, "what was half made is freed too"


def test_an_error_that_nobody_knows_says_what_is_tried_first(driver: FakeDriver) -> None:
    device = CudaDevice(driver).__enter__()
    driver.fail = {"cuStreamSynchronize": Result.CUDA_ERROR_LAUNCH_FAILED}
    with pytest.raises(BackendError, match=r"CUDA_ERROR_LAUNCH_FAILED while running a network on Fake GPU 0: start the program again"):
        device.synchronise(device.stream())


@pytest.mark.parametrize(("here", "ordinal", "words"), [(0, 0, "machine has none"), (2, 2, "has 2, counted from 0"), (1, -1, "no GPU")])
def test_a_gpu_that_is_not_there(here: int, ordinal: int, words: str) -> None:
    with pytest.raises(BackendError, match=words):
        CudaDevice(FakeDriver(here), ordinal)


def test_a_budget_is_shared_and_given_back(driver: FakeDriver) -> None:
    budget = Budget(1_000_000)
    one, two = (CudaDevice(driver, budget=budget).__enter__() for _ in range(2))
    memory = one.allocate(600_000, "a")
    two.charge(200_000, "weights")
    with pytest.raises(BackendError, match=r"b needs 0 MB of GPU memory and 0 of 1 MB are left: raise --gpu-memory-fraction"):
        two.allocate(300_000, "b")
    one.free(memory)
    two.allocate(300_000, "b")
    driver.fail = {"cuMemAlloc": Result.CUDA_ERROR_OUT_OF_MEMORY}
    with pytest.raises(BackendError, match="OUT_OF_MEMORY"):
        two.allocate(100_000, "c")
    assert budget.used == 500_000, "what was not allocated does not count"
    one.close()
    two.close()
    assert budget.used == 0


class TestReplay:
    def test_plain_first_captured_next_then_launched(self, driver: FakeDriver) -> None:
        device = CudaDevice(driver).__enter__()
        stream, memory, host = device.stream(), device.allocate(4, "a"), device.pinned(4)
        back = device.pinned(4)
        replay = Replay(device, stream, graphs=True)

        def work() -> None:
            device.upload(memory, host, stream)
            device.download(back, memory, stream)

        driver.calls.clear()
        for number in range(1, 5):
            host[:] = number
            replay.run("key", work)
            device.synchronise(stream)
            assert back.tolist() == [number] * 4
        called = [name for name in driver.names() if name.startswith("cu") and name != "cuStreamSynchronize"]
        copies = ["cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync"]
        capture = ["cuStreamBeginCapture", *copies, "cuStreamEndCapture", "cuGraphInstantiate", "cuGraphDestroy"]
        assert called == [*copies, *capture, *["cuGraphLaunch"] * 3]
        replay.forget()
        replay.run("key", work)
        assert driver.names()[-2:] == copies
        assert driver.count("cuGraphExecDestroy") == 1

    def test_each_key_has_a_graph_of_its_own(self, driver: FakeDriver) -> None:
        device = CudaDevice(driver).__enter__()
        replay, done = Replay(device, device.stream(), graphs=True), []
        for key in ("a", "b", "a", "b", "a", "b"):
            replay.run(key, lambda key=key: done.append(key))  # type: ignore[misc]
        assert done == ["a", "b", "a", "b"], "once plainly and once for the capture"
        assert replay.captures == 2

    def test_without_graphs_everything_is_put_in_call_by_call(self, driver: FakeDriver) -> None:
        device = CudaDevice(driver).__enter__()
        replay, done = Replay(device, device.stream(), graphs=False), []
        for _ in range(3):
            replay.run("key", lambda: done.append(1))
        assert len(done) == 3 and driver.count("cuGraphLaunch") == 0

    def test_a_capture_that_fails_ends_the_capture(self, driver: FakeDriver) -> None:
        device = CudaDevice(driver).__enter__()
        stream = device.stream()

        def broken() -> None:
            raise BackendError("no")

        with pytest.raises(BackendError, match="no"):
            device.capture(stream, broken)
        device.capture(stream, lambda: None)


def test_a_block_moves_all_its_tensors_with_one_copy(driver: FakeDriver) -> None:
    device = CudaDevice(driver).__enter__()
    shapes = (("a", (3,), np.float32), ("b", (2, 2), np.uint8), ("c", (), np.int64))
    specs = [TensorSpec(name, shape, np.dtype(dtype)) for name, shape, dtype in shapes]
    block = Block(device, specs, "inputs")
    assert [array.shape for array in block.arrays.values()] == [(3,), (2, 2), ()]
    assert [address - block.memory.address for address in block.addresses.values()] == [0, 256, 512]
    for number, array in enumerate(block.arrays.values()):
        array.fill(number + 1)
    assert block.host.sum() > 0 and block.host.nbytes == block.memory.nbytes == 768


@needs_package
@pytest.mark.skipif(bool(gpus()), reason="there is a GPU")
class TestOnTheRealPackage:
    """Where `cuda-bindings` is installed and there is no driver."""

    def test_no_driver_is_a_sentence(self) -> None:
        with pytest.raises(BackendError, match=r"there is no NVIDIA driver on this machine: install it from NVIDIA, or use --device cpu"):
            cuda.load()

    def test_it_has_every_function_that_the_fake_has(self) -> None:
        from cuda.bindings import driver

        ours = [name for name in dir(FakeDriver) if name.startswith("cu")]
        assert len(ours) > 25
        assert [name for name in ours if not hasattr(driver, name)] == []
        assert driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL is not None
        assert driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY.name == Result.CUDA_ERROR_OUT_OF_MEMORY.name
        assert set(cuda.CURES) <= set(driver.CUresult.__members__)


def test_a_missing_package_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cuda", None)
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    with pytest.raises(BackendError, match=r"cuda-bindings cannot be loaded .*: install it with `pip install cuda-bindings`"):
        cuda.load()


_THROUGH_THE_PACKAGE = """
import ctypes
from realtime.backends import cuda
from realtime.backends.cuda import CudaDevice
from realtime.backends.device import Replay
from realtime.backends.gpus import gpus
from realtime.errors import BackendError

print(*gpus(), sep="\\n")
device = CudaDevice(cuda.load(), 1).__enter__()
stream, event, memory = device.stream(), device.event(), device.allocate(8, "numbers")
there, back = device.pinned(8), device.pinned(8)
replay = Replay(device, stream, graphs=True)

def work():
    device.upload(memory, there, stream)
    device.download(back, memory, stream)

for number in range(5):
    there[:], back[:] = number, 99
    replay.run((), work)
    device.record(event, stream)
    device.wait(stream, event)
    device.synchronise(stream)
    assert (back == number).all(), (number, back)
print(device.name, replay.captures, device.raw(stream) != 0)
try:
    device.allocate(9 << 30, "a frame")
except BackendError as error:
    print(error)
device.close()
print(ctypes.CDLL("libcuda.so.1").stand_in_alive())
"""


@needs_package
@pytest.mark.skipif(not sys.platform.startswith("linux") or shutil.which("cc") is None, reason="needs Linux and a C compiler")
def test_the_calls_through_the_real_package(tmp_path: Path) -> None:
    """The driver's library is a stand-in, written in C; between it and us is what runs on a real GPU too."""
    source = Path(__file__).with_name("libcuda.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(tmp_path / "libcuda.so.1"), str(source), "-ldl"], check=True)
    environment = os.environ | {"LD_LIBRARY_PATH": str(tmp_path)}
    command = [sys.executable, "-c", _THROUGH_THE_PACKAGE]
    done = subprocess.run(command, cwd=_ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    *found, used, sentence, alive = done.stdout.splitlines()
    assert found == [f"Stand-in {number} (8 GiB, compute capability 8.9, driver for CUDA 13.0)" for number in range(2)]
    assert used == "Stand-in 1 1 True", "one graph was made"
    assert sentence.startswith("CUDA_ERROR_OUT_OF_MEMORY while allocating 9663.7 MB for a frame on Stand-in 1: close other programs")
    assert alive == "0", "everything was freed, once"
