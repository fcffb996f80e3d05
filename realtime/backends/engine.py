"""TensorRT and TensorRT-RTX, one code path: loading an engine and putting its execution into a stream, by raw pointers.

What a library can do is asked of it (`hasattr`), never concluded from its name. TensorRT-RTX alone has a cache of the code that it
compiles for the GPU at run time, a graph of its own, and says whether an execution can be captured.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from realtime.backends.base import TensorSpec, UnavailableError
from realtime.backends.device import ALIGNMENT, Device, Memory, Stream
from realtime.errors import BackendError

LIBRARIES = MappingProxyType({"tensorrt": "tensorrt", "tensorrt-rtx": "tensorrt_rtx"})
"""Backend -> module."""
EXTRAS = MappingProxyType({"tensorrt": "tensorrt", "tensorrt_rtx": "nvidia"})
"""Module -> extra of this project that brings it, with what drives the GPU."""
GraphUse = Literal["auto", "own", "library", "off"]
"""Who makes graphs: we, around copies and execution; the library, of the execution alone; nobody. `auto`: we where that is possible."""


def load(backend: str) -> Any:
    """The module of a backend's library. Raises UnavailableError without it."""
    return load_library(LIBRARIES[backend])


def load_library(library: str) -> Any:
    """The module of this name. Raises UnavailableError without it."""
    try:
        return import_module(library)
    except (ImportError, OSError) as error:
        raise UnavailableError(
            f"{library} cannot be loaded ({error}): install it with `pip install 'realtime-faceswap[{EXTRAS[library]}]'`"
        ) from error


def quiet_logger(trt: Any) -> Any:
    """Keeps the last error instead of printing it."""

    class Logger(trt.ILogger):  # type: ignore[misc]
        def __init__(self) -> None:
            trt.ILogger.__init__(self)
            self.last = ""

        def log(self, severity: Any, message: str) -> None:
            if severity in (trt.ILogger.Severity.ERROR, trt.ILogger.Severity.INTERNAL_ERROR):
                self.last = " ".join(message.split()).rstrip(".")

    return Logger()


