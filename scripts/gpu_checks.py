"""The checks of `gpu_check.py`: each is given a folder and yields rows, so that those before a crash are kept."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gpu_copies
from gpu_feeds import difference, feeds_of, on_processor, small_feeds, some_frames

SIZES = {"720p": (720, 1280), "1080p": (1080, 1920)}
LIBRARIES = ("tensorrt-rtx", "tensorrt")
PRECISIONS = ("fp32", "fp16")
GRAPHS = ("off", "own", "library")
"""`backends.engine.GraphUse`: none, ours around copies and execution, the library's."""
TOLERANCE = {"fp32": 0.01, "fp16": 0.03, "int8": 0.25}
"""Largest mean difference from the processor's fp32, over the range of its output. GPUs may multiply fp32 with ten bits (TF32)."""


@dataclass(frozen=True)
class Row:
    check: str
    case: str
    value: float | None = None
    unit: str = ""
    ok: bool | None = True
    """None: could not run."""
    note: str = ""


Rows = Iterator[Row]


def check_layer(which: str) -> Callable[[Path], Rows]:
    """Copies there and back, their speed, and a graph of them."""

    def run(work: Path) -> Rows:
        from realtime.backends import cuda, pycuda

        device = cuda.CudaDevice(cuda.load()) if which == "cuda-bindings" else pycuda.PyCudaDevice(pycuda.load())
        try:
            with device:
                for label, (height, width) in SIZES.items():
                    yield from _copies(which, device, label, height * width * 3)
        finally:
            device.close()

    return run


def _copies(check: str, device: Any, label: str, size: int) -> Rows:
    import numpy as np

    stream, memory, there, back = device.stream(), device.allocate(size, "a frame"), device.pinned(size), device.pinned(size)
    there[:] = np.random.default_rng(0).integers(0, 256, size, np.uint8)

    def copies() -> None:
        device.upload(memory, there, stream)
        device.download(back, memory, stream)

    copies()
    device.synchronise(stream)
    yield Row(check, f"{label} there and back", ok=bool((there == back).all()))
    yield Row(check, f"{label} upload", timed(lambda: (device.upload(memory, there, stream), device.synchronise(stream))), "ms")
    if device.graphs:
        back.fill(0)
        graph = device.capture(stream, copies)
        untouched = not back.any()
        device.launch(graph, stream)
        device.synchronise(stream)
        yield Row(check, f"{label} as a graph", ok=untouched and bool((there == back).all()))


def check_copies(work: Path) -> Rows:
    """Two frames on the GPU, a graph for each, the next upload beside the launch, another size: as in a run, without TensorRT."""
    import numpy as np

    from realtime.backends import cuda
    from realtime.backends.tensorrt import TensorRtFrames

    check, random, engine = "engine of copies", np.random.default_rng(0), work / "copies.engine"
    engine.write_bytes(b"copies")
    sys.modules["tensorrt"] = gpu_copies.library(cuda.load())
    for graphs in ("off", "own"):
        with TensorRtFrames(engine, "tensorrt", cuda.CudaDevice(cuda.load()), graphs=graphs) as session:
            for label in (*SIZES, next(iter(SIZES))):
                frames = [random.integers(0, 256, (*SIZES[label], 3), np.uint8) for _ in range(6)]
                case = f"{label}, graphs {graphs}"
                for word, ahead in (("right", False), ("right, next uploaded beside it", True)):
                    yield Row(check, f"{case}: {word}", ok=gpu_copies.right(session, frames, range(1, 13), ahead))
                made = session.captures
                yield Row(check, f"{case}: graphs made", made, "", made == (2 if graphs == "own" else 0))
                yield from _frame_times(check, case, session, frames)


def check_network(library: str, name: str) -> Callable[[Path], Rows]:
    """A network with fixed sizes: build, compare, time with our graphs, the library's, and none."""

    def run(work: Path) -> Rows:
        target(library).version()
        onnx = networks(work)[name]
        feeds = feeds_of(name, onnx)
        truth = on_processor(onnx, feeds)
        for precision in (*PRECISIONS, "int8"):
            engine, row = built(library, name, work, precision, [onnx], "", feeds)
            yield row
            if engine is not None:
                for graphs in GRAPHS:
                    yield from _one_network(library, name, engine, precision, graphs, feeds, truth)

    return run


