"""Running pip: what it is told, what its failures mean, and that it never outlives us."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import psutil
import pytest

from realtime.models import wheels
from realtime.models.catalog import DEFAULTS, MODELS
from realtime.models.convert import AS_IS, CONVERTERS
from realtime.models.wheels import DownloadError, PipDownload
from tests.models.parcel import WHEEL


def pretend(monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Run this script in pip's place."""
    monkeypatch.setattr(wheels, "_command", lambda wheel, options: [sys.executable, "-c", script])


def test_pip_is_told_to_fetch_an_archive_and_nothing_else() -> None:
    command = wheels._command(WHEEL, ["--index-url", "file:///index"])
    assert command[:4] == [sys.executable, "-m", "pip", "download"]
    assert {"--no-deps", "--only-binary=:all:", "--no-input"} <= set(command)
    assert command[-2:] == ["--index-url", "file:///index"]
    assert "parcel==1.0" in command


def test_pip_works_inside_the_given_folder_and_its_growth_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(
        monkeypatch,
        "import pathlib, tempfile, time\n"
        "folder = pathlib.Path(tempfile.mkdtemp())\n"
        "(folder / 'part').write_bytes(bytes(1000)); time.sleep(0.5)\n"
        "pathlib.Path('wheel').mkdir(); (folder / 'part').rename('wheel/done.whl')",
    )
    sizes: list[int] = []
    PipDownload()(WHEEL, tmp_path, sizes.append)
    assert (tmp_path / "wheel" / "done.whl").stat().st_size == 1000
    assert sizes[0] == 0
    assert max(sizes) >= 1000


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("python: No module named pip", "has no pip: install it with"),
        ("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", "the disk is full: free 1 MB in"),
        ("WARNING: Retrying: NewConnectionError\nERROR: No matching distribution found for parcel==1.0", "cannot be reached: go online"),
        ("ERROR: No matching distribution found for parcel==1.0", "cannot be reached or does not carry it"),
        ("urllib3.exceptions.IncompleteRead", "broke off: try again"),
        ("ERROR: something new.\n", r"pip failed \(something new\)"),
        ("", r"pip failed \(it said nothing\)"),
    ],
)
def test_what_pip_says_becomes_a_cause(said: str, meant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, f"import sys; sys.stderr.write({said!r}); sys.exit(1)")
    with pytest.raises(DownloadError, match=meant):
        PipDownload()(WHEEL, tmp_path, lambda done: None)


def test_an_interrupt_ends_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, "import time; time.sleep(60)")
    seen: list[psutil.Process] = []

    def interrupt(done: int) -> None:
        seen.extend(psutil.Process().children())
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        PipDownload()(WHEEL, tmp_path, interrupt)
    assert seen
    assert not any(process.is_running() for process in seen)


def test_rows_of_the_catalogue_are_complete() -> None:
    assert set(DEFAULTS) <= set(MODELS)
    for name, model in MODELS.items():
        assert model.name == name
        assert model.converter in {*CONVERTERS, AS_IS}
        assert model.licence
        assert model.origin
        assert not model.sha256 or re.fullmatch("[0-9a-f]{64}", model.sha256)
        assert not model.wheel or (model.wheel.requirement.count("==") == 1 and model.sha256 and model.member)
        assert not model.address or model.address.startswith("https://")
        assert model.wheel or not model.address or model.found, "where the address was found is said"
        assert model.wheel or not (model.address and model.verified), "no file of another origin was at hand"
        if model.address and model.member:
            assert model.address.endswith(".zip")


def test_no_two_rows_share_a_file_by_accident() -> None:
    rows = [model for model in MODELS.values() if model.sha256 and model.converter == AS_IS]
    assert len({model.sha256 for model in rows}) == len(rows)
