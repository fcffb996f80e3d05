# ruff: noqa: E402 - skipped as a whole where c2pa-python is not installed
from __future__ import annotations

import json
import random
import sys
from datetime import UTC, datetime
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

c2pa: Any = pytest.importorskip("c2pa", reason="c2pa-python is not installed: pip install 'realtime-faceswap[credentials]'")

from realtime.errors import SinkError
from realtime.trust import credentials
from realtime.trust.credentials import FORMATS, Credentials, read, sign
from realtime.trust.signing import SigningKey, make_key
from realtime.trust.xmp import COMPOSITE
from tests.trust.files import write


@pytest.fixture(scope="module")
def key() -> SigningKey:
    return make_key(datetime.now(UTC))


@pytest.fixture
def signed(tmp_path: Path, key: SigningKey) -> Any:
    def make(suffix: str, ingredient: Path | None = None, name: str = "signed") -> Path:
        target = tmp_path / f"{name}{suffix}"
        sign(write(tmp_path / f"plain{suffix}"), target, key, ingredient)
        return target

    return make


def manifests(path: Path) -> dict[str, Any]:
    with path.open("rb") as stream:
        report: dict[str, Any] = json.loads(c2pa.Reader(FORMATS[path.suffix], stream).json())
    return report


def active(path: Path) -> dict[str, Any]:
    report = manifests(path)
    manifest: dict[str, Any] = report["manifests"][report["active_manifest"]]
    return manifest


def assertion(manifest: dict[str, Any], label: str) -> dict[str, Any]:
    return next(each["data"] for each in manifest["assertions"] if each["label"] == label)


@pytest.mark.parametrize("suffix", FORMATS)
def test_every_format_reads_back_intact(signed: Any, suffix: str) -> None:
    found = read(signed(suffix))
    assert found == Credentials("intact", True, "realtime-faceswap installation, realtime-faceswap", 0, ())


@pytest.mark.parametrize("suffix", [".mp4", ".png"])
def test_they_say_what_was_done_and_how_the_mark_is_called(signed: Any, suffix: str) -> None:
    manifest = active(signed(suffix))
    actions = assertion(manifest, "c2pa.actions.v2")["actions"]
    assert [action["action"] for action in actions] == ["c2pa.created", "c2pa.watermarked.bound"]
    assert actions[0]["digitalSourceType"] == COMPOSITE
    binding = assertion(manifest, "c2pa.soft-binding")
    assert binding["alg"] == credentials.MARK_NAME and binding["blocks"][0]["value"] == "414901010000"  # AI, version 1, AI-modified
    assert manifest["signature_info"]["alg"] == "Es256"


@pytest.mark.parametrize("suffix", [".mp4", ".png", ".jpg"])
def test_they_hold_no_thumbnail_no_name_and_no_path(signed: Any, suffix: str, tmp_path: Path) -> None:
    path = signed(suffix)
    manifest = active(path)
    assert "thumbnail" not in manifest and "title" not in manifest
    assert str(tmp_path).encode() not in path.read_bytes() and b"plain." not in path.read_bytes()


@pytest.mark.parametrize("suffix", [".mp4", ".png", ".jpg", ".webp"])
def test_a_changed_byte_of_the_content_breaks_them(signed: Any, suffix: str) -> None:
    path = signed(suffix)
    data = bytearray(path.read_bytes())
    plain = path.with_name(f"plain{suffix}").read_bytes()
    place = data.find(plain[-60:-40])  # of the picture itself, near its end
    assert place > 0
    data[place] ^= 1
    path.write_bytes(data)
    found = read(path)
    assert found.state == "broken" and any("Hash.mismatch" in problem for problem in found.problems)


@pytest.mark.parametrize("suffix", [".mp4", ".png", ".jpg"])
def test_a_changed_statement_breaks_them(signed: Any, suffix: str) -> None:
    path = signed(suffix)
    data = path.read_bytes()
    assert data.count(b"compositeWithTrainedAlgorithmicMedia")
    path.write_bytes(data.replace(b"compositeWithTrainedAlgorithmicMedia", b"digitalCapturedByACameraNothingElse!"))
    assert read(path).state in ("broken", "unreadable")


@pytest.mark.parametrize("suffix", [".mp4", ".jpg"])
def test_another_signature_breaks_them(signed: Any, suffix: str) -> None:
    path = signed(suffix)
    data = path.read_bytes()
    name = b"realtime-faceswap installation"
    path.write_bytes(data.replace(name, name[::-1]))  # within the certificate
    assert read(path).state in ("broken", "unreadable")