def _one_network(library: str, name: str, engine: Path, precision: str, graphs: Any, feeds: Any, truth: Any) -> Rows:
    from realtime.backends.place import device
    from realtime.backends.tensorrt import TensorRtSession
    from realtime.errors import BackendError

    case = f"{precision}, graphs {graphs}"
    try:
        with TensorRtSession(engine, library, device(), graphs=graphs, cache=engine.parent / "cache") as session:
            for _ in range(3):  # plain, captured, replayed
                found = {key: value.copy() for key, value in session.run(feeds).items()}
            off = difference(found, truth)
            yield Row(f"{library} {name}", f"{case}: difference", off, "of range", off <= TOLERANCE[precision])
            yield Row(f"{library} {name}", f"{case}: run", timed(session.run), "ms", note=_uncaptured(graphs, session))
    except BackendError as error:
        yield _failed(f"{library} {name}", case, error)


def _failed(check: str, case: str, error: Exception) -> Row:
    """Wrong, or not to be run where what drives the GPU is not installed."""
    from realtime.backends.base import UnavailableError

    return Row(check, case, ok=None if isinstance(error, UnavailableError) else False, note=str(error))


def _uncaptured(graphs: str, session: Any) -> str:
    return "no graph of ours: the library says that it cannot be captured" if graphs == "own" and not session.captures else ""


def check_path(library: str, graph: str) -> Callable[[Path], Rows]:
    """A whole path on frames: build, compare, time with graphs and without, and with the next frame's upload beside the launch."""

    def run(work: Path) -> Rows:
        target(library).version()
        parts = [networks(work)["mesh"], *([networks(work)["swap"]] if graph == "follow_swap" else [])]
        for precision in PRECISIONS:
            engine, row = built(library, graph, work, precision, parts, graph, {})
            yield row
            if engine is not None:
                for label, size in SIZES.items():
                    yield from _one_path(library, graph, engine, precision, label, size, parts)

    return run


def _one_path(library: str, graph: str, engine: Path, precision: str, label: str, size: tuple[int, int], parts: Sequence[Path]) -> Rows:
    from realtime.backends.place import device
    from realtime.backends.tensorrt import TensorRtFrames
    from realtime.errors import BackendError

    frames, small = some_frames(size), small_feeds(graph, size)
    truth = on_processor(graph_file(graph, parts, engine.parent), {"frame": frames[0], **small})
    for graphs in GRAPHS:
        case = f"{precision} {label}, graphs {graphs}"
        try:
            with TensorRtFrames(engine, library, device(), graphs=graphs, cache=engine.parent / "cache") as session:
                for name, value in small.items():
                    session.inputs[name][...] = value
                for frame in [*frames, *frames]:
                    session.run(frame)
                off = difference(session.run(frames[0]), truth)
                yield Row(f"{library} {graph}", f"{case}: difference", off, "of range", off <= TOLERANCE[precision])
                yield from _frame_times(f"{library} {graph}", case, session, frames, _uncaptured(graphs, session))
        except BackendError as error:
            yield _failed(f"{library} {graph}", case, error)


def _frame_times(check: str, case: str, session: Any, frames: Sequence[Any], note: str = "") -> Rows:
    """A frame that is new each time, its upload before the launch or beside the one before; and another look at the same frame."""
    turn = iter(range(10**9))
    yield Row(check, f"{case}: frame", timed(lambda: session.run(frames[next(turn) % len(frames)])), "ms", note=note)
    at = [0]

    def ahead() -> None:
        at[0] += 1
        session.run(frames[at[0] % len(frames)])

    session.watch(lambda: frames[(at[0] + 1) % len(frames)])
    yield Row(check, f"{case}: frame, next uploaded beside it", timed(ahead), "ms")
    session.watch(lambda: None)
    yield Row(check, f"{case}: same frame again", timed(lambda: session.run(frames[0])), "ms")


def check_onnxruntime(work: Path) -> Rows:
    """ONNX Runtime with CUDA: the networks by themselves, and the graph around the mesh with its frame on the GPU."""
    from realtime.backends.select import open_frames, open_session
    from realtime.graphs.follow import follow

    check = "onnxruntime cuda"
    for name, onnx in networks(work).items():
        feeds = feeds_of(name, onnx)
        with open_session(onnx, "cuda") as session:
            off = difference(session.run(feeds), on_processor(onnx, feeds))
            yield Row(check, f"{name}: difference", off, "of range", off <= TOLERANCE["fp32"])
            yield Row(check, f"{name}: run", timed(session.run), "ms")
    model = follow(networks(work)["mesh"], gather_bytes=True).SerializeToString()
    for label, size in SIZES.items():
        frames, small = some_frames(size), small_feeds("follow", size)
        truth = on_processor(graph_file("follow", [networks(work)["mesh"]], work), {"frame": frames[0], **small})
        with open_frames(model) as session:
            session.inputs["region"][:] = small["region"]
            off = difference(session.run(frames[0]), truth)
            yield Row(check, f"follow {label}: difference", off, "of range", off <= TOLERANCE["fp32"])
            yield from _frame_times(check, f"follow {label}", session, frames)


