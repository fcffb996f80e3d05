"""Models from addresses and from the user's own files, through the store and the command."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from realtime.commands import models as command
from realtime.errors import ModelError, UsageError
from realtime.models.row import Model
from realtime.models.store import ModelStore
from realtime.models.web import HttpDownload
from realtime.models.wheels import DownloadError
from tests.models.parcel import network
from tests.models.server import serving

ADDRESS = "https://models.example/release/swap_128.onnx"
ARCHIVE = "https://models.example/release/pack.zip"


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def web_row(name: str = "swap_128", **changes: object) -> Model:
    values: dict[str, object] = {
        "name": name,
        "role": "swapper",
        "licence": "non-commercial",
        "origin": "somebody",
        "forbids": "commercial use",
        "sha256": sha(network()),
        "address": ADDRESS,
        "found": "a list",
        "verified": False,
    }
    return Model(**{**values, **changes})  # type: ignore[arg-type]


class Web:
    """Stands for the network: `content` at every address."""

    def __init__(self, content: bytes, error: Exception | None = None) -> None:
        self.content, self.error, self.addresses, self.most = content, error, [], 0

    def __call__(self, address: str, path: Path, most: int, on_bytes: Callable[[int], None]) -> None:
        self.addresses.append(address)
        self.most = most
        begun = path.stat().st_size if path.exists() else 0
        with path.open("ab") as file:
            file.write(self.content[begun : begun + (1000 if self.error else len(self.content))])
        if self.error:
            raise self.error
        on_bytes(len(self.content))


def store(folder: Path, web: object, *rows: Model) -> ModelStore:
    return ModelStore(folder / "models", web=web, catalogue={row.name: row for row in rows or (web_row(),)})  # type: ignore[arg-type]


def agree(models: Sequence[Model]) -> None:
    pass


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "models").iterdir() if path.name != ".lock")


def test_is_fetched_once_the_licence_is_agreed_to(tmp_path: Path) -> None:
    web, asked = Web(network()), []
    models = store(tmp_path, web)
    found = models.fetch(["swap_128"], consent=lambda rows: asked.extend(row.terms for row in rows))
    assert [status.state for status in found] == ["ready"]
    assert asked == ["swap_128 (somebody): licence non-commercial; it forbids commercial use"]
    assert models.path("swap_128").read_bytes() == network()
    assert left(tmp_path) == ["swap_128.json", "swap_128.onnx"]
    models.fetch(["swap_128"])
    assert web.addresses == [ADDRESS]


def test_a_run_never_fetches_it_unasked(tmp_path: Path) -> None:
    web = Web(network())
    with pytest.raises(ModelError, match=r"swap_128 is not among .*: run `python -m realtime models fetch swap_128`, which shows"):
        store(tmp_path, web).ensure(["swap_128"])
    assert web.addresses == []


def test_who_does_not_agree_gets_nothing(tmp_path: Path) -> None:
    def refuse(models: Sequence[Model]) -> None:
        raise ModelError("no")

    web = Web(network())
    with pytest.raises(ModelError, match="no"):
        store(tmp_path, web).fetch(["swap_128"], consent=refuse)
    assert web.addresses == []


def test_another_file_is_refused_and_not_kept(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="SHA-256 differs"):
        store(tmp_path, Web(network() + b"?")).fetch(["swap_128"], consent=agree)
    assert left(tmp_path) == []


def test_a_download_that_broke_off_is_gone_on_with(tmp_path: Path) -> None:
    content = network() + bytes(10_000)
    row = web_row(sha256=sha(content))
    with pytest.raises(ModelError, match=r"could not fetch swap_128.onnx from models.example: it broke, then run"):
        store(tmp_path, Web(content, DownloadError("it broke")), row).fetch(["swap_128"], consent=agree)
    assert [(tmp_path / "models" / name).stat().st_size for name in left(tmp_path)] == [1000]
    store(tmp_path, Web(content), row).fetch(["swap_128"], consent=agree)
    assert (tmp_path / "models" / "swap_128.onnx").read_bytes() == content
    assert left(tmp_path) == ["swap_128.json", "swap_128.onnx"]


def test_a_complete_download_is_not_fetched_again(tmp_path: Path) -> None:
    with pytest.raises(ModelError):
        store(tmp_path, Web(network(), DownloadError("late"))).fetch(["swap_128"], consent=agree)
    web = Web(b"")
    store(tmp_path, web).fetch(["swap_128"], consent=agree)
    assert web.addresses == [], "all of it had come"


def test_a_link_in_the_place_of_a_download_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError):
        store(tmp_path, Web(b"x" * 3000, DownloadError("late"))).fetch(["swap_128"], consent=agree)
    (begun,) = (tmp_path / "models").glob(".begun-*")
    begun.unlink()
    (tmp_path / "precious").write_text("kept")
    begun.symlink_to(tmp_path / "precious")
    with pytest.raises(ModelError, match="no file of this program"):
        store(tmp_path, Web(network())).fetch(["swap_128"], consent=agree)
    assert (tmp_path / "precious").read_text() == "kept"


def test_a_mirror_is_asked_instead(tmp_path: Path) -> None:
    web = Web(network())
    store(tmp_path, web).fetch(["swap_128"], consent=agree, mirror="https://mirror.example/models/")
    assert web.addresses == ["https://mirror.example/models/swap_128.onnx"]


def test_a_plain_http_mirror_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="not trusted"):
        store(tmp_path, HttpDownload()).fetch(["swap_128"], consent=agree, mirror="http://mirror.example")


def test_a_folder_is_taken_instead_of_the_network(tmp_path: Path) -> None:
    web = Web(b"")
    (tmp_path / "swap_128.onnx").write_bytes(network())
    models = store(tmp_path, web)
    models.fetch(["swap_128"], tmp_path, consent=agree)
    assert models.has("swap_128")
    assert web.addresses == []
    with pytest.raises(ModelError, match=r"there is no swap_128.onnx in .*: put it there"):
        store(tmp_path / "second", web).fetch(["swap_128"], tmp_path / "models", consent=agree) if not models.path(
            "swap_128"
        ).unlink() else 0


def pack(**members: bytes) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.onnx", content)
        archive.writestr("../escaped.onnx", network())
    return data.getvalue()


def test_members_of_one_archive_come_in_one_download(tmp_path: Path) -> None:
    other = network() + helper.make_model(helper.make_graph([], "empty", [], [])).SerializeToString()
    rows = [
        web_row("one", address=ARCHIVE, member="one.onnx"),
        web_row("two", address=ARCHIVE, member="two.onnx", sha256=sha(other)),
    ]
    web = Web(pack(one=network(), two=other))
    models = store(tmp_path, web, *rows)
    models.fetch(["one", "two"], consent=agree)
    assert web.addresses == [ARCHIVE]
    assert (models.path("one").read_bytes(), models.path("two").read_bytes()) == (network(), other)
    assert left(tmp_path) == ["one.json", "one.onnx", "two.json", "two.onnx"]
    assert not list(tmp_path.rglob("escaped*"))


def test_an_archive_with_an_altered_member_is_refused_and_not_kept(tmp_path: Path) -> None:
    row = web_row("one", address=ARCHIVE, member="one.onnx")
    with pytest.raises(ModelError, match="was altered"):
        store(tmp_path, Web(pack(one=b"other")), row).fetch(["one"], consent=agree)
    assert left(tmp_path) == []


def test_without_a_known_hash_only_the_user_can_bring_it(tmp_path: Path) -> None:
    web = Web(network())
    models = store(tmp_path, web, web_row(sha256=""))
    with pytest.raises(ModelError, match=r"get swap_128.onnx yourself and run `python -m realtime models add swap_128.onnx --as swap_128`"):
        models.fetch(["swap_128"], consent=agree)
    assert web.addresses == []
    (tmp_path / "swap_128.onnx").write_bytes(network())
    assert models.add(tmp_path / "swap_128.onnx").state == "ready"
    assert models.path("swap_128").read_bytes() == network()
    record = json.loads((tmp_path / "models" / "swap_128.json").read_text())
    assert (record["source_sha256"], record["brought"]) == (sha(network()), True)
    assert (tmp_path / "swap_128.onnx").exists(), "the user's own stays"


def test_a_file_is_recognised_by_its_content(tmp_path: Path) -> None:
    (tmp_path / "renamed").write_bytes(network())
    models = store(tmp_path, Web(b""), web_row("other", sha256=""), web_row())
    assert models.add(tmp_path / "renamed").name == "swap_128"
    assert models.has("swap_128")


def test_another_export_of_it_is_recognised_too(tmp_path: Path) -> None:
    (tmp_path / "mine").write_bytes(network())
    models = store(tmp_path, Web(b""), web_row(sha256="0" * 64, also=(sha(network()),)))
    assert models.add(tmp_path / "mine").state == "ready"
    assert models.has("swap_128")


def test_a_file_that_is_not_the_known_one_needs_the_users_word(tmp_path: Path) -> None:
    changed = onnx.load_from_string(network())
    changed.producer_name = "somebody else"
    (tmp_path / "swap_128.onnx").write_bytes(changed.SerializeToString())
    models = store(tmp_path, Web(b""))
    with pytest.raises(UsageError, match="SHA-256 differs"):
        models.add(tmp_path / "swap_128.onnx")
    added = models.add(tmp_path / "swap_128.onnx", "swap_128")
    assert (added.state, added.own) == ("ready", True)


def test_the_catalogues_own_file_is_nobodys(tmp_path: Path) -> None:
    (tmp_path / "mine").write_bytes(network())
    assert not store(tmp_path, Web(b"")).add(tmp_path / "mine").own
    models = store(tmp_path / "fetched", Web(network()))
    assert not models.fetch(["swap_128"], consent=agree)[0].own


@pytest.mark.parametrize("action", ["list", "verify"])
def test_the_users_own_file_is_marked(
    action: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = onnx.load_from_string(network())
    changed.producer_name = "somebody else"
    (tmp_path / "mine").write_bytes(changed.SerializeToString())
    models = store(tmp_path, Web(b""))
    models.add(tmp_path / "mine", "swap_128")
    monkeypatch.setattr("realtime.storage.model_store", lambda: models)
    assert command.main([action]) == 0
    shown = capsys.readouterr().out
    assert "ready, your own file" in shown and "its SHA-256 is not the catalogue's" in shown
    assert command.main([action, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["own"] is True


def test_several_that_are_missing_and_a_name_that_is_nearly_right(tmp_path: Path) -> None:
    models = store(tmp_path, Web(b""), web_row(), web_row("other"))
    with pytest.raises(ModelError, match=r"^swap_128, other are not among .*, which shows the licences first"):
        models.ensure(["swap_128", "other"])
    with pytest.raises(UsageError, match=r"^there is no model 'swap_12'; did you mean 'swap_128'\?$"):
        models.status("swap_12")
    (tmp_path / "mine").write_bytes(network())
    with pytest.raises(UsageError, match="did you mean 'swap_128'"):
        models.add(tmp_path / "mine", "swap_12")


def _external() -> bytes:
    weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[1], data_location=TensorProto.EXTERNAL)
    weight.external_data.add(key="location", value="../../secret")
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Add", ["x", "w"], ["y"])], "g", [x], [y], [weight])
    content: bytes = helper.make_model(graph).SerializeToString()
    return content


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"no network", "no ONNX file, or a truncated one: get it anew"),
        (b"\x80\x02pickle", "no ONNX file, or a truncated one: get it anew"),
        (helper.make_model(helper.make_graph([], "empty", [], [])).SerializeToString(), "no ONNX file, or a truncated one: get it anew"),
        (_external(), "second file"),
    ],
)
def test_what_is_no_network_is_not_taken(content: bytes, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(ModelError, match=sentence):
        store(tmp_path, Web(b"")).add(tmp_path / "file", "swap_128")
    assert left(tmp_path) == []


@pytest.mark.parametrize(("name", "sentence"), [("empty", "0 bytes"), ("nothing", "is no file"), ("unknown", "cannot be told which model")])
def test_what_cannot_be_told_is_asked_for(name: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "unknown").write_bytes(b"?")
    with pytest.raises(UsageError, match=sentence):
        store(tmp_path, Web(b"")).add(tmp_path / name)


def test_the_command_asks_and_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(network()) as server:
        row = web_row(address=f"{server.address}/swap_128.onnx")
        models = store(tmp_path, HttpDownload(("http",)), row, web_row("own", sha256="", address=""))
        monkeypatch.setattr("realtime.storage.model_store", lambda: models)
        with pytest.raises(UsageError, match=r"with http.*/swap_128\.onnx\), then say: .* fetch swap_128 --accept-licence$"):
            command.main(["fetch", "swap_128"])
        assert server.requests == []
        assert command.main(["fetch", "swap_128", "--accept-licence"]) == 0
    assert "licence non-commercial; it forbids commercial use" in capsys.readouterr().err
    assert command.main(["list"]) == 0
    shown = capsys.readouterr().out
    assert "bring your own" in shown
    assert "ready" in shown
    assert command.main(["list", "--json"]) == 0
    first = json.loads(capsys.readouterr().out)[0]
    assert (first["state"], first["row"]["found"], first["row"]["verified"]) == ("ready", "a list", False)


@pytest.mark.parametrize(("answer", "fetched"), [("y\n", True), ("yes\n", True), ("\n", False), ("n\n", False), ("", False)])
def test_the_question_takes_yes_for_an_answer_and_nothing_else(answer: str, fetched: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.StringIO(answer)
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdin", terminal)
    if fetched:
        command._ask([web_row()])
    else:
        with pytest.raises(ModelError, match="not agreed"):
            command._ask([web_row()])
