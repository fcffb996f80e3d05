"""TensorRT and TensorRT-RTX through one path: what a library can do is asked of it, never concluded from its name."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import onnx

from realtime.backends.engine import load_library, quiet_logger
from realtime.backends.gpus import Gpu, first_gpu
from realtime.backends.place import device_layer
from realtime.builder.targets.base import Built
from realtime.builder.wrap import Shapes
from realtime.errors import BackendError

DEFAULT_SM = (86, 89, 120)
"""Ampere, Ada and Blackwell for desktops: what is built for where no GPU says otherwise. Turing (75) has to be asked for: *measured*,
TensorRT-RTX 1.7 refuses fp32 matrix products for it, and with it the whole engine."""
_LAYER = re.compile(r"(\S+) has no runners")
_COUNTER = re.compile(r"_\d+$")
"""*Measured*: NonMaxSuppression passes the parser of TensorRT-RTX 1.7, then "nms_0 has no runners that implement it"."""


class TensorRtTarget:
    SUFFIX = ".engine"
    WRAPS = True
    UNSIGNED_INT8 = False

    def __init__(self, library: str) -> None:
        self._library = library

    def version(self) -> str:
        return str(load_library(self._library).__version__)

    def device_problem(self) -> str:
        if first_gpu() is None:
            return "no GPU"
        try:
            device_layer()
        except BackendError as error:
            return str(error).rstrip(".")
        return ""

    def unfit(self) -> str:
        """TensorRT-RTX is for the GPUs of desktops and laptops: it has no Hopper (90), for one."""
        trt, device = load_library(self._library), first_gpu()
        if device is None or not _ahead(trt) or f"SM{device.sm}" in _capabilities(trt):
            return ""
        return f"{self._library} builds nothing for compute capability {device.sm}, which {device.name or 'this GPU'} has"

    def needs(self, precision: str) -> str:
        return precision

    def build(self, source: Path, precision: str, engine: Path, sm: Sequence[int], shapes: Shapes, cache: Path) -> Built:
        trt, device = load_library(self._library), first_gpu()
        ahead = _ahead(trt)
        if not ahead and device is None:
            raise BackendError(f"{self._library} builds on the GPU itself and there is none here: build on the machine that has it")
        logger = quiet_logger(trt)
        builder = trt.Builder(logger)
        network = builder.create_network(_flags(trt))
        _parse(trt, network, logger, source)
        config = builder.create_builder_config()
        _make_capturable(trt, config)
        profile = _profile(builder, network, shapes)
        if profile is not None:
            config.add_optimization_profile(profile)
        capabilities = _aim(trt, config, sm, device) if ahead else [device.sm if device else 0]
        timings = cache / f"{self._library}-{self.version()}-sm{device.sm}.timings" if device is not None else None
        _recall(config, timings)
        made = builder.build_serialized_network(network, config)
        if made is None:
            raise BackendError(f"{self._library} cannot build it: {_reason(logger.last, source)}")
        engine.write_bytes(memoryview(made))
        _remember(config, timings)
        own = device is not None and capabilities == [device.sm]
        made_for = {"compute_capabilities": capabilities, "driver": device.driver if device and own else None}
        return Built(self._library, self.version(), {"fp32": "f32", "fp16": "f16"}.get(precision, precision), made_for)


def make(library: str) -> TensorRtTarget:
    return TensorRtTarget(library)


def _flags(trt: Any) -> int:
    """Types come from the graph. Newer versions know nothing else and may drop the flag."""
    flags = trt.NetworkDefinitionCreationFlag
    return 1 << int(flags.STRONGLY_TYPED) if hasattr(flags, "STRONGLY_TYPED") else 0


def _recall(config: Any, file: Path | None) -> None:
    """Let the builder look up how fast kernels were in former builds, where the library has a cache of that and a GPU to time them on.

    TensorRT-RTX has one too, but asks a GPU for it even to make it empty; it times nothing when it builds ahead. Its other cache, of
    kernels compiled at run time, is the running backend's.
    """
    if file is None or not hasattr(config, "create_timing_cache"):
        return
    content = file.read_bytes() if file.is_file() else b""
    config.set_timing_cache(config.create_timing_cache(content), False)


def _remember(config: Any, file: Path | None) -> None:
    """Keep the timings for the next build. Two builds at once: the later one's are kept, which only costs time."""
    kept = config.get_timing_cache() if file is not None and hasattr(config, "get_timing_cache") else None
    if file is None or kept is None:
        return
    file.parent.mkdir(exist_ok=True)
    temporary = file.with_name(f"{file.name}.{os.getpid()}")
    try:
        temporary.write_bytes(memoryview(kept.serialize()))
        temporary.replace(file)
    finally:
        temporary.unlink(missing_ok=True)


