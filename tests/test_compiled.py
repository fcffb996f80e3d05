from __future__ import annotations

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest
from numba import njit
from numba.core.caching import CacheImpl

import realtime
from realtime.compiled import compiled, helpers, prepare
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


KERNELS = """
from realtime.compiled import compiled
from realtime.vision.amounts import amount

@compiled("int64(int64)")
def more(value):
    return value + amount()

print(more(1))
"""
HELPER = """
from realtime.compiled import inner

@inner()
def amount():
    return {amount}
"""


def test_code_is_compiled_again_when_only_what_it_calls_in_another_file_has_changed(tmp_path: Path) -> None:
    """As after an update, which leaves the cache where it is; Numba by itself would go on with the old code."""
    package = tmp_path / "realtime"
    shutil.copytree(Path(realtime.__file__).parent / "compiled", package / "compiled", ignore=shutil.ignore_patterns("__pycache__"))
    (package / "vision").mkdir()
    for name in ("__init__.py", "vision/__init__.py"):
        (package / name).touch()
    shutil.copy(Path(realtime.__file__).with_name("errors.py"), package)
    (package / "vision" / "kernels.py").write_text(KERNELS)
    shown = []
    for amount in (1, 1, 20):
        (package / "vision" / "amounts.py").write_text(HELPER.format(amount=amount))
        command, own = [sys.executable, "-B", "-m", "realtime.vision.kernels"], os.environ | {"PYTHONPATH": str(tmp_path)}
        done = subprocess.run(command, cwd=tmp_path, env=own, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        shown.append(int(done.stdout))
    assert shown == [2, 2, 21]


def test_what_other_kernels_take_code_from_does_not_matter(tmp_path: Path) -> None:
    (tmp_path / "realtime" / "vision").mkdir(parents=True)
    files = {name: tmp_path / "realtime" / "vision" / f"{name}.py" for name in ("one", "two", "three")}
    files["one"].write_text("from realtime.vision import two\n")
    files["two"].write_text("from realtime.vision.three import x\nfrom realtime.errors import RealtimeError\n")
    files["three"].write_text("x = 1\n")
    digests = [helpers.digest(files["one"], tmp_path)]
    for changed in ("one", "two", "three"):
        files[changed].write_text(files[changed].read_text() + "# changed\n")
        helpers.digest.cache_clear()
        digests.append(helpers.digest(files["one"], tmp_path))
    assert digests[0] == digests[1]
    assert len(set(digests)) == 3
    helpers.digest.cache_clear()