class Execution:
    """One engine that can be put into streams of one device. `cache` is a file for what the library compiles at run time."""

    def __init__(self, trt: Any, path: Path, device: Device, *, graphs: GraphUse = "auto", cache: Path | None = None) -> None:
        self._trt, self._device, self._path = trt, device, path
        self._logger = quiet_logger(trt)
        self._runtime = trt.Runtime(self._logger)
        # The library allocates the weights itself: not ours to free, but they count.
        device.charge(path.stat().st_size, f"the weights of {path.name}")
        self._engine = self._deserialise()
        self.inputs, self.outputs = self._ports()
        self._cache_file, self._cache = cache, None
        self._scratch: Memory | None = None
        self.graphs = graphs
        self._context = self._new_context()

    def _deserialise(self) -> Any:
        engine = self._runtime.deserialize_cuda_engine(self._path.read_bytes())
        if engine is None:
            raise BackendError(f"{self._path.name} cannot be loaded: {self._reason()}")
        return engine

    def _ports(self) -> tuple[tuple[TensorSpec, ...], tuple[TensorSpec, ...]]:
        """Inputs and outputs in the engine's order; open sizes are -1."""
        inputs: list[TensorSpec] = []
        outputs: list[TensorSpec] = []
        for index in range(self._engine.num_io_tensors):
            name = self._engine.get_tensor_name(index)
            shape = tuple(int(size) for size in self._engine.get_tensor_shape(name))
            spec = TensorSpec(name, shape, np.dtype(self._trt.nptype(self._engine.get_tensor_dtype(name))))
            is_input = self._engine.get_tensor_mode(name) == self._trt.TensorIOMode.INPUT
            (inputs if is_input else outputs).append(spec)
        return tuple(inputs), tuple(outputs)

    def _new_context(self) -> Any:
        own = self._own_scratch()
        if hasattr(self._engine, "create_runtime_config"):
            context = self._engine.create_execution_context(self._config())
        else:
            context = self._engine.create_execution_context(*([] if own is None else [own]))
        if context is None:
            raise BackendError(f"{self._path.name} cannot be run: {self._reason()}")
        return context

    def profile(self, name: str) -> tuple[tuple[int, ...], ...]:
        """The smallest, the likeliest and the largest shape that the engine was built for."""
        return tuple(tuple(int(size) for size in shape) for shape in self._engine.get_tensor_profile_shape(name, 0))

    def outputs_for(self, shapes: Mapping[str, tuple[int, ...]]) -> tuple[TensorSpec, ...]:
        """The outputs when the open inputs have these shapes. Raises BackendError for shapes that the engine was not built for."""
        self._shape(shapes)
        sized = [tuple(int(size) for size in self._context.get_tensor_shape(spec.name)) for spec in self.outputs]
        return tuple(TensorSpec(spec.name, shape, spec.dtype) for spec, shape in zip(self.outputs, sized, strict=True))

    def _own_scratch(self) -> Any:
        """The strategy by which we allocate what an execution needs in between: a capture may not allocate, and it counts that way."""
        return getattr(getattr(self._trt, "ExecutionContextAllocationStrategy", None), "USER_MANAGED", None)

    def _config(self) -> Any:
        config, trt = self._engine.create_runtime_config(), self._trt
        if self._own_scratch() is not None:
            config.set_execution_context_allocation_strategy(self._own_scratch())
        by_library = self.graphs == "library"
        if hasattr(config, "cuda_graph_strategy"):
            config.cuda_graph_strategy = getattr(trt.CudaGraphStrategy, "WHOLE_GRAPH_CAPTURE" if by_library else "DISABLED")
        if hasattr(config, "dynamic_shapes_kernel_specialization_strategy") and not by_library:
            # A graph of ours would keep the stand-ins that run until the code for these shapes is compiled.
            config.dynamic_shapes_kernel_specialization_strategy = trt.DynamicShapesKernelSpecializationStrategy.EAGER
        if hasattr(config, "create_runtime_cache") and self._cache_file is not None:
            self._cache = self._cache or self._read_cache(config)
            config.set_runtime_cache(self._cache)
        return config

    def _read_cache(self, config: Any) -> Any:
        cache = config.create_runtime_cache()
        if self._cache_file is not None and self._cache_file.is_file():
            cache.deserialize(self._cache_file.read_bytes())  # one that does not fit is refused by the library, and made anew
        return cache

    def prepare(self, stream: Stream, addresses: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]] = MappingProxyType({})) -> bool:
        """Take these addresses, and shapes for what is open; True when the execution may be captured in a graph of ours.

        Where it may not, the library makes its own if it can. Raises BackendError for shapes that the engine was not built for.
        """
        self._place(addresses, shapes)
        if self.graphs in ("off", "library"):
            return False
        if self._capturable(stream):
            return True
        if self.graphs == "auto" and hasattr(self._trt, "CudaGraphStrategy"):
            self.graphs = "library"
            self._context = self._new_context()
            self._place(addresses, shapes)
        return False

    def _place(self, addresses: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]]) -> None:
        self._shape(shapes)
        self.bind(addresses)
        if self._own_scratch() is not None:
            self._give_scratch()

    def _shape(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        for name, shape in shapes.items():
            if not self._context.set_input_shape(name, shape):
                raise BackendError(f"{self._path.name} was not built for {name} {shape}: take another --size, or build it again")

    def bind(self, addresses: Mapping[str, int]) -> None:
        for name, address in addresses.items():
            self._context.set_tensor_address(name, address)

    def _give_scratch(self) -> None:
        size = max(int(self._context.update_device_memory_size_for_shapes()), ALIGNMENT)
        if self._scratch is None or self._scratch.nbytes < size:
            if self._scratch is not None:
                self._device.free(self._scratch)
                self._scratch = None
            self._scratch = self._device.allocate(size, f"running {self._path.name}")
        self._context.set_device_memory(self._scratch.address, self._scratch.nbytes)

    def _capturable(self, stream: Stream) -> bool:
        if not hasattr(self._context, "is_stream_capturable"):
            return True  # TensorRT proper can be captured
        return bool(self._context.is_stream_capturable(self._device.raw(stream)))

    def enqueue(self, stream: Stream) -> None:
        if not self._context.execute_async_v3(self._device.raw(stream)):
            raise BackendError(f"{self._path.name} failed on {self._device.name}: {self._reason()}")

    def close(self) -> None:
        """To be called before the device is closed: the library frees its own memory here."""
        self._save_cache()
        self._context = self._engine = self._runtime = None

    def _save_cache(self) -> None:
        """What was compiled for this GPU, so that the next start need not; a folder that cannot be written costs just that."""
        if self._cache is None or self._cache_file is None:
            return
        temporary = self._cache_file.with_name(f"{self._cache_file.name}.{os.getpid()}.tmp")
        try:
            temporary.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(memoryview(self._cache.serialize()))
            temporary.replace(self._cache_file)
        except OSError:
            with suppress(OSError):
                temporary.unlink()
        self._cache = None

    def _reason(self) -> str:
        return self._logger.last or "the library gave no reason"
