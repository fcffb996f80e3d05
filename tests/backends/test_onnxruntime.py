"""What is special about ONNX Runtime: its telemetry is off before it can start."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from realtime.backends import select
from tests.backends.graphs import affine

_ROOT = Path(__file__).parents[2]
_HOMES = ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "LOCALAPPDATA", "APPDATA", "USERPROFILE")
_SESSION = """
from realtime.backends.select import open_session
open_session(Path(sys.argv[1]), "onnxruntime").run()
"""
_HALF = """
from realtime.builder.prepare import fp16
fp16(Path(sys.argv[1]), Path(sys.argv[1] + ".half"), [])
"""
_INT8 = """
from contextlib import suppress
import numpy as np
from realtime.builder.quantise import int8
from realtime.errors import ModelError
with suppress(ModelError):  # it has no product that could be quantised
    int8(Path(sys.argv[1]), Path(sys.argv[1] + ".int8"), [{"x": np.ones((1, 4), np.float32)}])
"""
_DOCTOR = """
from realtime.backends.select import describe
assert describe()
"""
_TELL = """
import os, psutil, time
assert "onnxruntime" in sys.modules
time.sleep(0.5)
print(os.environ.get("ORT_DISABLE_TELEMETRY"), len(psutil.Process().net_connections()))
"""


@pytest.mark.skipif("onnxruntime" not in [s.name for s in select.describe() if s.usable], reason="ONNX Runtime is not installed here")
@pytest.mark.parametrize(
    ("work", "before"),
    [(_SESSION, None), (_SESSION, "0"), (_HALF, None), (_INT8, None), (_DOCTOR, None)],
    ids=["session", "session of a user who switched it on", "half precision", "int8", "doctor"],
)
def test_it_sends_and_stores_nothing_about_its_user(work: str, before: str | None, tmp_path: Path) -> None:
    """With telemetry on it makes an identifier and a database of events in the user's cache folder as soon as it is imported."""
    home = tmp_path / "home"
    home.mkdir()
    network = affine(tmp_path / "affine.onnx")
    environment = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"} | dict.fromkeys(_HOMES, str(home))
    if before is not None:
        environment["ORT_DISABLE_TELEMETRY"] = before
    script = f"import sys\nfrom pathlib import Path\n{work}\n{_TELL}"
    command = [sys.executable, "-c", script, str(network)]
    done = subprocess.run(command, cwd=_ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(before), "0"], "the variable is as the user had it, and nothing is connected"
    assert [path for path in home.rglob("*") if "Microsoft" in path.parts or "onnxruntime" in path.name] == []
