"""Networks that take and give half-precision numbers, as ones of float32: what reads them need not know."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from realtime.backends.base import Session, SessionSpecs, TensorSpec
from realtime.backends.bound import BoundSession


def in_floats(session: Session) -> Session:
    """The session itself where it has no float16 input or output, else one around it, which it owns, with float32 in their place."""
    ports = (*session.specs.inputs, *session.specs.outputs)
    return _InFloats(session) if any(port.dtype == np.float16 for port in ports) else session


class _InFloats(BoundSession):
    """Copies what goes in to buffers of half precision, and what comes out from them."""

    def __init__(self, session: Session) -> None:
        specs = SessionSpecs(*(tuple(map(_widened, ports)) for ports in (session.specs.inputs, session.specs.outputs)))
        same = {spec.name for spec in specs.inputs if spec in session.specs.inputs}
        bound = {spec.name: session.inputs[spec.name] if spec.name in same else np.zeros(spec.shape, spec.dtype) for spec in specs.inputs}
        super().__init__(session.backend, specs, inputs=bound)
        self._session = session
        self._narrow = [(session.inputs[name], array) for name, array in bound.items() if name not in same]

    def _infer(self) -> None:
        for narrow, wide in self._narrow:
            np.copyto(narrow, wide, casting="same_kind")
        for name, values in self._session.run().items():
            np.copyto(self._outputs[name], values)

    def close(self) -> None:
        super().close()
        self._session.close()


def _widened(spec: TensorSpec) -> TensorSpec:
    return replace(spec, dtype=np.dtype(np.float32)) if spec.dtype == np.float16 else spec
