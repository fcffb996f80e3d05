"""Real engines where TensorRT-RTX is installed (it needs no GPU for that), and libraries of other abilities by stand-ins."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

from realtime.builder import manifest
from realtime.builder.machine import Gpu, gpu
from realtime.builder.model import State
from realtime.builder.recipes import Network, Recipe
from realtime.builder.run import Plan, WriteScenes, build
from realtime.builder.targets import tensorrt
from realtime.errors import BackendError
from realtime.models.store import ModelStore
from tests.builder.conftest import network

real = pytest.mark.skipif(
    importlib.util.find_spec("tensorrt_rtx") is None, reason="TensorRT-RTX is not installed: pip install tensorrt-rtx"
)
without_gpu = pytest.mark.skipif(gpu() is not None, reason="there is a GPU, which would be built for")


@real
@without_gpu
def test_builds_every_precision_for_two_generations(twin: Path, tmp_path: Path, write_scenes: WriteScenes) -> None:
    plan = Plan((network(twin, "fp32", "fp16", "int8"),), "tensorrt-rtx", sm=(86, 89), jobs=2)
    rows = build(plan, tmp_path / "engines", write_scenes)
    assert [(row.state, row.reason) for row in rows] == [(State.PENDING, "not run: no GPU")] * 3
    entries = manifest.read(tmp_path / "engines", "twin")
    assert [entry.precision for entry in entries] == ["fp32", "fp16", "int8"]
    assert all(entry.device == {"compute_capabilities": [86, 89], "driver": None} and not entry.chosen for entry in entries)
    assert all((tmp_path / "engines" / entry.file).stat().st_size == entry.bytes > 10_000 for entry in entries)
    assert [row.reason for row in build(plan, tmp_path / "engines", write_scenes)] == ["up to date"] * 3


@real
@without_gpu
@pytest.mark.models
def test_builds_the_graph_around_the_mesh(models: ModelStore, tmp_path: Path, write_scenes: WriteScenes) -> None:
    follow = Network("follow", models.path("mesh"), "landmarker", Recipe(("fp32", "fp16", "int8"), graph="follow", of="mesh"))
    rows = build(Plan((follow,), "tensorrt-rtx", sm=(86, 89), jobs=2), tmp_path, write_scenes)
    assert [(row.state, row.reason) for row in rows] == [(State.PENDING, "not run: no GPU")] * 3
    ports = {port["name"]: (port["shape"], port["dtype"]) for port in manifest.read(tmp_path, "follow")[0].inputs}
    assert ports == {"frame": ([-1, -1, 3], "uint8"), "region": ([4], "float32")}


@real
def test_an_unsupported_operator_is_named(tmp_path: Path) -> None:
    path = tmp_path / "odd.onnx"
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Frob", ["x"], ["y"], domain="odd")], "odd", ports[:1], ports[1:])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("odd", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    with pytest.raises(BackendError, match="Frob"):
        tensorrt.make("tensorrt_rtx").build(path, "fp32", tmp_path / "odd.engine", (86,), {})


@real
def test_an_unknown_capability_lists_the_known(twin: Path, tmp_path: Path) -> None:
    with pytest.raises(BackendError, match=r"capability 50 is not among those it builds for: .*86"):
        tensorrt.make("tensorrt_rtx").build(twin, "fp32", tmp_path / "a.engine", (50,), {})


def test_a_missing_library_says_how_to_get_it() -> None:
    with pytest.raises(BackendError, match="pip install"):
        tensorrt.make("tensorrt_of_another_world").version()


class _Library:
    """Has what TensorRT has; `ahead` adds what only TensorRT-RTX has. Records what is asked of it."""

    __version__ = "11.4"

    class ILogger:
        Severity = SimpleNamespace(ERROR=1, INTERNAL_ERROR=0)

    def __init__(self, *, ahead: bool, typed_flag: bool, timing: bool) -> None:
        self.calls: list[tuple[str, Any]] = []
        self.NetworkDefinitionCreationFlag = SimpleNamespace(**({"STRONGLY_TYPED": 1} if typed_flag else {}))
        if ahead:
            self.ComputeCapability = SimpleNamespace(SM75=75, SM86=86)
        self._timing = timing

    def Builder(self, logger: Any) -> Any:  # noqa: N802 - TensorRT's name
        return SimpleNamespace(
            create_network=lambda flags: self._note("flags", flags, SimpleNamespace(num_inputs=1, get_input=self._input)),
            create_builder_config=self._config,
            create_optimization_profile=lambda: SimpleNamespace(set_shape=lambda *shapes: self._note("shapes", shapes)),
            build_serialized_network=lambda network, config: b"engine",
        )

    def OnnxParser(self, network: Any, logger: Any) -> Any:  # noqa: N802 - TensorRT's name
        return SimpleNamespace(parse_from_file=lambda path: True, num_errors=0)

    def _input(self, index: int) -> Any:
        return SimpleNamespace(name="x", shape=(-1, 3))

    def _config(self) -> Any:
        config = SimpleNamespace(
            add_optimization_profile=lambda profile: None,
            set_compute_capability=lambda capability, index: self._note("capability", (index, capability)),
        )
        if self._timing:
            config.create_timing_cache = lambda content: "cache"
            config.set_timing_cache = lambda cache, strict: self._note("timing cache", cache)
        return config

    def _note(self, what: str, value: Any, result: Any = None) -> Any:
        self.calls.append((what, value))
        return result


def _build(monkeypatch: pytest.MonkeyPatch, library: _Library, device: Gpu | None, path: Path, sm: tuple[int, ...] = ()) -> Any:
    monkeypatch.setattr(tensorrt, "import_module", lambda name: library)
    monkeypatch.setattr(tensorrt, "gpu", lambda: device)
    return tensorrt.make("any name").build(path, "fp32", path.with_suffix(".engine"), sm, {})


def test_a_library_that_builds_ahead_is_aimed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    library = _Library(ahead=True, typed_flag=True, timing=True)
    built = _build(monkeypatch, library, None, tmp_path / "a.onnx", (75, 86))
    assert library.calls == [("flags", 2), ("shapes", ("x", (1, 3), (1, 3), (1, 3))), ("capability", (0, 75)), ("capability", (1, 86))]
    assert built.device == {"compute_capabilities": [75, 86], "driver": None}
    assert (tmp_path / "a.engine").read_bytes() == b"engine"


def test_a_library_that_builds_on_the_gpu_uses_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    library = _Library(ahead=False, typed_flag=False, timing=True)
    built = _build(monkeypatch, library, Gpu(89, 12040), tmp_path / "a.onnx")
    assert ("flags", 0) in library.calls and ("timing cache", "cache") in library.calls
    assert built.device == {"compute_capabilities": [89], "driver": 12040}


def test_a_library_that_builds_on_the_gpu_says_that_there_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(BackendError, match="builds on the GPU itself and there is none here"):
        _build(monkeypatch, _Library(ahead=False, typed_flag=True, timing=True), None, tmp_path / "a.onnx")


def test_whether_engines_run_here(monkeypatch: pytest.MonkeyPatch) -> None:
    there = tensorrt.make("tensorrt")
    monkeypatch.setattr(tensorrt, "gpu", lambda: None)
    assert there.device_problem() == "no GPU"
    monkeypatch.setattr(tensorrt, "gpu", lambda: Gpu(89, 12040))
    monkeypatch.setattr(tensorrt, "device_layer", lambda: ("cuda-bindings 13", ""))
    assert there.device_problem() == ""

    def missing() -> Any:
        raise BackendError("cuda-bindings cannot be loaded: install it.")

    monkeypatch.setattr(tensorrt, "device_layer", missing)
    assert there.device_problem() == "cuda-bindings cannot be loaded: install it"


@real
def test_engines_take_the_memory_that_they_are_given(twin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A CUDA graph may not allocate: TensorRT-RTX has a flag for that, which every engine here must be built with."""
    import tensorrt_rtx

    real_config = tensorrt_rtx.Builder.create_builder_config
    configs: list[Any] = []

    def kept(builder: Any) -> Any:
        configs.append(real_config(builder))
        return configs[-1]

    monkeypatch.setattr(tensorrt_rtx.Builder, "create_builder_config", kept)
    tensorrt.make("tensorrt_rtx").build(twin, "fp32", tmp_path / "a.engine", (86,), {})
    assert configs[0].get_flag(tensorrt_rtx.BuilderFlag.REQUIRE_USER_ALLOCATION)
