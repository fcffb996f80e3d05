"""A TensorRT that runs numpy on the driver of `gpu`."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from realtime.backends.base import TensorSpec
from realtime.types import Array
from tests.backends.gpu import FakeDriver

Network = Callable[[Mapping[str, Array]], Mapping[str, Array]]


class FakeTensorRt:
    """A library with one engine, which computes `network`. `rtx`: with what TensorRT-RTX has; `capturable`: what it says of itself."""

    __version__ = "11.4"
    TensorIOMode = SimpleNamespace(INPUT="input", OUTPUT="output")
    Severity = SimpleNamespace(ERROR=1, INTERNAL_ERROR=0)

    class ILogger:
        Severity = SimpleNamespace(ERROR=1, INTERNAL_ERROR=0)

    def __init__(
        self,
        driver: FakeDriver,
        inputs: Sequence[TensorSpec],
        outputs: Sequence[TensorSpec],
        network: Network,
        *,
        rtx: bool = False,
        capturable: bool = True,
    ) -> None:
        self.driver, self.inputs, self.outputs, self.network, self.capturable = driver, inputs, outputs, network, capturable
        self.contexts: list[FakeContext] = []
        self.caches: list[bytes] = []
        self.refuse_shapes = False
        self.rtx = rtx
        self.ExecutionContextAllocationStrategy = SimpleNamespace(USER_MANAGED="ours")
        if rtx:
            self.CudaGraphStrategy = SimpleNamespace(DISABLED="disabled", WHOLE_GRAPH_CAPTURE="whole")
            self.DynamicShapesKernelSpecializationStrategy = SimpleNamespace(EAGER="eager")

    def Runtime(self, logger: Any) -> Any:  # noqa: N802 - TensorRT's name
        def deserialise(content: bytes) -> Any:
            if content != b"engine":
                logger.log(1, "the engine is broken.")
                return None
            return FakeEngine(self)

        return SimpleNamespace(deserialize_cuda_engine=deserialise)

    @staticmethod
    def nptype(dtype: Any) -> Any:
        return dtype


class FakeEngine:
    def __init__(self, library: FakeTensorRt) -> None:
        self._library = library
        self._specs = {spec.name: spec for spec in (*library.inputs, *library.outputs)}
        self.num_io_tensors = len(self._specs)
        if library.rtx:
            self.create_runtime_config = self._config

    def _config(self) -> Any:
        def serialise() -> bytes:
            assert self._library.driver.contexts, "the GPU was given back first"
            return b"compiled"

        def cache() -> Any:
            return SimpleNamespace(deserialize=self._library.caches.append, serialize=serialise)

        config = SimpleNamespace(
            allocation="the library's",
            cuda_graph_strategy=None,
            dynamic_shapes_kernel_specialization_strategy=None,
            create_runtime_cache=cache,
            set_runtime_cache=lambda given: True,
        )
        config.set_execution_context_allocation_strategy = lambda strategy: setattr(config, "allocation", strategy)
        return config

    def get_tensor_name(self, index: int) -> str:
        return list(self._specs)[index]

    def get_tensor_shape(self, name: str) -> tuple[int, ...]:
        return self._specs[name].shape

    def get_tensor_dtype(self, name: str) -> Any:
        return self._specs[name].dtype

    def get_tensor_mode(self, name: str) -> str:
        return "input" if name in [spec.name for spec in self._library.inputs] else "output"

    def get_tensor_profile_shape(self, name: str, profile: int) -> list[tuple[int, ...]]:
        """Batches are one, frames are of 2 to 64 pixels each way."""
        shape = self._specs[name].shape
        return [(2, 2, 3), (4, 6, 3), (64, 64, 3)] if len(shape) == 3 else [(1, *shape[1:])] * 3

    def create_execution_context(self, strategy_or_config: Any = None) -> Any:
        context = FakeContext(self._library, self._specs, strategy_or_config)
        self._library.contexts.append(context)
        return context


class FakeContext:
    def __init__(self, library: FakeTensorRt, specs: Mapping[str, TensorSpec], config: Any) -> None:
        self._library, self._specs, self.config = library, specs, config
        given = [spec.name for spec in library.outputs]
        self._shapes = {name: spec.shape for name, spec in specs.items()}
        opened = [name for name in given if -1 in self._shapes[name]]
        self._shapes |= {name: (1, *self._shapes[name][1:]) for name in opened}
        self._addresses: dict[str, int] = {}
        self.scratch: tuple[int, int] | None = None
        self.fail = False
        if library.rtx:
            self.is_stream_capturable = lambda stream: library.capturable

    def set_tensor_address(self, name: str, address: int) -> bool:
        self._addresses[name] = address
        return True

    def set_input_shape(self, name: str, shape: tuple[int, ...]) -> bool:
        self._shapes[name] = shape
        return not self._library.refuse_shapes

    def get_tensor_shape(self, name: str) -> tuple[int, ...]:
        return self._shapes[name]

    def update_device_memory_size_for_shapes(self) -> int:
        return sum(int(np.prod(shape)) for shape in self._shapes.values())

    def set_device_memory(self, address: int, size: int) -> None:
        assert "ours" in (self.config, getattr(self.config, "allocation", None)), "this context allocates for itself"
        self._library.driver.check(address, size, "memory")
        self.scratch = (address, size)

    def execute_async_v3(self, stream: int) -> bool:
        if self.fail:
            return False
        assert self.scratch is not None and self.scratch[1] >= self.update_device_memory_size_for_shapes()
        addresses, shapes, library = dict(self._addresses), dict(self._shapes), self._library
        missing = set(self._specs) - set(addresses)
        assert not missing, f"no address for {missing}"
        captured_by_library = library.rtx and self.config.cuda_graph_strategy == "whole"
        assert library.capturable or captured_by_library or stream not in library.driver._capturing, "cannot be captured"

        def execute() -> None:
            library.driver._note("execute", None)
            for spec in (*library.inputs, *library.outputs):
                library.driver.check(addresses[spec.name], int(np.prod(shapes[spec.name])) * spec.dtype.itemsize, "memory")
            feeds = {spec.name: _at(addresses[spec.name], shapes[spec.name], spec.dtype) for spec in library.inputs}
            for name, value in library.network(feeds).items():
                np.copyto(_at(addresses[name], shapes[name], self._specs[name].dtype), value)

        library.driver.put(stream, execute)
        return True


def _at(address: int, shape: tuple[int, ...], dtype: Any) -> Array:
    """A view of memory, whoever owns it."""
    kind, count = np.dtype(dtype), int(np.prod(shape))
    buffer = (ctypes.c_uint8 * (count * kind.itemsize)).from_address(address)
    return np.frombuffer(buffer, kind).reshape(shape)