def test_credentials_of_another_file_do_not_fit(signed: Any, key: SigningKey, tmp_path: Path) -> None:
    """The manifest of one JPEG before the content of another."""
    one = signed(".jpg").read_bytes()
    plain = (tmp_path / "plain.jpg").read_bytes()
    start = next(n for n in range(2, 200) if one[n : n + 2] == b"\xff\xeb")
    end = start
    while one[end : end + 2] == b"\xff\xeb":
        end += 2 + int.from_bytes(one[end + 2 : end + 4], "big")
    other = bytearray(plain)
    other[-100] ^= 0x10
    path = tmp_path / "other.jpg"
    path.write_bytes(bytes(other[:start]) + one[start:end] + bytes(other[start:]))
    assert read(path).state == "broken"


@pytest.mark.parametrize("suffix", [".mp4", ".png"])
def test_rubbish_in_them_never_raises_and_never_passes(signed: Any, suffix: str) -> None:
    path = signed(suffix)
    original = path.read_bytes()
    start = original.find(b"jumb")
    generator = random.Random(7)
    for _ in range(20):
        data = bytearray(original)
        for _ in range(3):
            data[generator.randrange(start + 40, start + 3000)] ^= 1 << generator.randrange(8)
        path.write_bytes(data)
        assert read(path).state != "intact" or data == original


@pytest.mark.parametrize("suffix", [".mp4", ".png", ".jpg"])
def test_half_a_file_is_told(signed: Any, suffix: str) -> None:
    path = signed(suffix)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert read(path).state in ("broken", "unreadable", "none")


@pytest.mark.parametrize(("before", "after"), [(".mp4", ".mp4"), (".jpg", ".png"), (".png", ".mp4")])
def test_the_credentials_of_the_input_are_kept_as_an_ingredient(signed: Any, before: str, after: str) -> None:
    first = signed(before, name="first")
    second = signed(after, ingredient=first, name="second")
    manifest = active(second)
    assert read(second) == Credentials("intact", True, "realtime-faceswap installation, realtime-faceswap", 1, ())
    assert manifest["ingredients"][0]["relationship"] == "parentOf"
    assert manifest["ingredients"][0]["active_manifest"] == manifests(first)["active_manifest"]
    assert manifests(first)["active_manifest"] in manifests(second)["manifests"]
    assert assertion(manifest, "c2pa.actions.v2")["actions"][0]["action"] == "c2pa.opened"


def test_an_input_without_credentials_leaves_no_trace(signed: Any, tmp_path: Path) -> None:
    holiday = write(tmp_path / "holiday with Ann.png")
    path = signed(".png", ingredient=holiday)
    assert read(path).ingredients == 0 and b"Ann" not in path.read_bytes()


def test_broken_credentials_of_the_input_are_kept_as_such(signed: Any) -> None:
    first = signed(".png", name="first")
    data = bytearray(first.read_bytes())
    data[-60] ^= 1
    first.write_bytes(data)
    assert read(first).state == "broken"
    second = signed(".png", ingredient=first, name="second")
    found = read(second)
    assert found.ingredients == 1 and found.by_ai and found.state == "intact"


def test_a_file_without_any_and_one_that_cannot_have_any(tmp_path: Path) -> None:
    assert read(write(tmp_path / "p.png")) == Credentials("none")
    assert read(write(tmp_path / "p.bmp")) == Credentials("none")


def test_a_key_that_does_not_fit_signs_nothing(tmp_path: Path, key: SigningKey) -> None:
    other = make_key(datetime.now(UTC))
    target = tmp_path / "t.png"
    try:
        sign(write(tmp_path / "p.png"), target, SigningKey(key.private, other.chain))
    except SinkError as error:
        assert "could not be written" in str(error)
    else:
        assert read(target).state == "broken"  # which whoever signs looks for before the file gets its name


def test_a_library_that_does_not_load_is_one_sentence(tmp_path: Path, key: SigningKey, monkeypatch: pytest.MonkeyPatch) -> None:
    """As c2pa itself raises it where its own library is not beside it."""

    class Broken(Loader):
        def exec_module(self, module: object) -> None:
            raise RuntimeError("Could not find c2pa_c.dll in any of the search paths")

    finder = SimpleNamespace(find_spec=lambda name, *given: ModuleSpec(name, Broken()) if name == "c2pa" else None)
    monkeypatch.delitem(sys.modules, "c2pa")
    monkeypatch.setattr(sys, "meta_path", [finder, *sys.meta_path])
    with pytest.raises(SinkError, match=r"does not load \(Could not find c2pa_c\.dll .*\): reinstall it"):
        sign(write(tmp_path / "p.png"), tmp_path / "s.png", key)
    assert "does not load" in credentials.complaint()
    (problem,) = read(tmp_path / "p.png").problems
    assert problem == credentials.complaint()


def test_without_the_library_it_cannot_be_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(credentials, "available", lambda: False)
    found = read(write(tmp_path / "p.png"))
    assert found.state == "unreadable" and "pip install" in found.problems[0]
