"""OpenVINO on the processor: the compiled network as one file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from realtime.backends.openvino import cpu_options, fixed, load, version
from realtime.builder.targets.base import Built
from realtime.builder.wrap import Shapes
from realtime.errors import BackendError
from realtime.machine import processor

_HALVES = ("BF16", "FP16")
"""Names among the device's capabilities; the first that is there is used."""
_ARITHMETIC = {"BF16": "bf16", "FP16": "f16"}


class OpenVinoTarget:
    SUFFIX = ".blob"
    WRAPS = False
    UNSIGNED_INT8 = False

    def version(self) -> str:
        return version()

    def device_problem(self) -> str:
        return ""

    def unfit(self) -> str:
        return ""

    def needs(self, precision: str) -> str:
        """Half precision is a setting of the plug-in here: it takes the fp32 file and computes in what the processor has."""
        return "fp32" if precision == "fp16" else precision

    def build(self, source: Path, precision: str, engine: Path, sm: Sequence[int], shapes: Shapes, cache: Path) -> Built:
        ov = load()
        core = ov.Core()
        core.set_property({"ENABLE_MMAP": False})
        arithmetic = _half(core) if precision == "fp16" else "f32"
        try:
            model = fixed(core.read_model(source))
            compiled = core.compile_model(model, "CPU", cpu_options(1, arithmetic))
            engine.write_bytes(compiled.export_model().getvalue())
        except RuntimeError as error:
            raise BackendError(f"OpenVINO cannot build it: {_unsupported(error)}") from error
        return Built("openvino", version(), "int8" if precision == "int8" else arithmetic, {"processor": processor()})


def make(library: str) -> OpenVinoTarget:
    return OpenVinoTarget()


def _half(core: Any) -> str:
    has = core.get_property("CPU", "OPTIMIZATION_CAPABILITIES")
    half = next((name for name in _HALVES if name in has), None)
    if half is None:
        raise BackendError("this processor has no 16-bit arithmetic for OpenVINO to use: fp32 and int8 remain")
    return _ARITHMETIC[half]


def _unsupported(error: RuntimeError) -> str:
    """The lines that name operators, which begin with dashes, else the last: the first say where in its source it failed."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    named = [line.removeprefix("--").strip().rstrip(".:") for line in lines if line.startswith("--")]
    return "; ".join(named) or (lines or [type(error).__name__])[-1].rstrip(".")
