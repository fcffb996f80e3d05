from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from realtime import cli
from realtime.backends.gpus import Gpu
from realtime.backends.select import BackendStatus
from realtime.commands import checks, models
from realtime.commands.checks import Finding
from realtime.errors import RealtimeError
from realtime.sources.cameras import CameraEntry


def by_check(findings: list[Finding]) -> dict[str, Finding]:
    return {finding.check: finding for finding in findings}


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> SimpleNamespace:
    """A model store of which `states` says how the models are that are not ready, and `ready` whether the others are."""
    folder = tmp_path / "models" / "not yet made"
    made = SimpleNamespace(folder=folder, ready=True, states={})
    made.checked = lambda name: SimpleNamespace(state=made.states.get(name, "ready" if made.ready else "missing"))
    storage = SimpleNamespace(model_store=lambda: made, engines_folder=lambda: tmp_path / "engines")
    monkeypatch.setitem(sys.modules, "realtime.storage", storage)
    return made


def test_examines_this_machine_without_a_traceback(store: SimpleNamespace) -> None:
    found = by_check(checks.examine())
    assert found["python"].status == "ok"
    assert found["disk"].status == "ok"
    assert "this check failed" not in " ".join(finding.detail for finding in found.values())
    wanted = {"system", "cpu", "gpu", "backend openvino", "backend onnxruntime", "models", "kernels", "video files", "content credentials"}
    assert {*wanted, "window"} <= {name.partition(" 0")[0] for name in found}


def test_every_finding_that_is_not_ok_says_what_to_do(store: SimpleNamespace) -> None:
    store.ready = False
    for finding in checks.examine():
        if finding.status != "ok":
            assert any(word in finding.detail for word in (":", ";", " or ", "use ")), finding


def test_missing_models_are_a_note_with_the_command(store: SimpleNamespace) -> None:
    store.ready = False
    (finding,) = checks._models()
    assert finding.status == "note"
    assert "models fetch" in finding.detail


def test_damaged_models_are_told_from_missing_ones(store: SimpleNamespace) -> None:
    store.states = {"mesh": "damaged", "sface": "missing"}
    missing, damaged = checks._models()
    assert missing.detail.startswith("sface not fetched yet")
    assert damaged.detail.startswith("mesh damaged: the next run fetches it again, or ")
    assert missing.status == damaged.status == "note"


def test_one_usable_backend_is_enough_and_none_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = BackendStatus("openvino", usable=False, version="", why="OpenVINO is not installed: run pip install openvino.")
    working = BackendStatus("onnxruntime", usable=True, version="1.20", why="")
    monkeypatch.setattr("realtime.backends.select.describe", lambda: [broken, working])
    assert [finding.status for finding in checks._backends()] == ["note", "ok"]
    monkeypatch.setattr("realtime.backends.select.describe", lambda: [broken])
    (finding,) = checks._backends()
    assert (finding.status, finding.detail) == ("cure", broken.why)


def test_without_content_credentials_the_swap_still_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("realtime.trust.credentials.available", lambda: False)
    (finding,) = checks._credentials()
    assert finding.status == "note" and "pip install" in finding.detail


def test_a_full_disk_needs_a_cure(monkeypatch: pytest.MonkeyPatch, store: SimpleNamespace) -> None:
    monkeypatch.setattr(checks.shutil, "disk_usage", lambda path: SimpleNamespace(free=3_000_000))
    (finding,) = checks._disk()
    assert finding.status == "cure"
    assert finding.detail.startswith("3.0 MB free")
    assert "REALTIME_MODELS" in finding.detail


@pytest.mark.parametrize(("ready", "status"), [(True, "note"), (False, "cure")])
def test_a_read_only_models_folder_matters_only_while_models_are_missing(
    ready: bool, status: str, monkeypatch: pytest.MonkeyPatch, store: SimpleNamespace
) -> None:
    store.ready = ready
    monkeypatch.setattr(checks.os, "access", lambda path, mode: False)
    (finding,) = checks._disk()
    assert finding.status == status
    assert "cannot be written" in finding.detail
    assert "REALTIME_MODELS" in finding.detail


