"""The script for machines with a GPU, run where there is none: on a driver and a TensorRT that are stand-ins, computing on ONNX Runtime."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import onnx
import pytest

from realtime.backends import cuda, engine, place
from realtime.backends.base import TensorSpec, UnavailableError
from realtime.backends.gpus import Gpu, gpus
from realtime.backends.onnxruntime import load
from realtime.builder import prepare, quantise
from realtime.builder.contract import Contract
from realtime.builder.wrap import wrap
from realtime.models.store import ModelStore
from tests.backends.gpu import FakeDriver
from tests.backends.library import FakeTensorRt
from tests.twins.inswapper import random_twin

SCRIPT = Path(__file__).parents[2] / "scripts" / "gpu_check.py"


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """`gpu_check`, which runs the checks."""
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    return importlib.import_module("gpu_check")


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """`gpu_checks`, with small frames and few runs."""
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    module = importlib.import_module("gpu_checks")
    monkeypatch.setattr(module, "SIZES", {"small": (48, 64), "smaller": (40, 60)})
    monkeypatch.setattr(module, "timed", lambda call, runs=2: [call() for _ in range(runs)] and 1.0)
    return module


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch, script: ModuleType) -> FakeDriver:
    driver = FakeDriver()
    monkeypatch.setattr(cuda, "load", lambda: driver)
    monkeypatch.setattr(place, "gpus", lambda: [Gpu(89, 12040, "Fake GPU", 2**33)])
    monkeypatch.setattr(script, "has_gpu", lambda: True)
    return driver


class _Target:
    """Builds "engines" whose library runs the ONNX file on ONNX Runtime, a little wrong if `off`."""

    lack = ""
    """Why it builds nothing for this GPU."""

    def __init__(self, driver: FakeDriver, monkeypatch: pytest.MonkeyPatch, rtx: bool, off: float = 0.0, capturable: bool = True) -> None:
        self._driver, self._monkeypatch, self._rtx, self._off, self._capturable = driver, monkeypatch, rtx, off, capturable

    def version(self) -> str:
        return "11.4"

    def unfit(self) -> str:
        return self.lack

    def build(self, source: Path, precision: str, engine_file: Path, sm: Any, shapes: Any, cache: Path) -> None:
        engine_file.write_bytes(b"engine")
        session = load().InferenceSession(str(source), providers=["CPUExecutionProvider"])
        names = [port.name for port in session.get_outputs()]

        def network(feeds: Any) -> dict[str, Any]:
            found = session.run(names, {name: np.ascontiguousarray(value) for name, value in feeds.items()})
            return {name: value + np.asarray(self._off, value.dtype) for name, value in zip(names, found, strict=True)}

        model = onnx.load(source)
        library = FakeTensorRt(self._driver, _specs(model.graph.input), _specs(model.graph.output), network, rtx=self._rtx)
        library.capturable = self._capturable
        self._monkeypatch.setattr(engine, "import_module", lambda name: library)


def _specs(ports: Any) -> list[TensorSpec]:
    found = []
    for port in ports:
        kind = port.type.tensor_type
        shape = tuple(dim.dim_value if dim.HasField("dim_value") else -1 for dim in kind.shape.dim)
        found.append(TensorSpec(port.name, shape, np.dtype(onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type))))
    return found


def test_the_layer(script: ModuleType, driver: FakeDriver, tmp_path: Path) -> None:
    rows = list(script.check_layer("cuda-bindings")(tmp_path))
    assert [(row.case, row.ok) for row in rows] == [
        (f"{size} {what}", True) for size in ("small", "smaller") for what in ("there and back", "upload", "as a graph")
    ]
    assert driver.alive == {} and driver.contexts == 0


def test_a_run_without_a_tensorrt(script: ModuleType, driver: FakeDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On an engine of copies: every frame comes back, two graphs are made for each size, the next frame goes up beside the launch."""
    monkeypatch.setitem(sys.modules, "tensorrt", None)
    monkeypatch.setattr(script.gpu_copies, "SCRATCH", 4096)
    rows = list(script.check_copies(tmp_path))
    assert all(row.ok for row in rows), [row for row in rows if not row.ok]
    cases = [row.case for row in rows if row.case.endswith(": right")]
    assert cases == [f"{size}, graphs {graphs}: right" for graphs in ("off", "own") for size in ("small", "smaller", "small")]
    assert [row.value for row in rows if "graphs made" in row.case] == [0, 0, 0, 2, 2, 2]
    assert driver.alive == {} and driver.contexts == 0 and driver.count("cuGraphLaunch") > 0


