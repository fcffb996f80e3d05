"""Model files, archives, records and manifests that lie: one sentence each, nothing outside of the folder touched, no memory taken."""

from __future__ import annotations

import dataclasses
import json
import os
import stat
import sys
import zipfile
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from realtime.backends.bound import aligned_zeros
from realtime.backends.fake import spec
from realtime.backends.select import open_session
from realtime.builder import manifest
from realtime.errors import BackendError, ModelError, RealtimeError, UsageError
from realtime.models.adding import recognise, taken
from realtime.models.peek import Peek
from realtime.models.records import read_record, replace
from realtime.models.store import ModelStore
from realtime.models.wheels import read_member
from tests.fuzz.mutations import mutated
from tests.models.parcel import CATALOGUE, MEMBER, Index, network, row, write_wheel

UNHURRIED = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)),
    max_leaves=8,
)
NEITHER_FETCHED_NOR_KNOWN = {"brought": row("brought", sha256="", wheel=None, member="", address="https://example.org/brought.onnx")}

FOUND = bytes.fromhex(
    "080e3a520a0e0a01780a01775a000000000000641201672a130001080210014201774a080000803f0000803f5a"
    "130a0178120e0a0c080112080a0208010a02080262130a0179120e0a0c080112080a0208010a0208024202101c"
)
"""By scripts/fuzz.py: the header is read, a weight is no protobuf."""


def test_damaged_networks_are_looked_into(tmp_path):
    path = tmp_path / "net.onnx"
    path.write_bytes(network())
    assert Peek(path).weights.keys() == {"w", "scale", "shape"}

    @UNHURRIED
    @given(st.one_of(mutated(network()), st.binary(max_size=80)))
    @example(FOUND)
    def attack(data):
        path.write_bytes(data)
        try:
            peek = Peek(path)
            for name in peek.weights:
                peek.weight(name)
        except ModelError as error:
            assert "\n" not in str(error)

    attack()


def test_damaged_networks_are_not_taken_for_models(tmp_path):
    path = tmp_path / "brought.onnx"

    @UNHURRIED
    @given(st.one_of(mutated(network()), st.binary(max_size=80)))
    def attack(data):
        path.write_bytes(data)
        try:
            model, digest = recognise(path, NEITHER_FETCHED_NOR_KNOWN, "brought")
            taken(path, tmp_path, model, digest).unlink()
        except (ModelError, UsageError) as error:
            assert "\n" not in str(error)
        assert sorted(child.name for child in tmp_path.iterdir()) == ["brought.onnx"]

    attack()


def external(location: str) -> bytes:
    """A network whose weight lies in another file, or claims to."""
    weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[1, 4, 1, 1], data_location=TensorProto.EXTERNAL)
    for key, value in (("location", location), ("offset", "0"), ("length", "16")):
        weight.external_data.add(key=key, value=value)
    return _adding(weight)


def _adding(weight: TensorProto) -> bytes:
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "w"], ["y"])],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4, 8, 8])],
        [weight],
    )
    content: bytes = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9).SerializeToString()
    return content


@pytest.mark.parametrize("location", ["secret.bin", "../secret.bin", "/etc/hostname", "sub/../../secret.bin"])
def test_weights_in_other_files_are_refused(location, tmp_path):
    folder = tmp_path / "sub"
    folder.mkdir()
    for place in (tmp_path, folder):
        (place / "secret.bin").write_bytes(np.arange(4, dtype=np.float32).tobytes())
    path = folder / "brought.onnx"
    path.write_bytes(external(location))
    with pytest.raises(ModelError, match="keeps its weights in a second file"):
        taken(path, folder, *recognise(path, NEITHER_FETCHED_NOR_KNOWN, "brought"))
    if ".." in location or location.startswith("/"):
        with pytest.raises(ModelError):
            Peek(path).weight("w")
        for backend in ("onnxruntime", "openvino"):
            with pytest.raises(BackendError):
                open_session(path, backend)


