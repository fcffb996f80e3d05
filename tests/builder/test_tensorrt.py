"""Real engines where TensorRT-RTX is installed (it needs no GPU for that), and libraries of other abilities by stand-ins."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from realtime.backends import engine
from realtime.backends.engine import EXTRAS
from realtime.backends.gpus import Gpu, first_gpu
from realtime.backends.onnxruntime import OnnxRuntimeSession
from realtime.builder import manifest, prepare, quantise
from realtime.builder.contract import Contract
from realtime.builder.recipes import DEFAULT_MODELS
from realtime.builder.run import Plan, WriteScenes, build
from realtime.builder.table import State
from realtime.builder.targets import tensorrt
from realtime.builder.wrap import GRAPHS, wrap
from realtime.errors import BackendError
from realtime.models.store import ModelStore
from realtime.types import Array
from tests.builder.conftest import around_swapper, network
from tests.twins.inswapper import full_twin

real = pytest.mark.skipif(
    importlib.util.find_spec("tensorrt_rtx") is None, reason="TensorRT-RTX is not installed: pip install tensorrt-rtx"
)
without_gpu = pytest.mark.skipif(first_gpu() is not None, reason="there is a GPU, which would be built for")


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


PRECISIONS = ("fp32", "fp16", "int8")


@real
@without_gpu
@pytest.mark.models
def test_builds_the_whole_path_around_a_swap_network(
    models: ModelStore, twin: Path, recogniser: Path, tmp_path: Path, write_scenes: WriteScenes
) -> None:
    """From two networks, each prepared apart, by way of the builder's children."""
    path = around_swapper(models.path("mesh"), twin, "int8")
    rows = build(Plan((path,), "tensorrt-rtx", sm=(86, 89), jobs=2, recogniser=recogniser), tmp_path, write_scenes)
    assert [(row.model, row.state, row.reason) for row in rows] == [("follow_swap-twin", State.PENDING, "not run: no GPU")]
    (entry,) = manifest.read(tmp_path, "follow_swap-twin")
    assert [(port["name"], port["shape"]) for port in entry.inputs] == [("frame", [-1, -1, 3]), ("region", [4]), ("latent", [1, 16])]
    assert {port["name"]: port["shape"] for port in entry.outputs}["patch"] == [64, 64, 3]
    assert entry.onnx_sha256 == manifest.fingerprint([models.path("mesh"), twin], "follow_swap")


Forms = Callable[[Path, str], Path]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Forms:
    """`prepared(network, precision)`: its file of that precision, made once."""
    folder, made = tmp_path_factory.mktemp("forms"), dict[tuple[Path, str], Path]()

    def prepare_once(network: Path, precision: str) -> Path:
        key = network, precision
        if precision == "fp32":
            return network
        if key not in made:
            made[key] = folder / f"{len(made)}.onnx"
            {"fp16": prepare.fp16, "int8": quantise.int8}[precision](network, made[key], [_sample(network)])
        return made[key]

    return prepare_once


def _sample(network: Path) -> dict[str, Array]:
    with OnnxRuntimeSession(network) as session:
        return {spec.name: np.random.default_rng(0).random(spec.shape, np.float32) for spec in session.specs.inputs}


def _engine(source: Path, precision: str, folder: Path, graph: str = "") -> int:
    """Bytes of the engine for two generations of GPUs, made in this process."""
    built = tensorrt.make("tensorrt_rtx").build(source, precision, folder / "a.engine", (86, 89), GRAPHS.get(graph, {}), folder)
    assert built.device["compute_capabilities"] == [86, 89]
    return (folder / "a.engine").stat().st_size


@real
@without_gpu
@pytest.mark.models
@pytest.mark.parametrize("precision", PRECISIONS)
class TestEveryPrecision:
    @pytest.mark.parametrize("name", DEFAULT_MODELS)
    def test_of_the_default_models(self, models: ModelStore, prepared: Forms, tmp_path: Path, name: str, precision: str) -> None:
        models.ensure((name,))
        assert _engine(prepared(models.path(name), precision), precision, tmp_path) > 50_000

    def test_of_the_graph_around_the_mesh(self, models: ModelStore, prepared: Forms, tmp_path: Path, precision: str) -> None:
        whole = tmp_path / "follow.onnx"
        wrap("follow", [prepared(models.path("mesh"), precision)], Contract(), whole)
        assert _engine(whole, precision, tmp_path, "follow") > 500_000

    def test_of_the_whole_path_around_a_small_inswapper(
        self, models: ModelStore, prepared: Forms, inswapper: Path, tmp_path: Path, precision: str
    ) -> None:
        mesh = prepared(models.path("mesh"), "fp16" if precision == "int8" else precision)
        whole = tmp_path / "follow_swap.onnx"
        wrap("follow_swap", [mesh, prepared(inswapper, precision)], Contract(), whole)
        assert _engine(whole, precision, tmp_path, "follow_swap") > 500_000


