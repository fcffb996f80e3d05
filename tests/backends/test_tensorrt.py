"""Sessions on engines: one upload, one launch, one download; graphs; two frames on the device; other sizes; every refusal."""

from __future__ import annotations

import importlib.util
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from realtime.backends import engine
from realtime.backends.base import FrameSession, Session, TensorSpec, UnavailableError
from realtime.backends.cuda import CudaDevice
from realtime.backends.device import Budget
from realtime.backends.tensorrt import TensorRtFrames, TensorRtSession
from realtime.errors import BackendError
from realtime.types import Array
from tests.backends.gpu import FakeDriver, Result
from tests.backends.library import FakeTensorRt

_F32, _U8 = np.dtype(np.float32), np.dtype(np.uint8)
Library = Callable[..., FakeTensorRt]


@pytest.fixture
def driver() -> FakeDriver:
    return FakeDriver(2)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "net.engine"
    path.write_bytes(b"engine")
    return path


@pytest.fixture
def affine(driver: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> Library:
    """y = 2 x + 1 and z = -x, with an open batch."""

    def made(**options: Any) -> FakeTensorRt:
        specs = [TensorSpec(name, (-1, 4), _F32) for name in "xyz"]
        library = FakeTensorRt(driver, specs[:1], specs[1:], lambda feeds: {"y": 2 * feeds["x"] + 1, "z": -feeds["x"]}, **options)
        monkeypatch.setattr(engine, "import_module", lambda name: library)
        return library

    return made


@pytest.fixture
def sums(driver: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> Library:
    """Sum of a frame times a factor, and the factor."""

    def network(feeds: Any) -> dict[str, Array]:
        return {"total": np.float32(feeds["frame"].sum(dtype=np.float64)) * feeds["factor"], "echo": feeds["factor"]}

    def made(**options: Any) -> FakeTensorRt:
        inputs = [TensorSpec("frame", (-1, -1, 3), _U8), TensorSpec("factor", (1,), _F32)]
        outputs = [TensorSpec("total", (1,), _F32), TensorSpec("echo", (1,), _F32)]
        library = FakeTensorRt(driver, inputs, outputs, network, **options)
        monkeypatch.setattr(engine, "import_module", lambda name: library)
        return library

    return made


def _frame(value: int, height: int = 4, width: int = 6) -> Array:
    return np.full((height, width, 3), value, np.uint8)


def _total(session: TensorRtFrames, frame: Array, factor: float = 1.0) -> float:
    session.inputs["factor"][:] = factor
    outputs = session.run(frame)
    assert outputs["echo"][0] == factor
    return float(outputs["total"][0])


class TestFixedSizes:
    def test_is_a_session_and_computes(self, driver: FakeDriver, path: Path, affine: Library) -> None:
        affine()
        with TensorRtSession(path, "tensorrt", CudaDevice(driver), label="fp16") as session:
            assert isinstance(session, Session)
            assert session.backend == "tensorrt Fake GPU 0 fp16"
            assert [(s.name, s.shape) for s in session.specs.outputs] == [("y", (1, 4)), ("z", (1, 4))]
            for number in range(5):
                session.inputs["x"][:] = number
                outputs = session.run()
                assert (outputs["y"][0, 0], outputs["z"][0, 3]) == (2 * number + 1, -number)
            assert session.run({"x": np.full((1, 4), 7, np.float32)})["y"][0, 0] == 15
        assert driver.alive == {} and driver.contexts == 0

    def test_an_open_size_is_the_likeliest(self, driver: FakeDriver, path: Path, sums: Library) -> None:
        sums()
        with TensorRtSession(path, "tensorrt", CudaDevice(driver)) as session:
            assert session.inputs["frame"].shape == (4, 6, 3)
            assert session.run({"frame": _frame(2), "factor": np.full(1, 3, np.float32)})["total"][0] == 432

    def test_one_upload_one_execution_one_download_a_run(self, driver: FakeDriver, path: Path, affine: Library) -> None:
        affine()
        session = TensorRtSession(path, "tensorrt", CudaDevice(driver))
        for _ in range(5):
            driver.calls.clear()
            session.run()
            assert [name for name in driver.names() if not name.startswith("cu")] == ["upload", "execute", "download"]
        assert [name for name in driver.names() if name.startswith("cu")] == ["cuGraphLaunch", "cuStreamSynchronize"]

    @pytest.mark.parametrize("graphs", ["off", "library"])
    def test_graphs_can_be_left_out(self, graphs: Any, driver: FakeDriver, path: Path, affine: Library) -> None:
        affine(rtx=True)
        session = TensorRtSession(path, "tensorrt-rtx", CudaDevice(driver), graphs=graphs)
        for _ in range(3):
            session.run()
        assert driver.count("cuGraphLaunch") == 0
        assert session.run({"x": np.ones((1, 4), np.float32)})["y"][0, 0] == 3

    def test_a_library_that_cannot_be_captured_makes_its_own_graphs(self, driver: FakeDriver, path: Path, affine: Library) -> None:
        library = affine(rtx=True, capturable=False)
        session = TensorRtSession(path, "tensorrt-rtx", CudaDevice(driver))
        for _ in range(3):
            assert session.run({"x": np.ones((1, 4), np.float32)})["y"][0, 0] == 3
        assert driver.count("cuStreamBeginCapture") == 0
        configs = [context.config for context in library.contexts]
        assert [config.cuda_graph_strategy for config in configs] == ["disabled", "whole"]
        # A graph of ours holds the kernels of the capture, which must not be stand-ins; the library's own graphs come to the right ones.
        assert [config.dynamic_shapes_kernel_specialization_strategy for config in configs] == ["eager", None]

    def test_what_was_compiled_is_kept_for_the_next_start(self, driver: FakeDriver, path: Path, affine: Library, tmp_path: Path) -> None:
        library = affine(rtx=True)
        for _ in range(2):
            with TensorRtSession(path, "tensorrt-rtx", CudaDevice(driver), cache=tmp_path / "cache") as session:
                session.run()
        assert library.caches == [b"compiled"]
        assert [file.name for file in (tmp_path / "cache").iterdir()] == ["net.engine.cache"]

    def test_a_cache_folder_that_cannot_be_written_does_no_harm(
        self, driver: FakeDriver, path: Path, affine: Library, tmp_path: Path
    ) -> None:
        affine(rtx=True)
        with TensorRtSession(path, "tensorrt-rtx", CudaDevice(driver), cache=path / "cache") as session:
            assert session.run({"x": np.ones((1, 4), np.float32)})["y"][0, 0] == 3
        assert path.read_bytes() == b"engine"

    def test_works_in_other_threads_than_the_one_that_opened_it(self, driver: FakeDriver, path: Path, affine: Library) -> None:
        affine()
        with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as other:
            session = one.submit(TensorRtSession, path, "tensorrt", CudaDevice(driver)).result()
            for thread in (other, one, other):
                assert thread.submit(session.run, {"x": np.ones((1, 4), np.float32)}).result()["y"][0, 0] == 3
            other.submit(session.close).result()
        assert driver.alive == {}

    def test_a_closed_session_says_so(self, driver: FakeDriver, path: Path, affine: Library) -> None:
        affine()
        session = TensorRtSession(path, "tensorrt", CudaDevice(driver))
        session.close()
        session.close()
        with pytest.raises(BackendError, match="closed"):
            session.run()


class TestFrames:
    def test_is_a_frame_session_and_computes(self, driver: FakeDriver, path: Path, sums: Library) -> None:
        sums()
        with TensorRtFrames(path, "tensorrt", CudaDevice(driver, 1)) as session:
            assert isinstance(session, FrameSession)
            assert [session.takes(shape) for shape in ((4, 6, 3), (64, 65, 3), (1, 6, 3), (4, 6))] == [True, False, False, False]
            for value in range(1, 9):
                assert _total(session, _frame(value), value) == 72 * value * value
        assert driver.alive == {} and driver.contexts == 0

    def test_a_frame_is_uploaded_once_and_each_run_is_one_launch_and_one_download(
        self, driver: FakeDriver, path: Path, sums: Library
    ) -> None:
        sums()
        session = TensorRtFrames(path, "tensorrt", CudaDevice(driver))
        for value in range(4):
            _total(session, _frame(value))  # twice plainly, for either place, then captured
            _total(session, _frame(value))
        driver.calls.clear()
        frame = _frame(9)
        assert [_total(session, frame, factor) for factor in (1, 2, 3)] == [648, 1296, 1944]
        assert [size for name, size in driver.calls if name == "upload"] == [frame.nbytes, 256, 256, 256], "the factors are in the graph"
        assert [size for name, size in driver.calls if name == "cuMemcpyHtoDAsync"] == [(frame.nbytes, session._copies)]
        assert driver.count("cuGraphLaunch") == 3 and driver.count("download") == 3 and driver.count("cuStreamBeginCapture") == 0

    def test_the_next_frame_is_uploaded_beside_the_present_one(self, driver: FakeDriver, path: Path, sums: Library) -> None:
        sums()
        session = TensorRtFrames(path, "tensorrt", CudaDevice(driver))
        frames = [_frame(value) for value in range(1, 8)]
        ahead = iter([*frames[1:], None])
        session.watch(lambda: next(ahead))
        assert [_total(session, frame) for frame in frames] == [72 * value for value in range(1, 8)]
        assert session.uploads == 7, "each once, though six of them came early"
        last = len(driver.calls) - 1 - driver.names()[::-1].index("cuGraphLaunch")
        copies = [index for index, (name, _) in enumerate(driver.calls) if name == "cuMemcpyHtoDAsync"]
        assert max(copies) < last, "when the last frame was launched it had been uploaded"
        launches = [index for index, name in enumerate(driver.names()) if name == "cuGraphLaunch"]
        waits = [index for index, call in enumerate(driver.calls) if call == ("cuStreamSynchronize", session._stream)]
        between = [index for index in copies if any(launch < index < min(w for w in waits if w > launch) for launch in launches)]
        assert between, "an upload was put in after a launch and before its end"

    def test_the_order_of_calls_for_a_frame_that_was_announced(self, driver: FakeDriver, path: Path, sums: Library) -> None:
        """Launch as soon as its upload is there; the next upload waits for its staging memory and for what ran on its place before."""
        sums()
        session = TensorRtFrames(path, "tensorrt", CudaDevice(driver))
        frames = [_frame(value) for value in range(1, 9)]
        ahead = iter(frames[1:])
        session.watch(lambda: next(ahead))
        for frame in frames[:6]:
            _total(session, frame)
        driver.calls.clear()
        here, there = session._places[1 - session._now], session._places[session._now]
        _total(session, frames[6])
        run, copies, size = session._stream, session._copies, frames[6].nbytes
        assert [call for call in driver.calls if call[0].startswith("cu")] == [
            ("cuStreamWaitEvent", (run, here.uploaded)),
            ("cuGraphLaunch", session._replay._graphs[here.number][0]),
            ("cuEventRecord", (here.used, run)),
            ("cuStreamSynchronize", copies),
            ("cuStreamWaitEvent", (copies, there.used)),
            ("cuMemcpyHtoDAsync", (size, copies)),
            ("cuEventRecord", (there.uploaded, copies)),
            ("cuStreamSynchronize", run),
        ]

    def test_a_frame_that_was_announced_and_never_came(self, driver: FakeDriver, path: Path, sums: Library) -> None:
        sums()
        session = TensorRtFrames(path, "tensorrt", CudaDevice(driver))
        session.watch(lambda: _frame(200))
        assert [_total(session, _frame(value)) for value in range(1, 8)] == [72 * value for value in range(1, 8)]

    def test_another_size_gets_new_buffers_and_new_graphs(self, driver: FakeDriver, path: Path, sums: Library) -> None:
        sums()
        session = TensorRtFrames(path, "tensorrt", CudaDevice(driver))
        session.watch(lambda: _frame(3))  # brought while there is one of its size, and on its way when the size changes
        for height, width in ((4, 6), (8, 2), (20, 20), (4, 6)):
            before = driver.count("cuStreamBeginCapture")
            for value in range(1, 7):
                assert _total(session, _frame(value, height, width)) == height * width * 3 * value
            assert driver.count("cuStreamBeginCapture") - before == 2, "one for each place"
            kinds = Counter(kind for kind, _ in driver.alive)
            assert (kinds["pinned"], kinds["memory"], kinds["executable"]) == (4, 5, 2), "those of the other size are gone"
        assert driver.count("cuGraphExecDestroy") == 6
        session.close()
        assert driver.alive == {}

    def test_without_capture_the_library_makes_graphs_and_results_are_the_same(
        self, driver: FakeDriver, path: Path, sums: Library
    ) -> None:
        sums(rtx=True, capturable=False)
        session = TensorRtFrames(path, "tensorrt-rtx", CudaDevice(driver))
        assert [_total(session, _frame(value)) for value in range(1, 6)] == [72 * value for value in range(1, 6)]
        assert driver.count("cuGraphLaunch") == 0

    @pytest.mark.parametrize("frame", [np.zeros((4, 6), np.uint8), np.zeros((4, 6, 4), np.uint8), np.zeros((4, 6, 3), np.float32)])
    def test_refuses_what_is_no_frame(self, frame: Array, driver: FakeDriver, path: Path, sums: Library) -> None:
        sums()
        session = TensorRtFrames(path, "tensorrt", CudaDevice(driver))
        with pytest.raises(BackendError, match=r"expected frame \(h, w, 3\) uint8, got"):
            session.run(frame)

    def test_refuses_a_size_it_was_not_built_for_and_goes_on(self, driver: FakeDriver, path: Path, sums: Library) -> None:
        library = sums()
        session = TensorRtFrames(path, "tensorrt", CudaDevice(driver))
        library.refuse_shapes = True
        with pytest.raises(BackendError, match=r"net.engine was not built for frame \(4, 6, 3\)"):
            session.run(_frame(1))
        library.refuse_shapes = False
        assert _total(session, _frame(1)) == 72

    def test_refuses_an_engine_that_takes_no_frames(self, driver: FakeDriver, path: Path, affine: Library) -> None:
        affine()
        with pytest.raises(BackendError, match="takes no whole frames"):
            TensorRtFrames(path, "tensorrt", CudaDevice(driver))
        assert driver.alive == {} and driver.contexts == 0


class TestRefusals:
    def test_a_broken_engine_gives_the_librarys_reason_and_leaves_nothing(self, driver: FakeDriver, path: Path, affine: Library) -> None:
        affine()
        path.write_bytes(b"engin")
        with pytest.raises(BackendError, match=r"net\.engine cannot be loaded: the engine is broken$"):
            TensorRtSession(path, "tensorrt", CudaDevice(driver))
        assert driver.alive == {} and driver.contexts == 0

    def test_no_memory(self, driver: FakeDriver, path: Path, affine: Library) -> None:
        affine()
        device = CudaDevice(driver)
        driver.fail = {"cuMemAlloc": Result.CUDA_ERROR_OUT_OF_MEMORY}
        with pytest.raises(BackendError, match="CUDA_ERROR_OUT_OF_MEMORY while allocating"):
            TensorRtSession(path, "tensorrt", device)
        assert driver.contexts == 0

    def test_no_memory_within_the_budget(self, driver: FakeDriver, path: Path, affine: Library) -> None:
        affine()
        budget = Budget(400)
        with pytest.raises(BackendError, match="raise --gpu-memory-fraction"):
            TensorRtSession(path, "tensorrt", CudaDevice(driver, budget=budget))
        assert budget.used == 0

    def test_weights_scratch_memory_and_buffers_count_and_are_given_back(self, driver: FakeDriver, path: Path, affine: Library) -> None:
        affine()
        budget = Budget(10_000)
        with TensorRtSession(path, "tensorrt", CudaDevice(driver, budget=budget)):
            assert driver.count("cuMemAlloc") == 3
            assert budget.used == path.stat().st_size + sum(size for name, size in driver.calls if name == "cuMemAlloc")
        assert budget.used == 0

    def test_an_execution_that_fails(self, driver: FakeDriver, path: Path, affine: Library) -> None:
        library = affine()
        session = TensorRtSession(path, "tensorrt", CudaDevice(driver))
        library.contexts[0].fail = True
        with pytest.raises(BackendError, match=r"net\.engine failed on Fake GPU 0: the library gave no reason"):
            session.run()

    def test_a_gpu_that_is_lost(self, driver: FakeDriver, path: Path, affine: Library) -> None:
        affine()
        session = TensorRtSession(path, "tensorrt", CudaDevice(driver))
        driver.fail = {"cuStreamSynchronize": Result.CUDA_ERROR_LAUNCH_FAILED}
        with pytest.raises(BackendError, match="CUDA_ERROR_LAUNCH_FAILED"):
            session.run()

    @pytest.mark.parametrize(("backend", "extra"), [("tensorrt", "tensorrt"), ("tensorrt-rtx", "nvidia")])
    def test_a_missing_library(self, backend: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
        def missing(name: str) -> None:
            raise ImportError(f"No module named '{name}'")

        monkeypatch.setattr(engine, "import_module", missing)
        with pytest.raises(UnavailableError, match=rf"install it with `pip install 'realtime-faceswap\[{extra}\]'`$"):
            engine.load(backend)


@pytest.mark.skipif(importlib.util.find_spec("tensorrt_rtx") is None, reason="TensorRT-RTX is not installed: pip install tensorrt-rtx")
class TestOnTheRealLibrary:
    USED: ClassVar = {
        "Runtime": "deserialize_cuda_engine",
        "ICudaEngine": "num_io_tensors get_tensor_name get_tensor_mode get_tensor_dtype get_tensor_shape get_tensor_profile_shape "
        "create_runtime_config create_execution_context",
        "IExecutionContext": "set_tensor_address set_input_shape get_tensor_shape update_device_memory_size_for_shapes set_device_memory "
        "is_stream_capturable execute_async_v3",
        "IRuntimeConfig": "set_execution_context_allocation_strategy cuda_graph_strategy dynamic_shapes_kernel_specialization_strategy "
        "create_runtime_cache set_runtime_cache",
        "IRuntimeCache": "serialize deserialize",
        "ExecutionContextAllocationStrategy": "USER_MANAGED",
        "CudaGraphStrategy": "DISABLED WHOLE_GRAPH_CAPTURE",
        "DynamicShapesKernelSpecializationStrategy": "EAGER",
        "TensorIOMode": "INPUT OUTPUT",
    }

    def test_it_has_every_name_that_is_used(self) -> None:
        library = engine.load("tensorrt-rtx")
        used = [(kind, name) for kind, names in self.USED.items() for name in names.split()]
        assert [pair for pair in used if not hasattr(getattr(library, pair[0]), pair[1])] == []
        assert library.nptype(library.DataType.UINT8) is np.uint8

    def test_what_is_no_engine_gives_the_librarys_reason_and_leaves_nothing(self, driver: FakeDriver, path: Path) -> None:
        with pytest.raises(BackendError, match=r"net\.engine cannot be loaded: .*[a-z]"):
            TensorRtSession(path, "tensorrt-rtx", CudaDevice(driver))
        assert driver.alive == {} and driver.contexts == 0
