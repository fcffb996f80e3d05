"""What a target is: a library that makes an engine of an ONNX file, and runs it where the device is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol, cast

from realtime.builder.wrap import Shapes
from realtime.errors import BackendError


@dataclass(frozen=True, slots=True)
class Built:
    """What a build says of its engine, for the manifest."""

    library: str
    version: str
    arithmetic: str
    """What it computes in, e.g. "f32", "bf16", "int8"."""
    device: Mapping[str, Any]
    """What it was made for: the processor, or compute capabilities and driver."""
    notes: Sequence[str] = field(default_factory=tuple)


class Target(Protocol):
    """The functions a target module has."""

    SUFFIX: str
    """Of its engine files, with the dot."""
    UNSIGNED_INT8: bool
    """Takes the int8 file with unsigned activations."""

    def version(self) -> str:
        """Of the library. Raises BackendError, one sentence with the cure, when it is missing."""

    def device_problem(self) -> str:
        """Why engines cannot be run on this machine; empty when they can."""

    def unfit(self) -> str:
        """Why the library builds nothing for the device that is here; empty when it does, or when there is none. Loads the library."""

    def needs(self, precision: str) -> str:
        """The precision of the ONNX file that the engine of this precision is built of."""

    WRAPS: bool
    """Whether whole graphs around a network are built for it. On a processor our own code beats them."""

    def build(self, source: Path, precision: str, engine: Path, sm: Sequence[int], shapes: Shapes, cache: Path) -> Built:
        """Compile `source` into the file `engine`; `shapes` are those of open inputs.

        `cache`: a folder of this library's, there or not yet, for what makes the next build faster.
        Raises RealtimeError, before anything is compiled and naming all of them, when it does not have the network's operators.
        """


TARGETS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "tensorrt": ("tensorrt", "tensorrt"),
        "tensorrt-rtx": ("tensorrt", "tensorrt_rtx"),
        "openvino": ("openvino", "openvino"),
        "onnxruntime": ("onnxruntime", "onnxruntime"),
    }
)
"""Name -> module of this package, and the library that it is to import. In the order of preference."""


def target(name: str) -> Target:
    """The target of this name. Nothing of a vendor's is imported yet. Raises BackendError for an unknown name."""
    if name not in TARGETS:
        raise BackendError(f"there is no target {name!r}: choose among {', '.join(TARGETS)}")
    module, library = TARGETS[name]
    return cast(Target, import_module(f"realtime.builder.targets.{module}").make(library))