def test_a_check_that_ends_with_a_sentence_is_told_in_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    def check() -> Iterator[Finding]:
        raise RealtimeError("there is no place to keep compiled code.")
        yield

    monkeypatch.setattr(checks, "CHECKS", {"kernels": check})
    assert checks.examine() == [Finding("kernels", "cure", "there is no place to keep compiled code.")]


def test_cameras_and_virtual_camera(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("realtime.sources.cameras.list_cameras", lambda: [CameraEntry(0, "Logi C920", "/dev/video0", 200)])
    (camera,) = checks._cameras()
    assert (camera.status, camera.detail) == ("ok", "0 'Logi C920', /dev/video0")
    monkeypatch.setattr("realtime.sinks.virtualcam.diagnose", lambda: (False, "there is none: load the driver."))
    (virtual,) = checks._virtual_cameras()
    assert (virtual.status, virtual.detail) == ("note", "there is none: load the driver.")


def test_what_else_may_hide_a_camera(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert "Privacy" in checks._also_try("darwin")
    assert "desktop apps" in checks._also_try("win32")
    assert checks._also_try("linux", tmp_path) == ""
    (tmp_path / "video0").touch()
    assert checks._also_try("linux", tmp_path) == ""
    monkeypatch.setattr(checks.os, "access", lambda path, mode: False)
    assert "usermod" in checks._also_try("linux", tmp_path)


def test_no_display_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setenv("DISPLAY", ":0")
    assert [finding.status for finding in checks._window()] == ["ok"]
    monkeypatch.delenv("DISPLAY")
    assert [finding.status for finding in checks._window()] == ["note"]


def broken() -> Iterator[Finding]:
    raise OSError("the library is built for another machine")
    yield  # makes it a generator


def fine() -> Iterator[Finding]:
    yield Finding("fine", "ok", "yes [really]")


def lacking() -> Iterator[Finding]:
    yield Finding("camera", "note", "none found: plug one in")


def unfetched() -> Iterator[Finding]:
    yield Finding("models", "note", "mesh is not here: the first run fetches it")


@pytest.mark.parametrize(
    ("rows", "status", "said"),
    [
        ({"fine": fine, "models": unfetched, "camera": lacking}, 0, "once its models are here:"),
        ({"fine": fine}, 0, "from camera to virtual camera:"),
        ({"fine": fine, "camera": lacking}, 0, "it still needs: camera."),
        ({"fine": fine, "odd": broken}, 1, "mend what is marked 'cure'"),
    ],
)
def test_status_table_and_verdict(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], rows: dict[str, Any], status: int, said: str
) -> None:
    monkeypatch.setattr(checks, "CHECKS", rows)
    assert cli.main(["doctor"]) == status
    out, err = capsys.readouterr()
    assert said in out
    assert "yes [really]" in out
    assert err == ""
    if "odd" in rows:
        assert "this check failed (OSError: the library is built for another machine)" in out


LONG = "w" * 30 + " and so on" * 30


def wordy() -> Iterator[Finding]:
    yield Finding("wordy", "note", LONG)
    yield Finding("short", "ok", "yes")


@pytest.mark.parametrize("columns", ["80", ""])
def test_what_goes_into_a_pipe_is_not_broken_at_the_width_of_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr(checks, "CHECKS", {"wordy": wordy})
    assert cli.main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith(LONG) and lines[1].split() == ["short", "ok", "yes"]
    assert all(line == line.rstrip() for line in lines)


def test_a_table_of_models_for_a_pipe_has_a_line_each(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    models.show([status_of("a_model_with_a_long_name", "missing"), status_of("b", "ready")], Path("/models/" + "x" * 200))
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["model", "a_model_with_a_long_name", "b", "in"]


def test_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(checks, "CHECKS", {"fine": fine, "odd": broken})
    assert cli.main(["doctor", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["can_run"] is False
    assert told["findings"][0] == {"check": "fine", "status": "ok", "detail": "yes [really]"}
    assert told["findings"][1]["status"] == "cure"


def test_cameras_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    logi = CameraEntry(0, "logi [c920]", "/dev/video0", 200, ("MJPG 1280x720 at 30 fps",))
    found = [logi, CameraEntry(2, "OBS", "", 200, is_virtual=True)]
    monkeypatch.setattr("realtime.sources.cameras.list_cameras", lambda: found)
    assert cli.main(["cameras"]) == 0
    out = capsys.readouterr().out
    assert "logi [c920]" in out
    assert "MJPG 1280x720 at 30 fps" in out
    assert "OBS (virtual)" in out
    assert cli.main(["cameras", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[1]["is_virtual"] is True
    monkeypatch.setattr("realtime.sources.cameras.list_cameras", list)
    assert cli.main(["cameras"]) == 0
    assert "no camera was found" in capsys.readouterr().out


def status_of(name: str, state: str) -> Any:
    from realtime.models.store import ModelState, ModelStatus

    return ModelStatus(name, "detector", "MIT", ModelState(state), Path("/models") / f"{name}.onnx", 1_500_000)


def test_models_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked: list[Any] = []

    def fetch(names: Any, folder: Any, progress: Any, *, mirror: str, consent: Any) -> Any:
        asked.append((tuple(names), folder))
        progress("fetching a", 0, 10)
        progress("fetching a", 10, 10)
        return (status_of("a", "ready"),)

    store = SimpleNamespace(
        folder=Path("/models"),
        list=lambda: (status_of("a", "ready"), status_of("b", "missing")),
        verify=lambda names: tuple(status_of(name, "damaged") for name in names),
        fetch=fetch,
    )
    monkeypatch.setitem(sys.modules, "realtime.storage", SimpleNamespace(model_store=lambda: store))
    assert cli.main(["models", "list", "--json"]) == 0
    assert [(row["name"], row["state"]) for row in json.loads(capsys.readouterr().out)] == [("a", "ready"), ("b", "missing")]
    assert cli.main(["models", "verify"]) == 1
    out = capsys.readouterr().out
    assert "a cannot be used as it is: run" in out
    assert "models fetch a" in out
    assert cli.main(["models", "fetch", "a", "--from", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert asked == [(("a",), tmp_path)]
    assert "1.5 MB" in out
    assert err == "realtime: fetching a\n"
    assert cli.main(["models", "fetch", "a", "--from", "no such folder"]) == 2


def test_gpus_and_what_drives_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("realtime.backends.gpus.gpus", lambda: [Gpu(89, 12040, "RTX 4070", 12 * 2**30)])
    (found,) = checks._gpus()
    assert (found.check, found.detail) == ("gpu 0", "RTX 4070 (12 GiB, compute capability 8.9, driver for CUDA 12.4)")
    monkeypatch.setattr("realtime.backends.gpus.gpus", list)
    (none,) = checks._gpus()
    assert none.status == "ok" and "runs on the processor" in none.detail
    driven = BackendStatus("tensorrt", usable=True, version="11.4", why="", note="driven by cuda-bindings 13.5")
    monkeypatch.setattr("realtime.backends.select.describe", lambda: [driven])
    assert [finding.detail for finding in checks._backends()] == ["11.4, driven by cuda-bindings 13.5"]


def test_engines_that_wait_for_a_gpu_and_those_that_are_used(monkeypatch: pytest.MonkeyPatch, store: SimpleNamespace) -> None:
    network = SimpleNamespace(name="follow", paths=[], recipe=SimpleNamespace(graph="follow"))
    monkeypatch.setattr("realtime.commands.firstrun.engined", lambda folder, models: [network])
    monkeypatch.setattr("realtime.builder.manifest.find", lambda *what, graph: None)
    for waiting, words in (([1], "the next run judges it"), ([], "none for a backend that runs here")):
        monkeypatch.setattr("realtime.builder.manifest.pending", lambda *what, waiting=waiting: waiting)
        (finding,) = checks._engines()
        assert (finding.check, finding.status) == ("engine follow", "ok") and words in finding.detail
    entry = SimpleNamespace(target="tensorrt", precision="fp16", ms=0.5)
    monkeypatch.setattr("realtime.builder.manifest.find", lambda *what, graph: entry)
    assert [finding.detail for finding in checks._engines()] == ["tensorrt fp16, 0.5 ms"]
