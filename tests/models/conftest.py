"""Opens twins (tests/twins) on every backend of this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import onnx
import pytest

from realtime.backends.base import Session, UnavailableError
from realtime.backends.select import describe, open_session

OpenTwin = Callable[[Any], Session]
"""Writes a ModelProto to a file and opens it; closed when the test is over."""


@pytest.fixture(params=[status.name for status in describe() if status.usable])
def open_twin(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenTwin]:
    with ExitStack() as cleanup:
        count = iter(range(1000))

        def opened(model: Any) -> Session:
            path = tmp_path / f"{next(count)}.onnx"
            onnx.save(model, path)
            try:
                return cleanup.enter_context(open_session(path, request.param))
            except UnavailableError as error:  # a backend with kernels of its own for a few networks
                pytest.skip(str(error))

        yield opened
