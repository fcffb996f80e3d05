"""The networks of the published size, at a sixteenth of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from realtime.backends.select import open_session
from realtime.models.peek import Peek
from realtime.models.swappers.recognise import recognise
from tests.twins.full import LAYOUTS, full_twin


@pytest.mark.parametrize("name", LAYOUTS)
def test_they_keep_the_contract_and_depend_on_all_they_take(tmp_path: Path, name: str) -> None:
    path = tmp_path / f"{name}.onnx"
    counts = full_twin(name, path, share=1 / 16)
    assert recognise(path, Peek(path)).words[0].split("_")[0] in name
    with open_session(path, "onnxruntime") as session:
        rng, pictures = np.random.default_rng(0), []
        for port in (None, "target", "source"):
            for key, array in session.inputs.items():
                array[...] = rng.random(array.shape, np.float32) if port in (None, key) else array
            pictures.append(session.run()["output"].copy())
    assert np.isfinite(pictures).all() and counts["weights_M"] > 0.1
    assert np.abs(pictures[1] - pictures[0]).max() > 1e-3 and np.abs(pictures[2] - pictures[1]).max() > 1e-4
