from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
from numba import njit
from numba.core.caching import CacheImpl

from realtime.compiled import compiled, prepare
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


def test_threads_that_come_first_at_the_same_time_all_get_the_result() -> None:
    @compiled("float64(float64)")
    def half(value: float) -> float:
        return value / 2

    together = Barrier(4)

    def first() -> float:
        together.wait(10)
        return half(2.0)

    with ThreadPoolExecutor(4) as threads:
        calls = [threads.submit(first) for _ in range(4)]
    assert [call.result() for call in calls] == [1.0] * 4


def test_made_ready_twice() -> None:
    prepare(total, total)
    prepare(total)
    assert total(np.array([1], np.float32), 1.0) == 2.0


def test_keeps_name_and_documentation() -> None:
    assert total.__name__ == "total"


def test_nowhere_to_keep_compiled_code_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with a read-only installation whose user has no home."""
    for locator in CacheImpl._locator_classes:
        monkeypatch.setattr(locator, "from_function", lambda *given: None)
    with pytest.raises(RealtimeError, match=r"^there is no place to keep compiled code: .* NUMBA_CACHE_DIR$"):
        compiled("float32(float32)")(lambda value: value)