def test_a_run_that_mixes_frames_up_is_wrong(
    script: ModuleType, driver: FakeDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tensorrt", None)
    monkeypatch.setattr(script.gpu_copies, "SCRATCH", 4096)
    monkeypatch.setattr(driver, "cuStreamWaitEvent", lambda *_: (0,))  # nobody waits for an upload
    rows = list(script.check_copies(tmp_path))
    assert {row.ok for row in rows if row.case.endswith(": right")} == {False}


@pytest.mark.parametrize("rtx", [False, True])
def test_a_network(rtx: bool, script: ModuleType, driver: FakeDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    onnx.save(random_twin(32, 8, 4), tmp_path / "swap.onnx")
    monkeypatch.setattr(script, "networks", lambda work: {"swap": tmp_path / "swap.onnx"})
    monkeypatch.setattr(script, "target", lambda library: _Target(driver, monkeypatch, rtx))
    rows = list(script.check_network("tensorrt", "swap")(tmp_path))
    assert all(row.ok for row in rows), rows
    assert [row.case for row in rows if row.case.startswith("fp16")] == ["fp16: build"] + [
        f"fp16, graphs {graphs}: {what}" for graphs in ("off", "own", "library") for what in ("difference", "run")
    ]
    assert driver.alive == {} and driver.contexts == 0


def test_a_network_that_computes_something_else_is_wrong(
    script: ModuleType, runner: ModuleType, driver: FakeDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    onnx.save(random_twin(32, 8, 4), tmp_path / "swap.onnx")
    monkeypatch.setattr(script, "networks", lambda work: {"swap": tmp_path / "swap.onnx"})
    monkeypatch.setattr(script, "target", lambda library: _Target(driver, monkeypatch, False, off=0.5))
    rows = list(script.check_network("tensorrt", "swap")(tmp_path))
    assert [row.ok for row in rows if "difference" in row.case] == [False] * 9
    assert runner.verdict(rows) == 1


@pytest.mark.parametrize("graph", ["follow", "follow_swap"])
def test_a_path(graph: str, script: ModuleType, driver: FakeDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    onnx.save(random_twin(128, 512, 4), tmp_path / "swap.onnx")
    real = script.networks
    monkeypatch.setenv("REALTIME_MODELS", str(tmp_path / "none"))
    monkeypatch.setattr(script, "networks", lambda work: {**real(work), "swap": tmp_path / "swap.onnx"})
    monkeypatch.setattr(script, "target", lambda library: _Target(driver, monkeypatch, True))
    monkeypatch.setattr(script, "PRECISIONS", ("fp32",))
    monkeypatch.setattr(script, "SIZES", {"small": (48, 64)})
    monkeypatch.setattr(script, "GRAPHS", ("own",))
    frames = script.some_frames((48, 64))[:2]
    monkeypatch.setattr(script, "some_frames", lambda size: frames)
    rows = list(script.check_path("tensorrt-rtx", graph)(tmp_path))
    assert all(row.ok for row in rows), [row for row in rows if not row.ok]
    cases = [row.case for row in rows if row.case.startswith("fp32 small, graphs own")]
    assert [case.partition(": ")[2] for case in cases] == ["difference", "frame", "frame, next uploaded beside it", "same frame again"]
    assert driver.alive == {} and driver.contexts == 0 and driver.count("cuGraphLaunch") > 0


def test_a_graph_that_cannot_be_captured_is_told(
    script: ModuleType, driver: FakeDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else its time would pass for that of a graph."""
    onnx.save(random_twin(32, 8, 4), tmp_path / "swap.onnx")
    monkeypatch.setattr(script, "networks", lambda work: {"swap": tmp_path / "swap.onnx"})
    monkeypatch.setattr(script, "target", lambda library: _Target(driver, monkeypatch, True, capturable=False))
    monkeypatch.setattr(script, "PRECISIONS", ("fp32",))
    rows = [row for row in script.check_network("tensorrt-rtx", "swap")(tmp_path) if row.case.startswith("fp32, ") and row.note]
    assert [(row.case, row.ok) for row in rows] == [("fp32, graphs own: run", True)] and "cannot be captured" in rows[0].note


def test_a_gpu_that_the_library_has_no_code_for_is_told(
    script: ModuleType, runner: ModuleType, driver: FakeDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As TensorRT-RTX on GPUs of data centres: it builds for another, runs nothing, and nothing is wrong."""
    onnx.save(random_twin(32, 8, 4), tmp_path / "swap.onnx")
    monkeypatch.setattr(script, "networks", lambda work: {"swap": tmp_path / "swap.onnx"})
    made = _Target(driver, monkeypatch, True)
    made.lack = "tensorrt_rtx builds nothing for compute capability 90, which H200 has"
    monkeypatch.setattr(script, "target", lambda library: made)
    rows = list(script.check_network("tensorrt-rtx", "swap")(tmp_path))
    assert [(row.case, row.ok) for row in rows] == [(f"{precision}: build", None) for precision in ("fp32", "fp16", "int8")]
    assert all(row.note == f"built for compute capability 86; could not run: {made.lack}" for row in rows)
    monkeypatch.setattr("realtime.backends.gpus.gpus", lambda: [Gpu(90, 12040)])
    assert runner.verdict(rows) == 0


def test_without_what_drives_the_gpu_it_builds_and_says_what_could_not_run(
    script: ModuleType, driver: FakeDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TensorRT alone, neither cuda-bindings nor PyCUDA: nothing is wrong."""
    onnx.save(random_twin(32, 8, 4), tmp_path / "swap.onnx")
    monkeypatch.setattr(script, "networks", lambda work: {"swap": tmp_path / "swap.onnx"})
    monkeypatch.setattr(script, "target", lambda library: _Target(driver, monkeypatch, False))
    monkeypatch.setattr(script, "PRECISIONS", ("fp32",))

    def missing() -> None:
        raise UnavailableError("cuda-bindings cannot be loaded: install it with `pip install cuda-bindings`.")

    monkeypatch.setattr(cuda, "load", missing)
    rows = list(script.check_network("tensorrt", "swap")(tmp_path))
    assert {row.ok for row in rows if "build" in row.case} == {True}
    assert {(row.ok, "cuda-bindings" in row.note) for row in rows if "build" not in row.case} == {(None, True)}


@pytest.mark.models
def test_lower_precisions_by_themselves_stay_far_within_the_tolerances(
    models: ModelStore, script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a GPU does otherwise has to be told from what half precision does. On noise, where there is no face, it could not."""
    monkeypatch.setenv("REALTIME_MODELS", str(models.folder))
    mesh, size = script.networks(tmp_path)["mesh"], (480, 854)
    half, whole = tmp_path / "half.onnx", tmp_path / "follow.onnx"
    prepare.fp16(mesh, half, [])
    wrap("follow", [half], Contract(), whole)
    feeds = {"frame": script.some_frames(size)[0], **script.small_feeds("follow", size)}
    truth = script.on_processor(script.graph_file("follow", [mesh], tmp_path), feeds)
    assert truth["presence"][0] > 0.99, "the region is that of the face"
    assert script.difference(script.on_processor(whole, feeds), truth) < script.TOLERANCE["fp16"] / 10
    quantised, feeds = tmp_path / "int8.onnx", script.feeds_of("mesh", mesh)
    quantise.int8(mesh, quantised, [feeds])
    assert script.difference(script.on_processor(quantised, feeds), script.on_processor(mesh, feeds)) < script.TOLERANCE["int8"] / 5


@pytest.mark.skipif(bool(gpus()), reason="there is a GPU")
def test_without_a_gpu_it_says_so_and_ends_with_two(tmp_path: Path) -> None:
    told = tmp_path / "rows.json"
    command = [sys.executable, str(SCRIPT), "--only", "cuda-bindings", "--json", str(told)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert "There is no NVIDIA GPU here" in done.stdout and "could not run: cuda-bindings" in done.stdout
    assert "Traceback" not in done.stderr
    content = json.loads(told.read_text("utf-8"))
    assert [row["ok"] for row in content["rows"]] == [None] and content["machine"]["gpus"] == []
    assert (content["could not run"], content["wrong"], content["not begun"]) == (["cuda-bindings"], [], [])


def test_the_file_says_what_was_wrong_and_what_was_not_begun(runner: ModuleType, script: ModuleType, tmp_path: Path) -> None:
    """A machine that is taken away in the middle leaves that."""
    rows = [script.Row("a", "one", 1.0, "ms"), script.Row("a", "two", ok=False), script.Row("b", "", ok=None, note="no b here")]
    runner.keep(rows, ["c", "d"], tmp_path / "new" / "rows.json")
    content = json.loads((tmp_path / "new" / "rows.json").read_text("utf-8"))
    assert (content["could not run"], content["wrong"], content["not begun"]) == (["b"], ["a two"], ["c", "d"])


_BARE = """
import importlib.abc, os, sys
class Without(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in os.environ["WITHOUT"].split(","):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Without())
"""


@pytest.mark.skipif(bool(gpus()), reason="there is a GPU")
def test_a_machine_that_lacks_most_packages_checks_what_it_can(tmp_path: Path) -> None:
    """Even the table has to do without."""
    (tmp_path / "sitecustomize.py").write_text(_BARE)
    lacking = "cv2,llvmlite,numba,onnx,onnxruntime,platformdirs,psutil,rich"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(SCRIPT.parents[1])]), "WITHOUT": lacking}
    command = [sys.executable, str(SCRIPT), "--only", "c"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "wrong" not in done.stdout, done.stdout + done.stderr
    told = [line for line in done.stdout.splitlines() if ": - could not run" in line]
    assert len(told) == 4, done.stdout
    assert any("onnxruntime cuda" in line and "is not installed: run `pip install .` in" in line for line in told)
    assert any("engine of copies" in line and "is not installed: run" not in line for line in told), "it needs none of these"


def test_a_check_that_crashes_costs_its_own_rows_only(runner: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crash = tmp_path / "crash.py"
    crash.write_text("import os, sys; print('driver fell over', file=sys.stderr); os._exit(139)")
    monkeypatch.setattr(runner, "__file__", str(crash))
    (tmp_path / "x.rows").write_text(json.dumps({"check": "x", "case": "one", "value": 1.0, "unit": "ms", "ok": True, "note": ""}) + "\n")
    rows = runner.run_check("x", tmp_path, 60.0)
    assert [(row.case, row.ok) for row in rows] == [("one", True), ("", False)]
    assert rows[1].note == "ended with 139: driver fell over"
    assert runner.run_check("x", tmp_path, 4.0)[0].note == "no time was left"
    crash.write_text("import time; time.sleep(60)")
    monkeypatch.setattr(runner, "LEAST", 0.1)
    assert runner.run_check("x", tmp_path, 1.0)[1] == runner.Row("x", "", ok=None, note="stopped after 1 seconds")


_COPIES = """
import sys
sys.path[:0] = ["scripts"]
import gpu_checks, gpu_copies
from pathlib import Path
gpu_checks.SIZES = {"small": (48, 64), "smaller": (40, 60)}
gpu_copies.SCRATCH = 4096
for row in gpu_checks.check_copies(Path(sys.argv[1])):
    print(row.ok, row.case)
"""


@pytest.mark.skipif(importlib.util.find_spec("cuda") is None, reason="cuda-bindings is not installed: pip install cuda-bindings")
@pytest.mark.skipif(not sys.platform.startswith("linux") or shutil.which("cc") is None, reason="needs Linux and a C compiler")
@pytest.mark.skipif(bool(gpus()), reason="there is a GPU")
def test_a_run_without_a_tensorrt_through_the_real_package(tmp_path: Path) -> None:
    """As `tests/backends/test_cuda.py` has it: the driver's library is a stand-in."""
    root = SCRIPT.parents[1]
    source = root / "tests" / "backends" / "libcuda.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(tmp_path / "libcuda.so.1"), str(source), "-ldl"], check=True)
    environment = os.environ | {"LD_LIBRARY_PATH": str(tmp_path)}
    command = [sys.executable, "-c", _COPIES, str(tmp_path)]
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = done.stdout.splitlines()
    assert len(told) == 36 and all(line.startswith("True ") for line in told), done.stdout
