from __future__ import annotations

import pytest

from tests.graphs.runtimes import RUNTIMES


@pytest.fixture(params=RUNTIMES, scope="module")
def runtime(request: pytest.FixtureRequest) -> str:
    """Every golden test runs on both: what one of them forgives, the other may not."""
    return str(request.param)