@pytest.fixture(scope="module")
def inswapper(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("twin") / "inswapper_128.onnx"
    onnx.save(full_twin(1 / 16), path)
    return path


@real
def test_an_unsupported_operator_is_named(tmp_path: Path) -> None:
    path = tmp_path / "odd.onnx"
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4]) for name in "xy"]
    nodes = [helper.make_node("Frob", ["x"], ["w"], domain="odd"), helper.make_node("Grub", ["w"], ["y"], domain="odd")]
    graph = helper.make_graph(nodes, "odd", ports[:1], ports[1:])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("odd", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    with pytest.raises(BackendError, match="does not support Frob, Grub"):
        tensorrt.make("tensorrt_rtx").build(path, "fp32", tmp_path / "odd.engine", (86,), {}, tmp_path)


@real
def test_an_operator_that_passes_the_parser_only_is_named(tmp_path: Path) -> None:
    path = tmp_path / "nms.onnx"
    ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n, shape in (("boxes", [1, 20, 4]), ("scores", [1, 1, 20]))]
    result = helper.make_tensor_value_info("kept", TensorProto.INT64, [None, 3])
    node = helper.make_node("NonMaxSuppression", ["boxes", "scores", "most"], ["kept"], name="suppress")
    most = numpy_helper.from_array(np.array([5], np.int64), "most")
    graph = helper.make_graph([node], "nms", ports, [result], [most])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    with pytest.raises(BackendError, match="it does not support NonMaxSuppression"):
        tensorrt.make("tensorrt_rtx").build(path, "fp32", tmp_path / "nms.engine", (86,), {}, tmp_path)


@real
def test_an_unknown_capability_lists_the_known(twin: Path, tmp_path: Path) -> None:
    with pytest.raises(BackendError, match=r"capability 50 is not among those it builds for: .*86"):
        tensorrt.make("tensorrt_rtx").build(twin, "fp32", tmp_path / "a.engine", (50,), {}, tmp_path)


@pytest.mark.parametrize("library", EXTRAS)
def test_a_missing_library_says_how_to_get_it(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)  # importing it fails from now on
    with pytest.raises(BackendError, match=rf"pip install 'realtime-faceswap\[{EXTRAS[library]}\]'"):
        tensorrt.make(library).version()


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
            config.create_timing_cache = lambda content: self._note("known timings", bytes(content), "cache")
            config.set_timing_cache = lambda cache, strict: self._note("timing cache", cache)
            config.get_timing_cache = lambda: SimpleNamespace(serialize=lambda: b"timings")
        return config

    def _note(self, what: str, value: Any, result: Any = None) -> Any:
        self.calls.append((what, value))
        return result


def _build(monkeypatch: pytest.MonkeyPatch, library: _Library, device: Gpu | None, path: Path, sm: tuple[int, ...] = ()) -> Any:
    monkeypatch.setattr(engine, "import_module", lambda name: library)
    monkeypatch.setattr(tensorrt, "first_gpu", lambda: device)
    path.parent.mkdir(exist_ok=True)
    return tensorrt.make("any name").build(path, "fp32", path.with_suffix(".engine"), sm, {}, path.parent)


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


def test_engines_for_other_gpus_name_no_driver(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The driver of the machine that they happen to be built on says nothing about the one that runs them."""
    for sm, driver in (((75, 86), None), ((75,), None), ((86,), 12040), ((), 12040)):
        built = _build(monkeypatch, _Library(ahead=True, typed_flag=True, timing=False), Gpu(86, 12040), tmp_path / "a.onnx", sm)
        assert built.device == {"compute_capabilities": list(sm) or [86], "driver": driver}


def test_a_gpu_that_a_library_has_no_code_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its engines cannot run here, and those that it makes are for the usual GPUs."""
    library, hopper = _Library(ahead=True, typed_flag=True, timing=False), Gpu(90, 12040, "H200")
    monkeypatch.setattr(tensorrt, "DEFAULT_SM", (75, 86))
    assert _build(monkeypatch, library, hopper, tmp_path / "a.onnx").device == {"compute_capabilities": [75, 86], "driver": None}
    assert tensorrt.make("any name").unfit() == "any name builds nothing for compute capability 90, which H200 has"
    for device, other in ((Gpu(86, 12040), library), (None, library), (hopper, _Library(ahead=False, typed_flag=True, timing=False))):
        monkeypatch.setattr(tensorrt, "first_gpu", lambda device=device: device)
        monkeypatch.setattr(engine, "import_module", lambda name, other=other: other)
        assert tensorrt.make("any name").unfit() == ""


def test_timings_are_kept_for_the_next_build(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    libraries = [_Library(ahead=False, typed_flag=True, timing=True) for _ in range(3)]
    for library, sm in zip(libraries, (89, 89, 75), strict=True):
        _build(monkeypatch, library, Gpu(sm, 12040), tmp_path / "caches" / "a.onnx")
    known = [dict(library.calls)["known timings"] for library in libraries]
    assert known == [b"", b"timings", b""]
    kept = sorted(path.name for path in (tmp_path / "caches").glob("*.timings"))
    assert kept == ["any name-11.4-sm75.timings", "any name-11.4-sm89.timings"]


def test_a_library_that_builds_on_the_gpu_says_that_there_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(BackendError, match="builds on the GPU itself and there is none here"):
        _build(monkeypatch, _Library(ahead=False, typed_flag=True, timing=True), None, tmp_path / "a.onnx")


def test_whether_engines_run_here(monkeypatch: pytest.MonkeyPatch) -> None:
    there = tensorrt.make("tensorrt")
    monkeypatch.setattr(tensorrt, "first_gpu", lambda: None)
    assert there.device_problem() == "no GPU"
    monkeypatch.setattr(tensorrt, "first_gpu", lambda: Gpu(89, 12040))
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
    tensorrt.make("tensorrt_rtx").build(twin, "fp32", tmp_path / "a.engine", (86,), {}, tmp_path)
    assert configs[0].get_flag(tensorrt_rtx.BuilderFlag.REQUIRE_USER_ALLOCATION)
