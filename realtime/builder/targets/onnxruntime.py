"""ONNX Runtime: the graph as its optimiser leaves it, for this processor."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Sequence
from pathlib import Path

import onnx

from realtime.backends.onnxruntime import load, version
from realtime.builder.targets.base import Built
from realtime.builder.wrap import Shapes
from realtime.errors import BackendError, first_line
from realtime.machine import processor

_ERRORS_ONLY = 3
_DOMAINS = ("ai.onnx", "com.microsoft", "org.pytorch.aten")
"""Those whose operators are in the library: ONNX's and its own."""


class OnnxRuntimeTarget:
    SUFFIX = ".onnx"
    WRAPS = False
    UNSIGNED_INT8 = True

    def version(self) -> str:
        return version()

    def device_problem(self) -> str:
        return ""

    def unfit(self) -> str:
        return ""

    def needs(self, precision: str) -> str:
        return precision

    def build(self, source: Path, precision: str, engine: Path, sm: Sequence[int], shapes: Shapes, cache: Path) -> Built:
        ort = load()
        missing = lacking(source)
        if missing:
            raise BackendError(f"ONNX Runtime cannot build it: it does not support {', '.join(missing)}")
        options = ort.SessionOptions()
        options.log_severity_level = _ERRORS_ONLY
        options.optimized_model_filepath = str(engine)
        # Without the layout that suits this processor alone, which a second optimisation at load adds anyway and a file cannot always hold.
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
        try:
            ort.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # the runtime's exceptions share no base but Exception
            if shutil.disk_usage(engine.parent).free < source.stat().st_size:  # of which it says "Protobuf serialization failed"
                raise OSError(errno.ENOSPC, "no room for the optimised graph") from error
            raise BackendError(f"ONNX Runtime cannot build it: {first_line(error)}") from error
        arithmetic = {"fp32": "f32", "fp16": "f16"}.get(precision, precision)
        return Built("onnxruntime", version(), arithmetic, {"processor": processor()})


def make(library: str) -> OnnxRuntimeTarget:
    return OnnxRuntimeTarget()


def lacking(source: Path) -> list[str]:
    """Operators of domains that the library does not come with. It names one at a time itself."""
    model = onnx.load(source, load_external_data=False)
    known = (*_DOMAINS, *(function.domain for function in model.functions))
    return sorted({f"{node.domain}.{node.op_type}" for node in model.graph.node if node.domain and not node.domain.startswith(known)})
