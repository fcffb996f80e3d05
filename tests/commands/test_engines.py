"""The command line of the builder, without building."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import onnx
import pytest

from realtime import assets, cli
from realtime.builder import scenes
from realtime.builder.run import Plan, WriteScenes, build
from realtime.builder.workshop import Workshop
from realtime.commands import checks, engines
from realtime.commands.engines import parser
from realtime.errors import BackendError, UsageError
from realtime.interrupt import UNBUILT
from realtime.models.store import ModelStore
from tests.builder.conftest import around_mesh
from tests.importing import interrupted_at

_ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--sm", "new"], "no list of compute capabilities like 75,86,89,120"),
        (["--jobs", "0"], "not a number of at least 1"),
        (["--target", "tpu"], "tensorrt-rtx"),
        (["--precison", "int8"], "--precision"),
    ],
)
def test_mistakes_are_named(argv: list[str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parser().parse(argv)


def test_capabilities_with_and_without_dots() -> None:
    assert parser().parse(["--sm", "8.6,120"]).sm == (86, 120)


def test_an_unknown_model_ends_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["engines", "--models", "meshh"]) == 2
    assert "no model 'meshh'; did you mean 'mesh'?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--models", "nothere.onnx"], "the model nothere.onnx does not exist: check the name"),
        (["--models", "follow_swap:nothere.onnx"], "the model nothere.onnx does not exist: check the name"),
        (["--json", "nowhere/x.json"], "--json: cannot write nowhere/x.json: the folder nowhere does not exist"),
        (["--json", "."], "--json: cannot write .: it is a folder"),
        (["--json", ""], "--json: '' is not a file name"),
    ],
)
def test_files_are_looked_for_before_anything_is_built(
    argv: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(engines, "_build", lambda *_: pytest.fail("it was built"))
    assert cli.main(["engines", *argv]) == 2
    assert words in capsys.readouterr().err


def test_the_table_is_shown_even_when_it_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    assert cli.main(["engines", "--dry-run", "--target", "openvino", "--json", str(tmp_path / "a.json")]) == 2
    out, err = capsys.readouterr()
    assert "would build" in out and "cannot write" in err


def test_what_is_not_here_is_told_and_what_sm_is_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("realtime.builder.run.find_spec", lambda library: None if "tensorrt" in library else object())
    assert cli.main(["engines", "--dry-run", "--sm", "89", "--json", str(tmp_path / "a.json")]) == 0
    rows = json.loads((tmp_path / "a.json").read_text())["engines"]
    states = {row["target"]: (row["state"], row["reason"]) for row in rows}
    assert states["tensorrt-rtx"] == ("not here", "tensorrt_rtx is not installed")
    assert states["openvino"] == ("would build", "")
    assert "--sm changes nothing: it is for tensorrt-rtx" in capsys.readouterr().err


def test_a_dry_run_builds_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["engines", "--dry-run", "--target", "openvino", "--engines", str(tmp_path / "engines"), "--json", str(tmp_path / "a.json")]
    assert cli.main(argv) == 0
    rows = json.loads((tmp_path / "a.json").read_text())["engines"]
    assert {row["state"] for row in rows} == {"would build"}
    assert {row["model"] for row in rows} == {"yunet_320", "mesh", "sface", "selfie"}
    assert not (tmp_path / "engines").exists()
    assert "would build" in capsys.readouterr().out


def test_a_graph_is_planned_for_gpus_only(tmp_path: Path) -> None:
    assert cli.main(["engines", "--dry-run", "--models", "follow", "--json", str(tmp_path / "a.json")]) == 0
    rows = json.loads((tmp_path / "a.json").read_text())["engines"]
    assert {row["target"] for row in rows} == {"tensorrt", "tensorrt-rtx"}


def test_a_graph_beside_others_that_are_for_a_processor_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["engines", "--dry-run", "--target", "openvino", "--models", "mesh", "follow"]) == 0
    assert "nothing was built of follow, which is for GPUs only: name --target tensorrt-rtx or tensorrt" in capsys.readouterr().err
    assert cli.main(["engines", "--dry-run", "--target", "openvino"]) == 0
    assert "nothing was built" not in capsys.readouterr().err, "of the default recipes it is not asked"


@pytest.mark.usefixtures("here")
def test_a_graph_for_a_processor_is_a_sentence(twin: Path, tmp_path: Path) -> None:
    with pytest.raises(BackendError, match="follow is built for GPUs only"):
        build(Plan((around_mesh(twin),), "onnxruntime"), tmp_path, lambda path: path.write_bytes(b""))


@pytest.mark.usefixtures("here")
def test_failed_models_are_named_and_the_exit_code_is_1(
    twin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], write_scenes: WriteScenes
) -> None:
    """Each kind of file that cannot be built, and one that can."""
    wrong = {"truncated": twin.read_bytes()[:500], "text": b"no network at all", "old": _of_opset(twin, 3)}
    for name, content in wrong.items():
        (tmp_path / f"{name}.onnx").write_bytes(content)
    monkeypatch.setattr(engines, "scenes_from", lambda store, calibration: write_scenes)
    monkeypatch.setattr(engines, "_fetch", lambda store, names: None)
    files = [str(tmp_path / f"{name}.onnx") for name in wrong]
    argv = ["engines", "--models", *files, str(twin), "--target", "onnxruntime", "--precision", "fp32"]
    argv = [*argv, "--engines", str(tmp_path / "engines"), "--json", str(tmp_path / "rows.json")]
    assert cli.main(argv) == 1
    assert "no engine for truncated, text, old: the table says why" in capsys.readouterr().err
    rows = {row["model"]: row for row in json.loads((tmp_path / "rows.json").read_text())["engines"]}
    assert rows["twin"]["state"] == "chosen"
    assert all(rows[name]["reason"] and not rows[name]["reason"].endswith(".") and "\n" not in rows[name]["reason"] for name in wrong)
    assert sorted(path.name for path in (tmp_path / "engines").glob("*.json")) == ["twin.json"]


@pytest.mark.usefixtures("here")
def test_ctrl_c_ends_with_1_and_names_what_was_not_built(
    twin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], write_scenes: WriteScenes
) -> None:
    """While the second of three is looked at: the first is kept."""
    others = [tmp_path / f"{name}.onnx" for name in ("second", "third")]
    for other in others:
        other.write_bytes(twin.read_bytes())

    def interrupted(network: object, *_: object) -> None:
        if getattr(network, "name", "") == "second":
            raise KeyboardInterrupt

    monkeypatch.setattr(Workshop, "up_to_date", lambda self, network, wanted: interrupted(network))
    monkeypatch.setattr(engines, "scenes_from", lambda store, calibration: write_scenes)
    monkeypatch.setattr(engines, "_fetch", lambda store, names: None)
    argv = ["engines", "--models", str(twin), *map(str, others), "--target", "onnxruntime", "--precision", "fp32"]
    argv = [*argv, "--engines", str(tmp_path / "engines"), "--json", str(tmp_path / "rows.json")]
    assert cli.main(argv) == 1
    told = capsys.readouterr().err.splitlines()
    assert told[-1] == "realtime: interrupted: second, third were not built; what was built before is kept"
    rows = {row["model"]: row["state"] for row in json.loads((tmp_path / "rows.json").read_text())["engines"]}
    assert rows == {"twin": "chosen", "second": "failed", "third": "failed"}
    assert [path.name for path in (tmp_path / "engines").glob("*.json")] == ["twin.json"]


@pytest.mark.models
@pytest.mark.parametrize("calibration", [None, "~/photos"])
def test_faces_are_looked_for_where_calibration_says(
    calibration: str | None, models: ModelStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[Path | None, Path]] = []
    monkeypatch.setattr(scenes, "gather", lambda source, bundled, *networks: asked.append((source, bundled)) or [])
    monkeypatch.setattr(scenes, "save", lambda found, path: None)
    models.ensure(("yunet_320", "mesh"))
    engines.scenes_from(models, calibration)(tmp_path / "scenes.npz")
    assert asked == [(calibration and Path.home() / "photos", assets.FOLDER)]


def test_ctrl_c_before_the_first_model_ends_with_1(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(engines, "_fetch", interrupted)
    assert cli.main(["engines", "--models", "mesh"]) == 1
    assert capsys.readouterr().err == f"realtime: {UNBUILT}\n"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends Ctrl-C to whole consoles only")
@pytest.mark.parametrize("command", ["script", "module"])
@pytest.mark.parametrize("module", ["realtime.interrupt", "realtime.cli", "realtime.commands.engines", "cv2", "realtime.builder.recipes"])
def test_ctrl_c_while_it_is_imported_ends_with_1(tmp_path: Path, module: str, command: str) -> None:
    """From the first line on: also before the options have been read, and before there is an answer of ours."""
    script = f"runpy.run_path({str(_ROOT / 'build_engines.py')!r}, run_name='__main__')"
    run = script if command == "script" else "runpy.run_module('realtime', run_name='__main__', alter_sys=True)"
    first = ["build_engines.py"] if command == "script" else ["realtime", "engines"]
    ended = interrupted_at(module, [*first, "--engines", str(tmp_path / "engines")], run, tmp_path)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == f"realtime: {UNBUILT}\n"
    assert not (tmp_path / "engines").exists()


def _of_opset(twin: Path, version: int) -> bytes:
    """Older than any runtime reads: `version` 3 has other forms of most operators."""
    model = onnx.load(twin)
    model.opset_import[0].version = version
    return bytes(model.SerializeToString())


def test_the_doctor_tells_of_engines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engines, models = tmp_path / "engines", tmp_path / "models"
    for folder in (engines, models):
        folder.mkdir()
    monkeypatch.setenv("REALTIME_ENGINES", str(engines))
    monkeypatch.setenv("REALTIME_MODELS", str(models))
    assert [finding.status for finding in checks.CHECKS["engines"]()] == ["ok"]
    (engines / "mesh.json").write_text("nonsense")
    (models / "mesh.onnx").write_bytes(b"a model")
    (found,) = checks.CHECKS["engines"]()
    assert (found.check, found.status) == ("engine mesh", "note")
    assert "python -m realtime engines --models mesh" in found.detail
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.setattr(checks, "CHECKS", {"engines": checks.CHECKS["engines"]})
    assert [finding.check for finding in checks.examine(other)] == ["engines"]
    (other / "mesh.json").write_text("nonsense")
    (found,) = checks.examine(other)
    assert f"--models mesh --engines {other} --force" in found.detail


def test_the_script_of_the_checkout_is_the_same_command() -> None:
    shown = subprocess.run([sys.executable, "build_engines.py", "--help"], cwd=_ROOT, capture_output=True, text=True, check=True)
    assert shown.stdout.startswith("usage: python build_engines.py [--models")
