"""A session whose network is machine code of our own."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from realtime.backends.base import SessionSpecs, TensorSpec
from realtime.backends.bound import BoundSession, aligned_zeros
from realtime.backends.native import kernels
from realtime.backends.native.keep import kept


class NativeSession(BoundSession):
    """One network on one thread, the caller's. Its input is a view into the arena, whose rows do not touch.

    `cache` is a folder where the plan is kept, which saves a third of a second at the next start. Raises UnavailableError for a network
    with a layer that there is no kernel for.
    """

    def __init__(self, path: Path, *, cache: Path | None = None) -> None:
        plan, single = kept(path, cache), np.dtype(np.float32)
        inputs = (TensorSpec(plan.input, (1, *plan.shape), single),)
        outputs = tuple(TensorSpec(each.name, each.shape, single) for each in plan.outputs)
        super().__init__("native cpu fp32", SessionSpecs(inputs, outputs))
        self._plan = plan
        self._arena = aligned_zeros(TensorSpec("arena", (plan.arena,), single))
        self._weights = aligned_zeros(TensorSpec("weights", plan.weights.shape, single))
        self._weights[:] = plan.weights
        planes, height, width = plan.shape
        rows = self._arena[plan.at : plan.at + planes * (height + 1) * plan.pitch].reshape(1, planes, height + 1, plan.pitch)
        self._inputs[plan.input] = rows[:, :, :height, :width]
        for each in plan.outputs:
            self._outputs[each.name] = self._arena[each.at : each.at + int(np.prod(each.shape))].reshape(each.shape)

    def _infer(self) -> None:
        kernels.execute(self._plan.steps, self._arena, self._weights, self._plan.table)