# -- what the checks share ---------------------------------------------------------------------------------------


def target(library: str) -> Any:
    from realtime.builder.targets import base

    return base.target(library)


def networks(work: Path) -> Mapping[str, Path]:
    """Name -> ONNX file: the fetched models, else stand-ins."""
    import onnx

    from tests.twins.full import full_twin
    from tests.twins.inswapper import random_twin
    from tests.twins.mesh import mesh_twin

    found = fetched()
    if "mesh" not in found:
        found["mesh"] = work / "mesh_stand_in.onnx"
        if not found["mesh"].is_file():
            onnx.save(mesh_twin(), found["mesh"])
    found["swap"] = work / "swap_stand_in.onnx"
    if not found["swap"].is_file():
        if (work / "full").exists():
            full_twin("inswapper_128", found["swap"])
        else:
            onnx.save(random_twin(channels=32), found["swap"])
    return found


def fetched() -> dict[str, Path]:
    """The default models that are there; none where what knows their folder is not installed."""
    try:
        from realtime.storage import model_store
    except ImportError:
        return {}
    store = model_store()
    return {name: store.path(name) for name in ("mesh", "yunet_320", "sface") if store.has(name)}


def built(
    library: str, name: str, work: Path, precision: str, parts: Sequence[Path], graph: str, feeds: Any
) -> tuple[Path | None, Row]:
    """The engine, or None and why there is none. Without a GPU, or with one it has no code for, TensorRT-RTX builds for capability 86."""
    from realtime.builder import prepare, quantise
    from realtime.builder.contract import Contract
    from realtime.builder.wrap import GRAPHS as SHAPES
    from realtime.builder.wrap import wrap
    from realtime.errors import RealtimeError

    check, begun = f"{library} {name}", time.perf_counter()
    lack = target(library).unfit() if has_gpu() else "no GPU"
    try:
        files = []
        for index, part in enumerate(parts):
            file = work / f"{library}-{name}-{precision}-{index}.onnx"
            if precision == "fp16":
                prepare.fp16(part, file, [])
            elif precision == "int8":
                quantise.int8(part, file, [feeds])
            files.append(part if precision == "fp32" else file)
        source = files[0]
        if graph:
            source = work / f"{library}-{name}-{precision}.onnx"
            wrap(graph, files, Contract(), source)
        engine = work / f"{library}-{name}-{precision}.engine"
        target(library).build(source, precision, engine, (86,) if lack else (), SHAPES.get(graph, {}), work / "timings")
    except RealtimeError as error:
        absent = None if "none here" in str(error) else False
        return None, Row(check, f"{precision}: build", ok=absent, note=str(error))
    taken = time.perf_counter() - begun
    if lack:
        return None, Row(check, f"{precision}: build", taken, "s", None, f"built for compute capability 86; could not run: {lack}")
    return engine, Row(check, f"{precision}: build", taken, "s")


def graph_file(graph: str, parts: Sequence[Path], work: Path) -> Path:
    from realtime.builder.contract import Contract
    from realtime.builder.wrap import wrap

    path = work / f"{graph}-reference.onnx"
    if not path.is_file():
        wrap(graph, parts, Contract(), path)
    return path


def has_gpu() -> bool:
    from realtime.backends.gpus import gpus

    return bool(gpus())


def timed(call: Callable[[], Any], runs: int = 60) -> float:
    """Median milliseconds, after some runs to warm up."""
    for _ in range(8):
        call()
    taken = []
    for _ in range(runs):
        begun = time.perf_counter()
        call()
        taken.append(time.perf_counter() - begun)
    return statistics.median(taken) * 1000


def _of_library(library: str) -> dict[str, Callable[[Path], Rows]]:
    return {
        f"{library} mesh": check_network(library, "mesh"),
        f"{library} follow": check_path(library, "follow"),
        f"{library} swap": check_network(library, "swap"),
        f"{library} follow_swap": check_path(library, "follow_swap"),
    }


CHECKS: Mapping[str, Callable[[Path], Rows]] = {
    "cuda-bindings": check_layer("cuda-bindings"),
    "engine of copies": check_copies,
    "pycuda": check_layer("pycuda"),
    "onnxruntime cuda": check_onnxruntime,
    **{name: check for library in LIBRARIES for name, check in _of_library(library).items()},
}
"""What takes long comes last: TensorRT tries kernels for minutes, where TensorRT-RTX takes seconds."""