def _reason(message: str, source: Path) -> str:
    """What the library says, and the operator where it names a layer only: layers are called after the network's nodes."""
    layer = _LAYER.search(message)
    if layer is None:
        return message or "it gave no reason"
    nodes = onnx.load(source, load_external_data=False).graph.node
    operators = {node.op_type for node in nodes if node.name in (layer[1], _COUNTER.sub("", layer[1]))}
    return f"it does not support {', '.join(sorted(operators))} ({message})" if operators else message


def _parse(trt: Any, network: Any, logger: Any, source: Path) -> None:
    parser = trt.OnnxParser(network, logger)
    if parser.parse_from_file(str(source)):
        return
    errors = [parser.get_error(index) for index in range(parser.num_errors)]
    operators = sorted({_operator(error) for error in errors} - {""})
    reason = errors[0].desc().strip().rstrip(".") if errors else logger.last
    named = f"it does not support {', '.join(operators)} ({reason})" if operators else reason
    raise BackendError(f"the network cannot be built: {named}")


def _operator(error: Any) -> str:
    """The operator an error is about, where the version tells."""
    return str(error.node_operator()) if hasattr(error, "node_operator") else ""


def _profile(builder: Any, network: Any, shapes: Shapes) -> Any:
    """A profile with the shapes that are given, and an open batch set to one elsewhere; None when nothing is open."""
    ports = [network.get_input(index) for index in range(network.num_inputs)]
    opened = [port for port in ports if -1 in tuple(port.shape)]
    if not opened:
        return None
    profile = builder.create_optimization_profile()
    for port in opened:
        single = tuple(1 if size == -1 else size for size in port.shape)
        profile.set_shape(port.name, *shapes.get(port.name, (single, single, single)))
    return profile


def _make_capturable(trt: Any, config: Any) -> None:
    """Where the library would otherwise allocate while it runs, let it use what it is given: a CUDA graph may not allocate."""
    flag = getattr(getattr(trt, "BuilderFlag", None), "REQUIRE_USER_ALLOCATION", None)
    if flag is not None:
        config.set_flag(flag)


def _aim(trt: Any, config: Any, sm: Sequence[int], device: Gpu | None) -> list[int]:
    """Build for the named compute capabilities, else for the GPU that is here, else, or where it has no code for it, for the usual ones."""
    known = _capabilities(trt)
    here = [device.sm] if device and f"SM{device.sm}" in known else list(DEFAULT_SM)
    wanted = list(sm) or here
    unknown = [number for number in wanted if f"SM{number}" not in known]
    if unknown:
        offered = ", ".join(name.removeprefix("SM") for name in known if name.startswith("SM"))
        raise BackendError(f"compute capability {unknown[0]} is not among those it builds for: {offered}")
    config.num_compute_capabilities = len(wanted)
    for index, number in enumerate(wanted):
        config.set_compute_capability(getattr(trt.ComputeCapability, f"SM{number}"), index)
    return wanted


def _ahead(trt: Any) -> bool:
    """Whether the library builds for GPUs that are not here."""
    return hasattr(trt, "ComputeCapability")


def _capabilities(trt: Any) -> list[str]:
    """Names of those that it builds for ahead, "SM86" and so on."""
    return list(trt.ComputeCapability.__members__ if hasattr(trt.ComputeCapability, "__members__") else vars(trt.ComputeCapability))
