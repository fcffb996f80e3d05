from __future__ import annotations

import io
import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import realtime
from realtime import cli
from realtime.commands import ending, run
from realtime.config import OPTIONS
from realtime.errors import SinkError
from realtime.pipeline.finish import NOTHING_LEFT
from realtime.settings import Settings

PACKAGE = Path(realtime.__file__).parent
REPORT = {
    "frames_in": 3, "frames_out": 3, "dropped": 0, "fps": 30.0, "age_ms": {"p50": 7.0, "p95": 8.0, "p99": None, "max": None},
    "stage_ms": {}, "detections": 1, "lost_frames": 0, "hidden_frames": 0, "states": {"swapped": 3},
    "input": {"name": "camera 0", "kind": "live", "width": 640, "height": 480, "fps": 30.0}, "seconds": 0.1, "whole": True,
}  # fmt: skip


def python(*argv: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, *argv], cwd=cwd, env={**os.environ, **environment}, capture_output=True, timeout=60, check=False)


@pytest.fixture
def fake_app(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Stands in for `realtime.app`: keeps the settings it is given, then does as `ending` says."""
    seen = SimpleNamespace(settings=None, ending=None)

    class FakeApp:
        def __init__(self, settings: Settings, **given: object) -> None:
            assert set(given) == {"notify", "progress", "kernels", "count", "begins", "photos"}
            seen.settings = settings
            self.report: dict[str, Any] | None = None

        def run(self) -> None:
            self.report = seen.report
            if seen.ending is not None:
                raise seen.ending

    seen.report = dict(REPORT)
    monkeypatch.setitem(sys.modules, "realtime.app", SimpleNamespace(App=FakeApp))
    monkeypatch.setattr(realtime, "app", sys.modules["realtime.app"], raising=False)
    monkeypatch.setattr("realtime.checking.check", lambda settings: None)
    monkeypatch.setattr(run, "prepare", lambda *given: nullcontext(lambda: None))
    monkeypatch.setattr("realtime.config.default_config_file", lambda: Path("no such file"))
    return seen


def test_run_passes_the_settings_on_and_prints_a_summary(fake_app: SimpleNamespace, capsys: pytest.CaptureFixture[str]) -> None:
    status = cli.main(["--source", __file__, __file__, "--source", __file__, "--output", "null", "--output", "window", "--no-mirror"])
    assert status == 0
    here = Path(__file__)
    assert fake_app.settings == Settings(sources=((here, here), (here,)), outputs=("null", "window"))
    out, err = capsys.readouterr()
    assert "3 frames in 0.1 s (30.0 fps)" in out
    assert "7.0 ms (median), 8.0 ms (p95), - ms (p99)" in out
    assert err == ""


def test_a_closed_stdout_is_no_error(fake_app: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    assert cli.main(["--source", __file__]) == 0


def test_an_interrupted_run_tells_what_it_measured(fake_app: SimpleNamespace, capsys: pytest.CaptureFixture[str]) -> None:
    fake_app.ending = KeyboardInterrupt()
    assert cli.main(["--source", __file__]) == 130
    assert "3 frames in 0.1 s" in capsys.readouterr().out


def test_what_there_is_of_the_outputs_is_not_asked_of_a_disk_that_hangs(tmp_path: Path) -> None:
    for name in ("there.mp4", "hangs.mp4"):
        (tmp_path / name).write_bytes(b"")
    outputs = [str(tmp_path / name) for name in ("there.mp4", "hangs.mp4", "gone.mp4")] + ["null"]
    report = {"outputs": [{"name": name, "left": "hangs" in name} for name in outputs]}
    assert ending.left_by(outputs, 0.0, report) == [outputs[0], "null"]
    assert ending.left_by(outputs, 0.0, {}) == [*outputs[:2], "null"]


FAILED = "1200 frames were hidden (the device was lost)"


@pytest.mark.parametrize(
    ("more", "status", "words"),
    [
        ({"failures": {"the device was lost": 1200}, "failing": False}, 0, [FAILED, "they recovered"]),
        ({"failures": {"the device was lost": 1200}, "failing": True}, 1, [FAILED, "they did not recover", "--backend"]),
        ({"hangs": 2, "failures": {}, "failing": True}, 1, ["2 times the networks gave no answer", "placeholder", "did not recover"]),
        ({"outputs": [{"name": "out.mp4", "written": 90, "missed": 10}]}, 0, ["out.mp4 lacks 10 of 100 frames", "--size"]),
    ],
)
def test_what_went_wrong_in_a_run_that_came_through_is_told_at_its_end(
    fake_app: SimpleNamespace, capsys: pytest.CaptureFixture[str], more: dict[str, Any], status: int, words: list[str]
) -> None:
    fake_app.report = {**REPORT, **more}
    assert cli.main(["--source", __file__]) == status
    err = capsys.readouterr().err
    assert all(word in err for word in words) and err.count("\n") == 1


def test_a_run_that_was_ended_while_its_networks_failed_says_so(fake_app: SimpleNamespace, capsys: pytest.CaptureFixture[str]) -> None:
    fake_app.report, fake_app.ending = {**REPORT, "failures": {"no answer": 3}, "failing": True}, KeyboardInterrupt()
    assert cli.main(["--source", __file__, "--on-lost", "pass"]) == 130
    assert "3 frames were passed on unswapped (no answer); they did not recover" in capsys.readouterr().err


def test_a_few_frames_that_an_output_missed_are_not_worth_a_word() -> None:
    assert ending.afterwords({"outputs": [{"name": "out.mp4", "written": 999, "missed": 1}]}, "hide") == []


def test_of_an_output_that_hung_it_is_told_already_why_it_lacks_frames() -> None:
    assert ending.afterwords({"outputs": [{"name": "out.mp4", "written": 9, "missed": 91, "left": True}]}, "hide") == []


def of_a_file(kind: str, states: dict[str, int], seconds: float = 2.0) -> dict[str, Any]:
    count = sum(states.values())
    about = {"name": "in", "kind": kind, "width": 64, "height": 48, "fps": 30.0}
    hidden = count - states.get("swapped", 0)
    counts = {"frames_in": count, "frames_out": count, "states": states, "hidden_frames": hidden}
    return {**REPORT, **counts, "input": about, "seconds": seconds}


@pytest.mark.parametrize(
    ("report", "said"),
    [
        (of_a_file("picture", {"swapped": 1}), "out.png: 1 picture, swapped\n"),
        (of_a_file("file", {"starting": 4, "swapped": 50, "lost": 6}), "out.png: 60 frames in 2.0 s (30.0 fps), 10 without a face\n"),
    ],
)
def test_files_have_a_summary_without_latency(
    fake_app: SimpleNamespace, capsys: pytest.CaptureFixture[str], report: dict[str, Any], said: str
) -> None:
    fake_app.report = report
    assert cli.main(["--source", __file__, "--output", "out.png"]) == 0
    assert capsys.readouterr() == (said, "")


def test_a_run_that_broke_off_names_only_what_it_left(
    fake_app: SimpleNamespace, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    there, missing, old = tmp_path / "there.mp4", tmp_path / "missing.mp4", tmp_path / "old.mp4"
    there.touch()
    old.touch()
    os.utime(old, (1e9, 1e9))
    fake_app.report, fake_app.ending = {**of_a_file("file", {"swapped": 60}), "whole": False}, SinkError("the disk is full")
    unsigned = tmp_path / "film.unsigned.mp4"
    unsigned.touch()
    outputs = [word for path in (missing, there, old, tmp_path / "film.mp4") for word in ("--output", str(path))]
    assert cli.main(["--source", __file__, "--overwrite", *outputs]) == 1
    out, err = capsys.readouterr()
    assert out == f"{there}, {unsigned}, cut short: 60 frames in 2.0 s (30.0 fps), 0 without a face\n"
    assert "the disk is full" in err


def test_a_picture_without_a_face_is_a_failure_that_is_told(fake_app: SimpleNamespace, capsys: pytest.CaptureFixture[str]) -> None:
    fake_app.report = of_a_file("picture", {"starting": 1})
    assert cli.main(["--source", __file__, "--output", "out.png"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "no face to swap was found in in, so nothing was written: " in err and err.count("\n") == 1
    assert "--rotate" in err and "--min-face" in err


def test_a_live_run_names_the_files_that_it_wrote(fake_app: SimpleNamespace, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    written = tmp_path / "call.mp4"
    argv = ["--source", __file__, "--output", "null", "--output", str(written), "--output", "window"]
    assert cli.main(argv) == 0
    assert capsys.readouterr().out.startswith(f"{written}: 3 frames in 0.1 s (30.0 fps), 0 dropped, ")
    written.touch()
    fake_app.ending = KeyboardInterrupt()
    assert cli.main([*argv, "--overwrite"]) == 130
    assert capsys.readouterr().out.startswith(f"{written}: 3 frames in 0.1 s")


def test_a_live_run_without_a_face_says_that_it_left_no_picture(fake_app: SimpleNamespace, capsys: pytest.CaptureFixture[str]) -> None:
    fake_app.report = of_a_file("live", {"starting": 30})
    assert cli.main(["--source", __file__, "--output", "last.png", "--output", "call.mp4"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("call.mp4: 30 frames") and err.startswith("realtime: last.png was not written: no face was found")
    fake_app.report = {**of_a_file("live", {"starting": 30}), "hidden_frames": 0}  # passed on
    assert cli.main(["--source", __file__, "--output", "last.png"]) == 0
    assert capsys.readouterr().out.startswith("last.png: 30 frames")


@pytest.mark.parametrize(("kind", "limit"), [("live", "--seconds"), ("live", "--frames"), ("file", "--seconds")])
def test_a_run_that_ends_before_its_first_frame_is_a_failure_that_is_told(
    fake_app: SimpleNamespace, capsys: pytest.CaptureFixture[str], kind: str, limit: str
) -> None:
    """As on a slow machine that compiles for longer than the run was to take: there is no file, and nobody would know."""
    fake_app.report = of_a_file(kind, {})
    assert cli.main(["--source", __file__, "--output", "out.mp4", limit, "1"]) == 1
    out, err = capsys.readouterr()
    assert out == "" and f"no frame of in was ready before {limit} ended the run" in err and err.count("\n") == 1


def test_a_window_that_is_closed_before_the_first_frame_is_no_failure(fake_app: SimpleNamespace) -> None:
    fake_app.report = of_a_file("live", {})
    assert cli.main(["--source", __file__, "--output", "window"]) == 0


@pytest.mark.parametrize(
    ("kind", "arguments", "named"),
    [
        ("picture", ["--mask", "occlusion,region"], "--mask occlusion,region"),
        ("live", ["--profile", "quality"], "the masks of --profile quality"),
    ],
)
def test_masks_that_left_nothing_are_named(
    fake_app: SimpleNamespace, capsys: pytest.CaptureFixture[str], kind: str, arguments: list[str], named: str
) -> None:
    fake_app.report = of_a_file(kind, {"failed": 3}) | {"reasons": {NOTHING_LEFT: 3}}
    assert cli.main(["--source", __file__, *arguments]) == 1
    assert f"a face was found but {named} left nothing of the swap" in capsys.readouterr().err
    fake_app.report = of_a_file(kind, {"failed": 3, "swapped": 9}) | {"reasons": {NOTHING_LEFT: 3}}
    assert cli.main(["--source", __file__, *arguments]) == 0


def test_a_live_run_without_a_face_is_none(fake_app: SimpleNamespace, capsys: pytest.CaptureFixture[str]) -> None:
    fake_app.report = of_a_file("live", {"starting": 30})
    assert cli.main(["--source", __file__]) == 0
    assert "30 without a face" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("ending", "status", "said"),
    [
        (SinkError("the disk is full: free some space"), 1, "realtime: the disk is full: free some space\n"),
        (KeyboardInterrupt(), 130, ""),
        (KeyboardInterrupt(15), 143, ""),
        (OSError(28, "No space left on device"), 1, "realtime: the disk that the output goes to is full"),
        (ZeroDivisionError("oops"), 1, "internal error (ZeroDivisionError: oops)"),
        (MemoryError(), 1, "not enough memory"),
    ],
)
def test_endings(fake_app: SimpleNamespace, capsys: pytest.CaptureFixture[str], ending: BaseException, status: int, said: str) -> None:
    fake_app.ending, fake_app.report = ending, None
    assert cli.main(["--source", __file__]) == status
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err if said else err == ""
    assert "Traceback" not in err


def test_debug_shows_the_traceback(tmp_path: Path) -> None:
    ended = python("-m", "realtime", "--source", "nix.jpg", "--log-level", "debug", cwd=tmp_path, PYTHONPATH=str(PACKAGE.parent))
    assert ended.returncode == 2
    assert b"Traceback" in ended.stderr
    assert ended.stderr.splitlines()[-1].startswith(b"realtime: --source: the source photo nix.jpg does not exist")


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--sorce", "x.jpg"], "unknown option --sorce; did you mean '--source'?"),
        (["--source", __file__, "--fps"], "--fps"),
        (["--source", __file__, "--mirror=yes"], "--mirror takes no value"),
        (["--source", __file__, "--profile=fats"], "did you mean 'fast'?"),
        (["cameraz"], "unknown command 'cameraz'; did you mean 'cameras'?"),
        (["me.jpg"], "to swap a face: --source me.jpg"),
        (["--source", __file__, "--config", "nix.toml"], "nix.toml does not exist"),
        (["demo", "--second", "3"], "did you mean '--seconds'?"),
        (["doctor", "now"], "unknown argument now"),
        (["models", "feth"], "did you mean 'fetch'?"),
        (["models"], "list, fetch, add or verify"),
    ],
)
def test_mistakes_are_one_sentence_and_status_2(capsys: pytest.CaptureFixture[str], argv: list[str], said: str) -> None:
    assert cli.main(argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("realtime: ")
    assert err.count("\n") == 1
    assert said in err


@pytest.mark.parametrize("argv", [["--help"], ["help"], *([name, "--help"] for name in cli.COMMANDS)])
def test_help(capsys: pytest.CaptureFixture[str], argv: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(argv)
    assert ended.value.code == 0
    out = capsys.readouterr().out
    assert "usage:" in out
    assert "--help" in out


def test_help_gives_each_option_one_line_with_its_default(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {line.split()[0]: line for line in run.parser().format_help().splitlines() if line.startswith("  --")}
    for option in OPTIONS:
        row = next(row for name, row in rows.items() if name.rstrip(",") == f"--{option.name}")
        assert row.rstrip().endswith((f"[{option.default}]", "(required)")), row


def test_help_version_and_mistakes_import_nothing_heavy() -> None:
    code = (
        "import sys; from realtime.cli import main\n"
        "for argv in (['--version'], ['--help'], ['--sorce'], ['--source', 'nix.jpg'], ['demo', '--help'], ['doctor', '--help']):\n"
        "    try: main(argv)\n"
        "    except SystemExit: pass\n"
        "heavy = {'cv2', 'numba', 'numpy', 'onnx', 'onnxruntime', 'openvino', 'av', 'pygame', 'rich'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    ended = python("-c", code, cwd=PACKAGE.parent)
    assert ended.returncode == 0, ended.stderr


def test_a_closed_pipe_is_quiet(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    code = "import sys; from realtime import cli; cli._command = lambda argv: print('x' * 100_000) or 0; sys.exit(cli.main([]))"
    ended = subprocess.run([sys.executable, "-c", code], cwd=PACKAGE.parent, stdout=write, stderr=subprocess.PIPE, timeout=60, check=False)
    os.close(write)
    assert (ended.returncode, ended.stderr) == (cli.BROKEN_PIPE, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is Linux's")
def test_a_full_disk_under_stdout_is_one_sentence() -> None:
    code = "import sys; from realtime import cli; cli._command = lambda argv: print('x') or 0; sys.exit(cli.main([]))"
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-c", code]
        ended = subprocess.run(command, cwd=PACKAGE.parent, stdout=full, stderr=subprocess.PIPE, timeout=60, check=False)
    assert ended.returncode == 1
    assert ended.stderr.startswith(b"realtime: the disk that the output goes to is full") and ended.stderr.count(b"\n") == 1


def test_a_table_for_a_closed_pipe_ends_as_all_else_does() -> None:
    """Rich alone would end the program with 1."""
    read, write = os.pipe()
    os.close(read)
    code = (
        "import sys; from realtime import cli; from realtime.commands.output import console\n"
        "cli._command = lambda argv: console().print('x' * 100_000) or 0; sys.exit(cli.main([]))"
    )
    ended = subprocess.run([sys.executable, "-c", code], cwd=PACKAGE.parent, stdout=write, stderr=subprocess.PIPE, timeout=60, check=False)
    os.close(write)
    assert (ended.returncode, ended.stderr) == (cli.BROKEN_PIPE, b"")


def test_a_console_that_lacks_a_character(tmp_path: Path) -> None:
    ended = python("-m", "realtime", "--source", "ñ☃.jpg", cwd=tmp_path, PYTHONPATH=str(PACKAGE.parent), PYTHONIOENCODING="ascii")
    assert ended.returncode == 2
    assert rb"\u2603.jpg does not exist" in ended.stderr


def test_streams_without_reconfigure_are_left_alone(monkeypatch: pytest.MonkeyPatch, fake_app: SimpleNamespace) -> None:
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert cli.main(["--source", __file__]) == 0