@pytest.mark.parametrize("backend", ["onnxruntime", "openvino"])
def test_a_weight_that_claims_to_be_huge_is_no_weight(backend, tmp_path):
    path = tmp_path / "huge.onnx"
    path.write_bytes(_adding(TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[1, 4, 200_000, 200_000], raw_data=bytes(64))))
    with pytest.raises(BackendError):
        open_session(path, backend)
    with pytest.raises(ModelError):
        Peek(path).weight("w")


@pytest.mark.parametrize("shape", [(1, 3, 100_000, 100_000), (2**40, 2**40), (1, 3, 2**31, 1)])
def test_tensors_of_absurd_size_are_refused(shape):
    with pytest.raises(BackendError, match="this is no network for pictures"):
        aligned_zeros(spec("x", *shape))


def named_in_no_language(archive: bytes) -> bytes:
    """With a name that claims to be UTF-8 and is not. By scripts/fuzz.py."""
    spoilt = bytearray(archive)
    for sign, flags, name in ((b"PK\x03\x04", 6, 30), (b"PK\x01\x02", 8, 46)):
        at = archive.index(sign)
        spoilt[at + flags + 1] |= 8
        spoilt[at + name] = 0x81
    return bytes(spoilt)


def test_damaged_archives(tmp_path):
    archive = write_wheel(tmp_path)
    good, model = archive.read_bytes(), CATALOGUE["first"]
    assert read_member(archive, model) == network()
    archive.write_bytes(named_in_no_language(good))
    with pytest.raises(ModelError, match=r"cannot be read \('utf-8' codec can't decode"):
        read_member(archive, model)

    @UNHURRIED
    @given(mutated(good))
    def attack(data):
        archive.write_bytes(data)
        try:
            assert read_member(archive, model) == network()
        except ModelError as error:
            assert "\n" not in str(error)

    attack()


@pytest.mark.parametrize("name", ["../escaped.onnx", "/tmp/escaped.onnx", "parcel/../../escaped.onnx"])
def test_members_do_not_leave_the_archive(name, tmp_path):
    """Nothing is unpacked at all, so neither a path nor a link inside an archive leads anywhere."""

    def spoil(path: Path) -> None:
        with zipfile.ZipFile(path, "a") as wheel:
            wheel.writestr(name, b"escaped")
            link = zipfile.ZipInfo("parcel/link")
            link.external_attr = (stat.S_IFLNK | 0o777) << 16
            wheel.writestr(link, "/etc/passwd")

    ModelStore(tmp_path / "models", download=Index(spoil), catalogue=CATALOGUE).ensure(["first"])
    assert {path.name for path in tmp_path.rglob("*")} == {"models", ".lock", "first.json", "first.onnx"}


def test_a_bomb_in_an_archive_is_not_unpacked(tmp_path):
    archive = tmp_path / "parcel-1.0-py3-none-any.whl"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as wheel:
        wheel.writestr(MEMBER, bytes(80_000_000))
    assert archive.stat().st_size < 1_000_000
    import tracemalloc

    tracemalloc.start()
    with pytest.raises(ModelError, match="was altered"):
        read_member(archive, CATALOGUE["first"])
    assert tracemalloc.get_traced_memory()[1] < 20e6
    tracemalloc.stop()


@UNHURRIED
@given(JSON)
def test_records(tmp_path, content):
    path = tmp_path / "first.onnx"
    path.write_bytes(b"not the network")
    path.with_suffix(".json").write_text(json.dumps(content), encoding="utf-8")
    store = ModelStore(tmp_path, catalogue=CATALOGUE)
    assert store.status("first").state == store.checked("first").state == "damaged"


@UNHURRIED
@given(st.binary(max_size=60))
@example(b"[" * 100_000)
@example(b'{"a":' * 50_000)
def test_records_that_are_no_json(tmp_path, content):
    (tmp_path / "first.json").write_bytes(content)
    assert isinstance(read_record(tmp_path / "first.onnx"), dict)


