"""An engine of copies: what drives the GPU in a run, measured where no TensorRT is, the H200 of a data centre for one.

Has of TensorRT what `backends.engine` calls. Its execution copies within the GPU's memory: some of the frame and the small input to the
outputs, and the scratch memory to and fro for as long as a network might take. So it is right when uploads, execution, downloads and
graphs come in their order, and shows what a graph and a copy beside it save.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

FRAME, FACTOR = "frame", "region"
HEAD, TAIL, ECHO = "head", "tail", "echo"
_SHOWN = 48
"""Bytes of the beginning and the end of a frame that come back."""
SCRATCH = 256 << 20
_ROUNDS = 8
"""Copies of half the scratch memory: about a millisecond at 2 TB/s."""


def library(driver: Any) -> Any:
    """Stands for the module of TensorRT. `driver`: that of cuda-bindings."""
    import numpy as np

    ports = {
        FRAME: ((-1, -1, 3), np.uint8), FACTOR: ((4,), np.float32),
        HEAD: ((_SHOWN,), np.uint8), TAIL: ((_SHOWN,), np.uint8), ECHO: ((4,), np.float32),
    }  # fmt: skip

    class Logger:
        Severity = SimpleNamespace(ERROR=1, INTERNAL_ERROR=0)

    engine = SimpleNamespace(
        num_io_tensors=len(ports),
        get_tensor_name=lambda index: list(ports)[index],
        get_tensor_shape=lambda name: ports[name][0],
        get_tensor_dtype=lambda name: ports[name][1],
        get_tensor_mode=lambda name: "input" if name in (FRAME, FACTOR) else "output",
        get_tensor_profile_shape=lambda name, profile: [(32, 32, 3), (720, 1280, 3), (2160, 3840, 3)],
        create_execution_context=lambda strategy: Copying(driver, {name: shape for name, (shape, _) in ports.items()}),
    )
    return SimpleNamespace(
        ILogger=Logger,
        Runtime=lambda logger: SimpleNamespace(deserialize_cuda_engine=lambda content: engine),
        TensorIOMode=SimpleNamespace(INPUT="input"),
        ExecutionContextAllocationStrategy=SimpleNamespace(USER_MANAGED="ours"),
        nptype=lambda dtype: dtype,
    )


class Copying:
    """An execution of it."""

    def __init__(self, driver: Any, shapes: Mapping[str, tuple[int, ...]]) -> None:
        self._driver, self._shapes, self._wanted = driver, dict(shapes), SCRATCH
        self._addresses: dict[str, int] = {}
        self._scratch = 0

    def set_input_shape(self, name: str, shape: tuple[int, ...]) -> bool:
        self._shapes[name] = shape
        return True

    def get_tensor_shape(self, name: str) -> tuple[int, ...]:
        return self._shapes[name]

    def set_tensor_address(self, name: str, address: int) -> None:
        self._addresses[name] = address

    def update_device_memory_size_for_shapes(self) -> int:
        return self._wanted

    def set_device_memory(self, address: int, size: int) -> None:
        self._scratch = address

    def execute_async_v3(self, stream: int) -> bool:
        at, half = self._addresses, self._wanted // 2
        height, width, planes = self._shapes[FRAME]
        end = at[FRAME] + height * width * planes - _SHOWN
        busy = [(self._scratch + half * (1 - turn % 2), self._scratch + half * (turn % 2), half) for turn in range(_ROUNDS)]
        shown = [(at[HEAD], at[FRAME], _SHOWN), (at[TAIL], end, _SHOWN), (at[ECHO], at[FACTOR], 16)]
        return all(int(self._driver.cuMemcpyDtoDAsync(*copy, stream)[0]) == 0 for copy in (*busy, *shown))


def right(session: Any, frames: Sequence[Any], numbers: Sequence[int], ahead: bool) -> bool:
    """Whether what comes back is of each frame and of what was put beside it; `ahead`: with the next frame announced before."""
    import numpy as np

    at = [0]
    session.watch(lambda: frames[(at[0] + 1) % len(frames)] if ahead else None)
    good = []
    for number in numbers:
        at[0] = number
        session.inputs[FACTOR][:] = number
        pixels, found = frames[number % len(frames)].reshape(-1), session.run(frames[number % len(frames)])
        good.append(np.array_equal(found[HEAD], pixels[:_SHOWN]) and np.array_equal(found[TAIL], pixels[-_SHOWN:]))
        good.append(bool((found[ECHO] == number).all()))
    session.watch(lambda: None)
    return all(good)
