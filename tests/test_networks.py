"""Where networks run, and what a user is told of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from realtime import networks
from realtime.backends import cuda, engine, place
from realtime.backends.base import TensorSpec
from realtime.backends.gpus import Gpu
from realtime.backends.place import ANYWHERE, Place
from realtime.builder import manifest
from realtime.errors import BackendError, UsageError
from realtime.models.records import sha256_of
from realtime.networks import Networks, places
from tests.backends.gpu import FakeDriver, Result
from tests.backends.graphs import affine
from tests.backends.library import FakeTensorRt

GPU = Gpu(89, 12040, "Fake GPU", 1_000_000)
Here = Callable[..., None]


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Here:
    """`here(2)`: as many GPUs."""

    def these(count: int, gpu: Gpu = GPU) -> None:
        for module in (networks, place):
            monkeypatch.setattr(module, "gpus", lambda: [gpu] * count)

    return these


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    """With TensorRT 11.4 whose every engine computes y = x, or takes frames when it was made so."""
    driver = FakeDriver(2)
    specs = [TensorSpec(name, (1, 4), np.dtype(np.float32)) for name in "xyz"]
    plain = FakeTensorRt(driver, specs[:1], specs[1:], lambda feeds: {"y": 2 * feeds["x"] + 1, "z": -feeds["x"]})
    monkeypatch.setattr(engine, "import_module", lambda name: plain)
    monkeypatch.setattr(cuda, "load", lambda: driver)
    monkeypatch.setattr(cuda, "version", lambda: "13.5")
    return driver


def _built(folder: Path, name: str, onnx: Path, **changes: Any) -> manifest.Entry:
    path = folder / f"{name}.tensorrt.fp16.01234567.engine"
    path.write_bytes(b"engine")
    entry = manifest.Entry(
        target="tensorrt",
        precision="fp16",
        arithmetic="f16",
        file=path.name,
        sha256=sha256_of(path),
        bytes=6,
        onnx_sha256=sha256_of(onnx),
        library="tensorrt",
        version="11.4",
        device={"compute_capabilities": [89], "driver": 12040},
        inputs=[],
        outputs=[],
        gate={"verdict": "passed", "ms": 1.0},
        build_seconds=1.0,
        built_at="",
        chosen=True,
        tried=["fp16"],
    )
    entry = dataclasses.replace(entry, **changes)
    manifest.write(folder, name, [entry])
    return entry


@pytest.fixture
def onnx(tmp_path: Path) -> Path:
    return affine(tmp_path / "net.onnx")


def _networks(tmp_path: Path, backend: str = "auto", place: Place = ANYWHERE) -> Networks:
    return Networks(backend, tmp_path, tmp_path / "cache", place)


class TestPlaces:
    def test_the_processor_only(self) -> None:
        following, swapping = places("cpu", 0.5, 3)
        assert following.processor_only and swapping.processor_only and following.share is None

    def test_two_gpus_have_a_budget_each(self, here: Here) -> None:
        here(2)
        following, swapping = places("0,1", 0.8, 4)
        assert (following.gpu, swapping.gpu, following.share, swapping.budget.limit) == (0, 1, 200_000, 800_000)
        assert following.budget is not swapping.budget

    def test_one_gpu_has_one_budget(self, here: Here) -> None:
        here(1)
        following, swapping = places("auto", 0.5, 4)
        assert following.budget is swapping.budget and following.budget.limit == 500_000

    def test_a_gpu_that_is_not_there(self, here: Here) -> None:
        here(2)
        with pytest.raises(UsageError, match="there is no GPU 3 for --device: this machine has 0: Fake GPU, 1: Fake GPU"):
            places("0,3", None, 1)


class TestOpening:
    def test_an_engine_that_fits(self, here: Here, driver: FakeDriver, tmp_path: Path, onnx: Path) -> None:
        here(1)
        _built(tmp_path, "net", onnx)
        opener = _networks(tmp_path)
        with opener.open("net", onnx) as session:
            assert session.backend == "tensorrt Fake GPU 0 fp16"
            assert session.run({"x": np.ones((1, 4), np.float32)})["y"][0, 0] == 3
        assert opener.remarks() == []

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"device": {"compute_capabilities": [75], "driver": None}}, "compute capability 75 and this GPU has 89"),
            ({"device": {"compute_capabilities": [89], "driver": 12000}}, "with a driver for CUDA 12.0"),
            ({"version": "10.0"}, "with tensorrt 10.0 and this is 11.4"),
            ({"sha256": "0" * 64}, "was altered or is incomplete"),
        ],
    )
    def test_one_that_does_not_fit_is_told_once_for_all(
        self, changes: dict[str, Any], words: str, here: Here, driver: FakeDriver, tmp_path: Path, onnx: Path
    ) -> None:
        here(1)
        opener = _networks(tmp_path)
        for name in ("a", "b"):
            _built(tmp_path, name, onnx, **changes)
            instead = opener.open(name, onnx).backend
            assert instead.startswith(("openvino cpu", "onnxruntime cpu"))
        (said,) = opener.remarks()
        assert said.startswith(f"not using a built engine, a runs on {instead}: the engine a.tensorrt") and words in said
        assert f"run `python -m realtime engines --models {onnx} --engines {tmp_path}`; the same goes for b" in said

    def test_the_gpu_that_is_named_is_the_one_that_the_engine_must_be_for(
        self, driver: FakeDriver, tmp_path: Path, onnx: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for module in (networks, place):
            monkeypatch.setattr(module, "gpus", lambda: [Gpu(75, 12040, "Fake GPU", 1_000), GPU])
        assert [each.budget.limit for each in places("0,1", 0.5, 1)] == [500, 500_000]
        _built(tmp_path, "net", onnx)
        first, second = (_networks(tmp_path, place=Place(number)) for number in (0, 1))
        with second.open("net", onnx) as session:
            assert session.backend == "tensorrt Fake GPU 1 fp16" and second.remarks() == []
        named = _networks(tmp_path, "tensorrt")
        for refusing in (first, named):
            with pytest.raises(BackendError, match=r"was built for compute capability 89 and this GPU has 75: run `python -m realtime eng"):
                refusing.open("net", onnx)

    def test_a_gpu_without_memory_falls_back_and_says_so(self, here: Here, driver: FakeDriver, tmp_path: Path, onnx: Path) -> None:
        here(1)
        _built(tmp_path, "net", onnx)
        driver.fail = {"cuMemAlloc": Result.CUDA_ERROR_OUT_OF_MEMORY}
        opener = _networks(tmp_path)
        assert " cpu " in opener.open("net", onnx).backend
        assert "CUDA_ERROR_OUT_OF_MEMORY" in opener.remarks()[0] and len(opener.remarks()) == 1
        assert driver.contexts == 0

    def test_a_backend_that_was_asked_for_is_never_exchanged(self, here: Here, driver: FakeDriver, tmp_path: Path, onnx: Path) -> None:
        here(1)
        with pytest.raises(BackendError, match=r"none was built of net\.onnx"):
            _networks(tmp_path, "tensorrt").open("net", onnx)
        with pytest.raises(BackendError):
            _networks(tmp_path, place=Place(gpu=0)).open("net", onnx)

    def test_a_gpu_that_is_not_used_is_told_with_what_to_do(self, here: Here, tmp_path: Path, onnx: Path) -> None:
        here(1)
        opener = _networks(tmp_path)
        opener.open("net", onnx)
        (said,) = opener.remarks()
        assert said.startswith("net runs on the processor though there is a GPU, Fake GPU: run `pip install")

    def test_one_of_several_that_is_beside_the_gpu_is_named(self, here: Here, driver: FakeDriver, tmp_path: Path, onnx: Path) -> None:
        here(1)
        _built(tmp_path, "net", onnx)
        opener = _networks(tmp_path)
        opener.open("net", onnx).close()
        opener.open("swap", onnx)
        assert [said.split(":")[0] for said in opener.remarks()] == ["swap runs on the processor though there is a GPU, Fake GPU"]

    def test_a_named_backend_of_the_processor_looks_at_no_others_engines(
        self, here: Here, driver: FakeDriver, tmp_path: Path, onnx: Path
    ) -> None:
        here(1)
        _built(tmp_path, "net", onnx)
        _built(tmp_path, "follow", onnx, onnx_sha256=manifest.fingerprint([onnx], "follow"))
        opener = _networks(tmp_path, "onnxruntime")
        assert opener.open("net", onnx).backend.startswith("onnxruntime cpu")
        assert opener.open_follow(onnx) is None and opener.remarks() == [] and driver.calls == []

    @pytest.mark.parametrize(("count", "backend", "place"), [(0, "auto", Place()), (1, "auto", Place(processor_only=True))])
    def test_nothing_is_said_where_the_processor_is_right(
        self, count: int, backend: str, place: Place, here: Here, tmp_path: Path, onnx: Path
    ) -> None:
        here(count)
        opener = _networks(tmp_path, backend, place)
        opener.open("net", onnx)
        assert opener.remarks() == []

    def test_the_processor_only_does_not_look_at_engines_of_gpus(self, here: Here, driver: FakeDriver, tmp_path: Path, onnx: Path) -> None:
        here(1)
        _built(tmp_path, "net", onnx)
        opener = _networks(tmp_path, place=Place(processor_only=True))
        assert " cpu " in opener.open("net", onnx).backend
        assert opener.remarks() == [] and driver.calls == []

    def test_a_limit_on_memory_that_nothing_heeds_is_told(self, here: Here, tmp_path: Path, onnx: Path) -> None:
        here(0)
        opener = _networks(tmp_path)
        opener.open("net", onnx)
        assert opener.remarks(0.5) == ["--gpu-memory-fraction: nothing runs on a GPU"]

        class DirectMl:
            backend = "onnxruntime directml fp32"

        opener.opened = {"net": DirectMl()}  # type: ignore[dict-item]
        assert opener.remarks(0.5) == ["--gpu-memory-fraction: directml cannot be limited and takes what it needs"]

    def test_a_limit_on_memory_is_heeded(self, here: Here, driver: FakeDriver, tmp_path: Path, onnx: Path) -> None:
        here(1)
        _built(tmp_path, "net", onnx)
        opener = _networks(tmp_path, place=places("auto", 0.0001, 1)[0])
        assert " cpu " in opener.open("net", onnx).backend
        assert "raise --gpu-memory-fraction" in opener.remarks(0.0001)[0]


class TestFollow:
    def test_none_where_none_was_built(self, here: Here, driver: FakeDriver, tmp_path: Path, onnx: Path) -> None:
        here(1)
        opener = _networks(tmp_path)
        assert opener.open_follow(onnx) is None and opener.remarks() == []

    def test_its_engine_takes_frames(
        self, here: Here, driver: FakeDriver, tmp_path: Path, onnx: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        here(1)
        inputs = [TensorSpec("frame", (-1, -1, 3), np.dtype(np.uint8)), TensorSpec("region", (4,), np.dtype(np.float32))]
        outputs = [TensorSpec("presence", (1,), np.dtype(np.float32))]
        library = FakeTensorRt(driver, inputs, outputs, lambda feeds: {"presence": feeds["frame"].max(keepdims=True)[0, 0]})
        monkeypatch.setattr(engine, "import_module", lambda name: library)
        _built(tmp_path, "follow", onnx, onnx_sha256=manifest.fingerprint([onnx], "follow"))
        session = _networks(tmp_path).open_follow(onnx)
        assert session is not None
        with session:
            assert session.run(np.full((4, 6, 3), 9, np.uint8))["presence"][0] == 9

    def test_one_around_a_swap_network_goes_by_its_name_and_is_made_of_both(
        self, here: Here, driver: FakeDriver, tmp_path: Path, onnx: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        here(1)
        swap = tmp_path / "swap.onnx"
        swap.write_bytes(b"swap")
        specs = [TensorSpec("frame", (-1, -1, 3), np.dtype(np.uint8)), TensorSpec("latent", (1, 4), np.dtype(np.float32))]
        library = FakeTensorRt(
            driver, specs, [TensorSpec("sum", (1,), np.dtype(np.float32))], lambda feeds: {"sum": feeds["latent"].sum(1)}
        )
        monkeypatch.setattr(engine, "import_module", lambda name: library)
        _built(tmp_path, "follow_swap-swap", swap, onnx_sha256=manifest.fingerprint([onnx, swap], "follow_swap"))
        opener = _networks(tmp_path)
        session = opener.open_follow_swap(onnx, "swap", swap)
        assert session is not None and opener.open_follow_swap(onnx, "other", swap) is None and opener.remarks() == []
        with session:
            session.inputs["latent"][...] = 2
            assert session.run(np.zeros((4, 6, 3), np.uint8))["sum"][0] == 8
        made_of = manifest.fingerprint([onnx, swap], "follow_swap")
        _built(tmp_path, "follow_swap-swap", swap, onnx_sha256=made_of, gate={"verdict": "passed", "ms": 35.0})
        assert opener.open_follow_swap(onnx, "swap", swap) is None
        assert "follow_swap-swap takes 35 ms a frame" in opener.remarks()[0]
        assert opener.open_follow_swap(swap, "swap", onnx) is None
        assert "another version of the model" in opener.remarks()[0]
        assert f"--models follow_swap:{onnx} --engines" in opener.remarks()[0]

    def test_a_graph_of_an_earlier_version_of_the_program_is_refused_and_the_mesh_follows_alone(
        self, here: Here, driver: FakeDriver, tmp_path: Path, onnx: Path
    ) -> None:
        here(1)
        _built(tmp_path, "follow", onnx, onnx_sha256=f"{sha256_of(onnx)}+{'0' * 64}")
        opener = _networks(tmp_path)
        assert opener.open_follow(onnx) is None
        cure = f"run `python -m realtime engines --models follow --engines {tmp_path}`"
        assert f"was made by another version of this program: {cure}" in opener.remarks()[0]

    def test_an_engine_of_another_model_is_refused(self, here: Here, driver: FakeDriver, tmp_path: Path, onnx: Path) -> None:
        here(1)
        _built(tmp_path, "follow", onnx, onnx_sha256="0")
        opener = _networks(tmp_path)
        assert opener.open_follow(onnx) is None
        assert "another version of the model" in opener.remarks()[0]