ENTRY = manifest.Entry(
    "openvino", "fp32", "fp32", "m.blob", "0", 3, "0", "openvino", "1", {}, [], [], {"ms": 1.0}, 1.0, "now", True, ["fp32"]
)


@UNHURRIED
@given(
    st.sampled_from([field.name for field in dataclasses.fields(manifest.Entry)]),
    JSON,
    st.dictionaries(st.text(max_size=5), JSON, max_size=1),
)
@example("target", "x", {"\n\x1b[2J": None})
def test_manifests(tmp_path, name, value, more):
    onnx_file = tmp_path / "m.onnx"
    onnx_file.write_bytes(b"model")
    entry = dataclasses.asdict(ENTRY) | {name: value} | more
    (tmp_path / "m.json").write_text(json.dumps({"format": manifest.FORMAT, "engines": [entry]}), encoding="utf-8")
    check_manifest(tmp_path, onnx_file)


@UNHURRIED
@given(st.one_of(JSON.map(json.dumps), st.text(max_size=30)))
@example('{"format": 1, "engines": ' + "[" * 50_000)
def test_manifests_that_are_none(tmp_path, text):
    (tmp_path / "m.json").write_text(text, encoding="utf-8")
    check_manifest(tmp_path, tmp_path / "m.onnx")


def check_manifest(folder: Path, onnx_file: Path) -> None:
    try:
        entries = manifest.read(folder, "m")
        assert all((folder / entry.file).parent == folder for entry in entries)
        if onnx_file.exists():
            manifest.find(folder, "m", onnx_file, {"openvino": "1"})
    except BackendError as error:
        assert str(error).isprintable()


@pytest.mark.parametrize("file", ["../evil.blob", "/tmp/evil.blob", "a/b.blob", "..\\evil.blob", "", "."])
def test_an_engine_elsewhere_is_not_opened(file, tmp_path):
    row_ = dataclasses.asdict(ENTRY) | {"file": file}
    (tmp_path / "m.json").write_text(json.dumps({"format": manifest.FORMAT, "engines": [row_]}), encoding="utf-8")
    with pytest.raises(BackendError, match="makes no sense"):
        manifest.read(tmp_path, "m")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_nothing_is_written_through_a_link_of_somebody_else(tmp_path):
    theirs = tmp_path / "theirs"
    theirs.write_bytes(b"precious")
    (tmp_path / ".partial-first.json").symlink_to(theirs)
    replace(tmp_path / "first.json", b"new")
    assert theirs.read_bytes() == b"precious"
    assert (tmp_path / "first.json").read_bytes() == b"new" and not (tmp_path / "first.json").is_symlink()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_no_file_is_writable_by_everybody(tmp_path, monkeypatch):
    """Even for somebody whose own mask forbids nothing."""
    from realtime.cli import main

    monkeypatch.setenv("REALTIME_MODELS", str(tmp_path / "models"))
    before = os.umask(0)
    try:
        assert main(["help", "nothing"]) == 2
        ModelStore(tmp_path / "models", download=Index(), catalogue=CATALOGUE).ensure(["first"])
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode for path in (tmp_path / "models", *(tmp_path / "models").rglob("*"))}
    assert len(modes) == 4
    assert {name for name, mode in modes.items() if mode & stat.S_IWOTH} == set()


def test_backends_open_no_damaged_network(tmp_path):
    """A few only, fixed: parsers of other people are not what is tested here, but how their errors come out."""
    path = tmp_path / "net.onnx"
    good = onnx.load_from_string(_adding(onnx.numpy_helper.from_array(np.zeros((1, 4, 1, 1), np.float32), "w"))).SerializeToString()
    for data in (b"", b"\0" * 40, good[: len(good) // 2], good[:-3], good.replace(b"Add", b"Zzz"), good.replace(b"\x01x", b"\x01q")):
        path.write_bytes(data)
        for backend in ("onnxruntime", "openvino"):
            try:
                open_session(path, backend).close()
            except RealtimeError as error:
                assert "\n" not in str(error)
