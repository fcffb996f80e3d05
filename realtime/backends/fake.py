"""A session without a network: a function on arrays, for tests of whatever sits on top of a session."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from realtime.backends.base import SessionSpecs, TensorSpec
from realtime.backends.bound import BoundSession
from realtime.types import Array

Network = Callable[[Mapping[str, Array]], Mapping[str, Array]]


@dataclass(frozen=True, slots=True)
class Step:
    """What one run of a FakeSession does besides computing: sleep, then raise, or fill the float outputs with NaN."""

    seconds: float = 0.0
    error: Exception | None = None
    nan: bool = False


class FakeSession(BoundSession):
    """Runs `network` on the bound inputs and copies what it returns to the bound outputs.

    `network` may return some of the outputs only; the others keep their values. `script` says what befalls the first runs, in order;
    later runs are plain. `runs` counts.
    """

    def __init__(
        self,
        inputs: Sequence[TensorSpec],
        outputs: Sequence[TensorSpec],
        network: Network | None = None,
        script: Iterable[Step] = (),
    ) -> None:
        super().__init__("fake", SessionSpecs(tuple(inputs), tuple(outputs)))
        self._network = network
        self._script = iter(script)
        self.runs = 0

    def _infer(self) -> None:
        self.runs += 1
        step = next(self._script, Step())
        time.sleep(step.seconds)
        if step.error is not None:
            raise step.error
        for name, value in (self._network(self.inputs) if self._network else {}).items():
            np.copyto(self._outputs[name], value)
        if step.nan:
            self._spoil()

    def _spoil(self) -> None:
        for array in self._outputs.values():
            if np.issubdtype(array.dtype, np.floating):
                array.fill(np.nan)


def spec(name: str, *shape: int, dtype: type[np.generic] = np.float32) -> TensorSpec:
    """Shorthand: `spec("image", 1, 3, 192, 192)`."""
    return TensorSpec(name, shape, np.dtype(dtype))
