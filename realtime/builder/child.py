"""What runs in the builder's child processes: `python -m realtime.builder.child REQUEST RESULT`."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from realtime.backends.base import Session, TensorSpec
from realtime.backends.select import open_engine, open_session
from realtime.builder import gate
from realtime.builder.contract import Contract
from realtime.builder.gate import Limit
from realtime.builder.jobs import FULL
from realtime.builder.role import Results, Tools
from realtime.builder.targets.base import target
from realtime.errors import BackendError, RealtimeError, is_full
from realtime.models.records import sha256_of
from realtime.types import Array

# Each task imports what it needs by itself: pictures, for one, bring a compiler along.
Value = dict[str, Any]


def probe(target_name: str) -> Value:
    """Whether the library of a target is there and its engines can run here."""
    there = target(target_name)
    return {"version": there.version(), "device_problem": there.device_problem() or there.unfit()}


def record(onnx: str, role: str, scene_file: str, tools: Value, samples: str, reference: str, threads: int = 1) -> Value:
    """Check the model and run it as it is on ONNX Runtime: what it is fed, for calibration, and what it finds, for the gate."""
    from realtime.builder import scenes
    from realtime.builder.roles import ROLES, Recording
    from realtime.builder.source import check
    from realtime.builder.targets.onnxruntime import lacking

    check(Path(onnx))
    missing = lacking(Path(onnx))
    if missing:
        raise BackendError(f"the original cannot be run, and so not judged: ONNX Runtime does not support {', '.join(missing)}")
    with Recording(open_session(Path(onnx), "onnxruntime", threads=threads)) as session:
        found = ROLES[role].observe(session, scenes.load(Path(scene_file)), Tools.of(tools))
        specs = session.specs
    _save_samples(session.taken, Path(samples))
    _save_results(found, Path(reference))
    return {"inputs": [_port(spec) for spec in specs.inputs], "outputs": [_port(spec) for spec in specs.outputs]}


def refer(graph: str, networks: Sequence[str], role: str, scene_file: str, tools: Value, reference: str, threads: int = 1) -> Value:
    """Run a graph of ours around the original networks on ONNX Runtime: what it finds, for the gate."""
    from realtime.builder import fused, scenes
    from realtime.builder.roles import ROLES
    from realtime.builder.wrap import wrap

    kit, whole = Tools.of(tools), Path(reference).with_suffix(".onnx")
    wrap(graph, [Path(network) for network in networks], kit.contract, whole, fused.FRAME)
    with open_session(whole, "onnxruntime", threads=threads) as session:
        _save_results(ROLES[role].observe(session, scenes.load(Path(scene_file)), kit), Path(reference))
    whole.unlink()
    return {}


def make(onnx: str, form: str, samples: str, output: str) -> Value:
    """Write the file of a form: fp16, int8 or int8-u8."""
    from realtime.builder import prepare, quantise

    taken = _load_samples(Path(samples))
    notes: list[str] = []
    if form == "fp16":
        hot = prepare.fp16(Path(onnx), Path(output), taken)
        notes = [f"kept in fp32 for their range: {', '.join(hot)}"] if hot else []
    else:
        quantise.int8(Path(onnx), Path(output), taken, unsigned=form == "int8-u8")
    return {"notes": notes}


def build(
    target_name: str, networks: Sequence[str], precision: str, output: str, sm: Sequence[int], graph: str, contract: Value, cache: str
) -> Value:
    """Compile one engine, of a network or of a graph of ours around it."""
    from realtime.builder.wrap import GRAPHS, wrap

    path, source, ports = Path(output), Path(networks[0]), {}
    if graph:
        source = path.with_suffix(".graph.onnx")
        made = wrap(graph, [Path(network) for network in networks], Contract.of(contract), source)
        ports = dict(zip(("inputs", "outputs"), made, strict=True))
    built = target(target_name).build(source, precision, path, sm, GRAPHS.get(graph, {}), Path(cache))
    if graph:
        source.unlink()
    return {**dataclasses.asdict(built), **ports, "sha256": sha256_of(path), "bytes": path.stat().st_size}


def judge(
    engine: str,
    backend: str,
    precision: str,
    arithmetic: str,
    role: str,
    limits: Sequence[Sequence[Any]],
    scene_file: str,
    tools: Value,
    reference: str,
    threads: int = 1,
) -> Value:
    """Run an engine on the scenes and compare it with the original."""
    from realtime.builder import scenes
    from realtime.builder.roles import ROLES

    with open_engine(Path(engine), backend, precision, arithmetic, threads=threads) as session:
        found = ROLES[role].observe(session, scenes.load(Path(scene_file)), Tools.of(tools))
        figures = ROLES[role].compare(_load_results(Path(reference)), found)
        ms = gate.time_sessions([session])[0]
    return dataclasses.asdict(gate.judge(figures, [Limit(*limit) for limit in limits], ms))


def race(engines: Sequence[Sequence[str]], threads: int = 1) -> Value:
    """Time engines in turns. Each is given by the arguments of `open_engine`."""
    with ExitStack() as opened:
        sessions = [opened.enter_context(open_engine(Path(path), *rest, threads=threads)) for path, *rest in engines]
        for session in sessions:
            _fill(session)
        return {"ms": gate.time_sessions(sessions)}


TASKS: Mapping[str, Callable[..., Value]] = MappingProxyType(
    {"probe": probe, "record": record, "refer": refer, "make": make, "build": build, "judge": judge, "race": race}
)


def main(request: Path, result: Path) -> int:
    asked = json.loads(request.read_text(encoding="utf-8"))
    try:
        answer: Value = {"value": TASKS[asked["task"]](**asked["arguments"])}
    except Exception as error:  # whatever a vendor's library raises becomes one row of the table
        answer = {"error": _sentence(error)}
    temporary = result.with_suffix(".tmp")
    temporary.write_text(json.dumps(answer), encoding="utf-8")
    temporary.replace(result)
    return 0


def _sentence(error: Exception) -> str:
    if isinstance(error, RealtimeError):
        return str(error)
    if is_full(error):
        return FULL
    if isinstance(error, MemoryError):
        return "there is not enough memory: close other programs and run the builder again"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0].rstrip('.') if lines else 'no reason given'}"


def _fill(session: Session) -> None:
    """Values that are not denormal, infinite or all zero: those would be slower or faster than pictures."""
    random = np.random.default_rng(1)
    for array in session.inputs.values():
        np.copyto(array, random.uniform(0, 1, array.shape), casting="unsafe")


def _port(spec: TensorSpec) -> Value:
    return {"name": spec.name, "shape": list(spec.shape), "dtype": spec.dtype.name}


def _save_samples(samples: Sequence[Mapping[str, Array]], path: Path) -> None:
    """Names of inputs may hold any character, file names may not: they are numbered."""
    names = list(samples[0]) if samples else []
    arrays: dict[str, Any] = {f"input_{index}": np.stack([sample[name] for sample in samples]) for index, name in enumerate(names)}
    np.savez(path, names=np.array(names, np.str_), **arrays)


def _load_samples(path: Path) -> list[dict[str, Array]]:
    with np.load(path, allow_pickle=False) as file:
        columns = {str(name): file[f"input_{index}"] for index, name in enumerate(file["names"])}
    count = len(next(iter(columns.values()))) if columns else 0
    return [{name: column[index] for name, column in columns.items()} for index in range(count)]


def _save_results(results: Results, path: Path) -> None:
    arrays: dict[str, Any] = {f"result_{index}": value for index, value in enumerate(results)}
    np.savez(path, **arrays)


def _load_results(path: Path) -> Results:
    with np.load(path, allow_pickle=False) as file:
        return [file[f"result_{index}"] for index in range(len(file.files))]


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1]), Path(sys.argv[2])))
