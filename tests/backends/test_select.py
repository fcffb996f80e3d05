"""Which backend is taken, in which order, and how each refuses."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from realtime.backends import cuda, engine, place, pycuda, select
from realtime.backends import onnxruntime as ort_backend
from realtime.backends.base import Session, TensorSpec, UnavailableError
from realtime.backends.device import Budget
from realtime.backends.fake import FakeSession
from realtime.backends.gpus import Gpu, gpus
from realtime.backends.place import Place
from realtime.backends.select import BACKENDS
from realtime.errors import BackendError, UsageError
from tests.backends.gpu import FakeDriver
from tests.backends.graphs import affine, brightest
from tests.backends.library import FakeTensorRt

GPU = Gpu(89, 12040, "Fake GPU", 8 * 2**30)
_LOAD = ort_backend.load
ORDER = ("tensorrt", "tensorrt-rtx", "cuda", "directml", "coreml", "native", "openvino", "onnxruntime")


@pytest.fixture
def with_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place, "gpus", lambda: [GPU, GPU])


@pytest.fixture
def without_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place, "gpus", list)


def _opening(monkeypatch: pytest.MonkeyPatch, **how: str) -> list[str]:
    """Give each backend a session, "" for one, or an error: "-" that it is not here, else what it fails with. Names that were asked."""
    asked: list[str] = []

    def opener(name: str) -> select.Opener:
        def opened(path: Path, threads: int, cache: Path | None, place: Place) -> Session:
            asked.append(name)
            told = how.get(name.replace("-", "_"), "-")
            if told == "-":
                raise UnavailableError(f"{name} is not here.")
            if told:
                raise BackendError(told)
            return FakeSession([], [])

        return opened

    table = {name: dataclasses.replace(backend, open=opener(name)) for name, backend in BACKENDS.items()}
    monkeypatch.setattr(select, "BACKENDS", MappingProxyType(table))
    return asked


def test_the_order_of_auto(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = _opening(monkeypatch, onnxruntime="")
    select.open_session(Path("a.onnx"))
    assert tuple(asked) == tuple(BACKENDS) == ORDER


@pytest.mark.parametrize("first", ORDER)
def test_auto_stops_at_the_first_that_opens(first: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = _opening(monkeypatch, **{first.replace("-", "_"): "", "onnxruntime": ""})
    select.open_session(Path("a.onnx"))
    assert asked == list(ORDER[: ORDER.index(first) + 1])


def test_a_backend_that_is_there_and_fails_is_told_and_one_that_is_not_there_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    _opening(monkeypatch, cuda="CUDA ran out of memory.", onnxruntime="")
    said: list[str] = []
    select.open_session(Path("swap.onnx"), say=said.append)
    assert said == ["swap runs on fake: CUDA ran out of memory."]


def test_what_failed_outweighs_what_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    _opening(monkeypatch, openvino="openvino cannot load it.")
    with pytest.raises(BackendError, match=r"^openvino cannot load it\.$"):
        select.open_session(Path("a.onnx"))


def test_nothing_there_names_every_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    _opening(monkeypatch)
    with pytest.raises(BackendError) as caught:
        select.open_session(Path("a.onnx"))
    assert all(name in str(caught.value) for name in ORDER)


def test_a_place_rules_backends_out(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = _opening(monkeypatch, openvino="", onnxruntime="")
    select.open_session(Path("a.onnx"), place=Place(processor_only=True))
    assert asked == ["native", "openvino"]
    with pytest.raises(BackendError, match="nothing here runs a on GPU 1, which --device asks for: run `pip install"):
        select.open_session(Path("a.onnx"), place=Place(gpu=1))
    assert asked[2:] == list(ORDER[:5]), "a GPU that was asked for is never exchanged for the processor"


def test_a_share_is_the_budget_over_the_sessions() -> None:
    assert Place(budget=Budget(1000), sessions=4).share == 250
    assert Place().share is None


@pytest.mark.usefixtures("without_gpu")
class TestWithoutGpu:
    @pytest.mark.parametrize("backend", ["tensorrt", "tensorrt-rtx", "cuda"])
    def test_says_that_there_is_none(self, backend: str, tmp_path: Path) -> None:
        with pytest.raises(UnavailableError, match="there is no NVIDIA GPU here, or no driver for it: see whether nvidia-smi"):
            select.open_session(affine(tmp_path / "a.onnx"), backend)

    @pytest.mark.parametrize(("backend", "system"), [("directml", "Windows"), ("coreml", "Macs")])
    def test_says_which_system_it_is_for(self, backend: str, system: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(select.sys, "platform", "linux")
        with pytest.raises(UnavailableError, match=f"on {system} only"):
            select.open_session(affine(tmp_path / "a.onnx"), backend)

    def test_describe_gives_each_a_reason(self) -> None:
        found = {status.name: status for status in select.describe()}
        assert tuple(found) == ORDER
        assert all(not found[name].usable and found[name].why and not found[name].why.endswith(".") for name in ORDER[:3])


@pytest.mark.usefixtures("with_gpu")
class TestWithGpu:
    def test_tensorrt_takes_engines_only_and_says_how_to_build_them(self, tmp_path: Path) -> None:
        with pytest.raises(UnavailableError, match=r"none was built of a\.onnx: run `python -m realtime engines --target tensorrt-rtx`"):
            select.open_session(affine(tmp_path / "a.onnx"), "tensorrt-rtx")

    @pytest.mark.parametrize("backend", ["tensorrt", "cuda"])
    def test_a_number_too_high(self, backend: str, tmp_path: Path) -> None:
        with pytest.raises(BackendError, match=r"there is no GPU 2: this machine has 2, counted from 0"):
            select.open_session(affine(tmp_path / "a.onnx"), backend, place=Place(gpu=2))

    def test_an_onnx_runtime_without_cuda_says_what_to_install(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(ort_backend, "load", lambda: _Ort(available=["CPUExecutionProvider"]))
        with pytest.raises(UnavailableError, match="is without CUDA: run `pip uninstall onnxruntime`, then `pip install onnxruntime-gpu`"):
            select.open_session(affine(tmp_path / "a.onnx"), "cuda")
        status = {each.name: each for each in select.describe()}["cuda"]
        assert "onnxruntime-gpu" in status.why

    def test_cuda_that_does_not_work_is_an_error_and_not_the_processor(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(ort_backend, "load", lambda: _Ort(available=["CUDAExecutionProvider"], taken=["CPUExecutionProvider"]))
        with pytest.raises(BackendError, match="did not get CUDA to work"):
            select.open_session(affine(tmp_path / "a.onnx"), "cuda")

    def test_cuda_gets_the_gpu_and_its_share_of_the_memory(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        ort = _Ort(available=["CUDAExecutionProvider", "CPUExecutionProvider"])
        monkeypatch.setattr(ort_backend, "load", lambda: ort)
        place = Place(gpu=1, budget=Budget(4_000), sessions=4)
        with select.open_session(affine(tmp_path / "a.onnx"), "cuda", place=place) as session:
            assert session.backend == "onnxruntime cuda fp32"
        name, options = ort.providers[0]
        assert (name, options["device_id"], options["gpu_mem_limit"]) == ("CUDAExecutionProvider", "1", "1000")

    def test_a_graph_on_cuda_gets_each_frame_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        ort = _Ort(available=["CUDAExecutionProvider"])
        monkeypatch.setattr(ort_backend, "load", lambda: ort)
        with select.open_frames(brightest(), Place(gpu=1)) as session:
            frames = [np.full((h, 6, 3), value, np.uint8) for value, h in ((5, 4), (7, 4), (9, 8))]
            for frame in (frames[0], frames[0], frames[1], frames[2], frames[0]):
                assert session.run(frame)["brightest"][0] == frame[0, 0, 0]
        assert ort.copied == [("cuda", 1)] * 3, "another size is another buffer, the same size is copied into the one there is"

    def test_a_session_on_an_engine(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        driver, path = FakeDriver(2), tmp_path / "a.engine"
        path.write_bytes(b"engine")
        specs = [TensorSpec(name, (1, 2), np.dtype(np.float32)) for name in "xy"]
        library = FakeTensorRt(driver, specs[:1], specs[1:], lambda feeds: {"y": feeds["x"]})
        monkeypatch.setattr(engine, "import_module", lambda name: library)
        monkeypatch.setattr(cuda, "load", lambda: driver)
        with select.open_engine(path, "tensorrt", "fp16", "f16", place=Place(gpu=1)) as session:
            assert session.backend == "tensorrt Fake GPU 1 fp16"
            assert session.run({"x": np.ones((1, 2), np.float32)})["y"].tolist() == [[1, 1]]
        assert driver.alive == {}

    def test_pycuda_is_taken_where_only_that_is_installed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        taken = SimpleNamespace()
        monkeypatch.setattr(cuda, "load", _raise(UnavailableError("cuda-bindings cannot be loaded.")))
        monkeypatch.setattr(pycuda, "load", lambda: "its driver")
        monkeypatch.setattr(pycuda, "PyCudaDevice", lambda driver, ordinal, budget: setattr(taken, "it", (driver, ordinal)) or taken)
        assert place.device(Place(gpu=1)) is taken and taken.it == ("its driver", 1)

    def test_without_either_the_usual_one_is_asked_for(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(cuda, "load", _raise(UnavailableError("cuda-bindings cannot be loaded.")))
        monkeypatch.setattr(pycuda, "load", _raise(UnavailableError("PyCUDA cannot be loaded.")))
        with pytest.raises(UnavailableError, match=r"^cuda-bindings cannot be loaded\.$"):
            place.device()

    def test_describe_names_the_device_layer(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(engine, "import_module", lambda name: SimpleNamespace(__version__="11.4"))
        monkeypatch.setattr(cuda, "version", lambda: "13.5")
        found = {each.name: each for each in select.describe()}["tensorrt"]
        assert (found.version, found.note) == ("11.4", "driven by cuda-bindings 13.5")
        monkeypatch.setattr(cuda, "version", _raise(UnavailableError("cuda-bindings cannot be loaded.")))
        monkeypatch.setattr(pycuda, "version", lambda: "2026.1")
        found = {each.name: each for each in select.describe()}["tensorrt"]
        assert (found.version, found.note) == ("11.4", f"driven by PyCUDA 2026.1; {pycuda.NO_GRAPHS}")


def test_an_unknown_backend_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="choose one of auto, tensorrt, "):
        select.open_session(Path("a.onnx"), "vulkan")


class TestGpus:
    def test_none_without_a_driver(self) -> None:
        assert gpus(SimpleNamespace(cuInit=lambda flags: 100)) == []

    def test_what_the_driver_tells(self) -> None:
        found = gpus(_Driver())
        assert [(gpu.sm, gpu.driver, gpu.name, gpu.memory) for gpu in found] == [(86, 12040, "Fake 0", 2**33), (86, 12040, "Fake 1", 2**33)]
        assert str(found[0]) == "Fake 0 (8 GiB, compute capability 8.6, driver for CUDA 12.4)"


class _Driver:
    """What `gpus` calls of the driver's library, by way of ctypes pointers."""

    def cuInit(self, flags: int) -> int:  # noqa: N802 - CUDA's names
        return 0

    def cuDeviceGetCount(self, count: Any) -> int:  # noqa: N802
        count._obj.value = 2
        return 0

    def cuDriverGetVersion(self, driver: Any) -> int:  # noqa: N802
        driver._obj.value = 12040
        return 0

    def cuDeviceGet(self, device: Any, ordinal: int) -> int:  # noqa: N802
        device._obj.value = ordinal
        return 0

    def cuDeviceGetAttribute(self, value: Any, attribute: int, device: Any) -> int:  # noqa: N802
        value._obj.value = {75: 8, 76: 6}[attribute]
        return 0

    def cuDeviceTotalMem_v2(self, memory: Any, device: Any) -> int:  # noqa: N802
        memory._obj.value = 2**33
        return 0

    def cuDeviceGetName(self, name: Any, length: int, device: Any) -> int:  # noqa: N802
        name.value = f"Fake {device.value}".encode()
        return 0


class _Ort:
    """ONNX Runtime with other providers than the one installed: a session of it is the real one on the processor."""

    __version__ = "1.32"

    def __init__(self, available: list[str], taken: list[str] | None = None) -> None:
        self._real = _LOAD()
        self.SessionOptions = self._real.SessionOptions
        self.copied: list[tuple[str, int]] = []
        self.OrtValue = SimpleNamespace(ortvalue_from_numpy=self._to_device)
        self._available, self._taken = available, taken
        self.providers: list[Any] = []

    def get_available_providers(self) -> list[str]:
        return self._available

    def _to_device(self, array: Any, device: str, ordinal: int) -> Any:
        self.copied.append((device, ordinal))
        return self._real.OrtValue.ortvalue_from_numpy(array.copy(), "cpu", 0)

    def InferenceSession(self, path: str, options: Any, providers: list[Any]) -> Any:  # noqa: N802 - its name
        self.providers = providers
        session = self._real.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        taken = self._taken or [providers[0][0]]
        session.get_providers = lambda: taken
        return session


def _raise(error: Exception) -> Any:
    def call(*arguments: Any) -> Any:
        raise error

    return call
