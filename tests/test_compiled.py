from __future__ import annotations

import numpy as np
import pytest
from numba import njit
from numba.core.caching import CacheImpl

from realtime.compiled import compiled
from realtime.errors import RealtimeError


@njit
def twice(value):  # type: ignore[no-untyped-def]
    return value * 2


@compiled("float32(float32[::1], float32)")
def total(values: np.ndarray, scale: float) -> float:
    result = np.float32(0)
    for value in values:
        result += twice(value) * scale
    return float(result)


def test_calls_of_compiled_functions_and_conversion_to_the_signature() -> None:
    assert total(np.array([1, 2, 3], np.float32), 0.5) == 6.0
    assert total(np.array([1, 2, 3], np.float32), 2) == 24.0


def test_arguments_of_another_kind_are_refused_rather_than_compiled_for() -> None:
    for _ in range(2):
        with pytest.raises(TypeError):
            total(np.array([1, 2, 3], np.float64), 1.0)
        with pytest.raises(TypeError):
            total(np.zeros((3, 6), np.float32)[:, 0], 1.0)


def test_keeps_name_and_documentation() -> None:
    assert total.__name__ == "total"


def test_nowhere_to_keep_compiled_code_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with a read-only installation whose user has no home."""
    for locator in CacheImpl._locator_classes:
        monkeypatch.setattr(locator, "from_function", lambda *given: None)
    with pytest.raises(RealtimeError, match=r"^There is no place to keep compiled code: .* NUMBA_CACHE_DIR\.$"):
        compiled("float32(float32)")(lambda value: value)
