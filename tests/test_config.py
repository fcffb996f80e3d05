from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from realtime import config
from realtime.config import OPTIONS, load_settings
from realtime.errors import UsageError
from realtime.settings import Settings


@pytest.fixture(autouse=True)
def no_file_of_the_developer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    own = tmp_path / "own" / "config.toml"
    monkeypatch.setattr(config, "default_config_file", lambda: own)
    return own


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    path = tmp_path / "mé.jpg"
    path.write_bytes(b"not looked into here")
    return path


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "some.toml"
    path.write_text(text, "utf-8")
    return path


def test_defaults(photo: Path) -> None:
    assert load_settings({"source": [[str(photo)]]}) == Settings(sources=((photo,),))


def test_every_option_is_a_field_and_every_field_an_option() -> None:
    assert {option.field for option in OPTIONS} == set(Settings.__dataclass_fields__)


def test_the_document_tells_of_every_option_with_its_default() -> None:
    rows = (Path(__file__).parents[1] / "docs" / "options.md").read_text("utf-8").splitlines()
    for option in OPTIONS:
        row = next(row for row in rows if row.startswith(f"| `--{option.name}"))
        assert row.endswith(f"| {option.default or 'required'} |"), row


def test_defaults_pass_their_own_checks() -> None:
    for option in OPTIONS:
        default = Settings.__dataclass_fields__[option.field].default
        if option.name != "source" and default is not None:
            assert option.parse(default) == default, option.name


def test_all_values_from_the_command_line(photo: Path, tmp_path: Path) -> None:
    given_values = {
        "source": [[str(photo), str(photo)], [str(photo)]],
        "input": "rtsp://host/stream", "output": ["window", "out.mp4"], "size": "720p", "fps": "29.97", "mirror": True, "rotate": "90",
        "faces": "index:2", "similarity": "0.5",
        "profile": "light", "on-lost": "freeze", "min-face": "64", "score": "0.5", "badge": "off", "backend": "onnxruntime",
        "engines": str(tmp_path),
        "report": str(tmp_path / "r.json"), "frame-log": str(tmp_path / "f.jsonl"), "log-level": "info", "frames": "12", "seconds": "3.5",
    }  # fmt: skip
    assert load_settings(given_values) == Settings(
        sources=((photo, photo), (photo,)), input="rtsp://host/stream", outputs=("window", "out.mp4"), size=(1280, 720), fps=29.97,
        faces="index:2", similarity=0.5,
        mirror=True, rotate=90, profile="light", on_lost="freeze", min_face=64.0, score=0.5, badge="off", backend="onnxruntime",
        engines=tmp_path, report=tmp_path / "r.json", frame_log=tmp_path / "f.jsonl", log_level="info", frames=12, seconds=3.5,
    )  # fmt: skip


def test_file_values_and_the_command_line_wins(photo: Path, tmp_path: Path) -> None:
    rows = f"source = '{photo}'", "input = 1", "output = 'null'", "size = '640x480'", "mirror = true", "on_lost = 'pass'", "fps = 25"
    file = written(tmp_path, "\n".join(rows))
    loaded = load_settings({"fps": "60", "mirror": False}, file)
    assert (loaded.input, loaded.outputs, loaded.size, loaded.on_lost) == ("1", ("null",), (640, 480), "pass")
    assert (loaded.fps, loaded.mirror) == (60.0, False)


@pytest.mark.parametrize(
    ("text", "people"),
    [("'{0}'", [1]), ("['{0}', '{0}']", [2]), ("[['{0}', '{0}'], ['{0}']]", [2, 1])],
)
def test_people_in_a_file(photo: Path, tmp_path: Path, text: str, people: list[int]) -> None:
    file = written(tmp_path, "source = " + text.format(photo))
    assert [len(group) for group in load_settings({}, file).sources] == people


def test_the_users_own_file_is_found(photo: Path, no_file_of_the_developer: Path) -> None:
    no_file_of_the_developer.parent.mkdir()
    no_file_of_the_developer.write_text(f"source = '{photo}'\nbadge = 'top-left'", "utf-8")
    assert load_settings({}).badge == "top-left"


def test_a_byte_order_mark_is_no_obstacle(photo: Path, tmp_path: Path) -> None:
    file = tmp_path / "bom.toml"
    file.write_bytes(b"\xef\xbb\xbfmirror = true\n")
    assert load_settings({"source": [[str(photo)]]}, file).mirror


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("size", "12", "--size: '12' is not a size such as 1280x720"),
        ("size", "641x480", "even numbers"),
        ("fps", "nan", "--fps: 'nan' is not a number from 1 to 240"),
        ("fps", "0", "from 1 to 240"),
        ("rotate", "45", "0, 90, 180, 270"),
        ("profile", "qualty", "did you mean 'quality'?"),
        ("on-lost", "show", "hide, freeze, pass"),
        ("frames", "1.5", "a whole number above 0"),
        ("frames", "0", "a whole number above 0"),
        ("score", "2", "from 0.05 to 1"),
        ("report", "no/such/folder/r.json", "does not exist, make it first"),
        ("engines", "no/such/folder", "there is no folder no/such/folder: check its name"),
        ("input", " ", "is not an input"),
    ],
)
def test_bad_values_name_option_and_what_is_allowed(photo: Path, name: str, value: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_settings({"source": [[str(photo)]], name: value})
    assert str(caught.value).startswith(f"--{name}: ")
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("miror = true", "unknown key 'miror' in {file}; did you mean 'mirror'?"),
        ("xyzzy = 1", "the keys are source, input,"),
        ("mirror = 'yes'", "'mirror' in {file}: 'yes' is not true or false"),
        ("fps = true", "'fps' in {file}: True is not a number"),
        ("size = [1280, 720]", "'size' in {file}"),
        ("source = [1]", "'source' in {file}: [1] is not a list of photo files"),
        ("source = []", "'source' in {file}"),
        ("source = ['']", "'source' in {file}: it is empty; expected"),
        ("output = []", "'output' in {file}"),
        ("frames = 2.0", "'frames' in {file}"),
        ("fps = ", "{file} is not valid TOML"),
        (r'source = "C:\me.jpg"', "between single quotes"),
        (r'source = "C:\temp\new.jpg"', "does not exist: put a path with backslashes between single quotes"),
        ("fps = ", "write one `key = value` a line"),
        ("[picture]\nfps = 3", "unknown key 'picture'"),
    ],
)
def test_bad_files_name_file_and_key(photo: Path, tmp_path: Path, text: str, said: str) -> None:
    file = written(tmp_path, text)
    with pytest.raises(UsageError) as caught:
        load_settings({} if text.startswith("source") else {"source": [[str(photo)]]}, file)
    assert said.format(file=file) in str(caught.value)


@pytest.mark.parametrize(
    ("text", "name", "value", "said"),
    [
        ("fps = true", "fps", "60", "'fps' in {file}: True is not a number"),
        ("profile = 'qualty'", "profile", "light", "'profile' in {file}: 'qualty' is not one of"),
        ("mask = 'bxo'", "mask", "off", "'mask' in {file}: there is no 'bxo' here"),
        ("source = [1]", "source", [[__file__]], "'source' in {file}: [1] is not a list of photo files"),
    ],
)
def test_a_bad_value_in_a_file_is_told_though_the_command_line_overrides_it(
    photo: Path, tmp_path: Path, text: str, name: str, value: object, said: str
) -> None:
    file = written(tmp_path, text)
    with pytest.raises(UsageError) as caught:
        load_settings({"source": [[str(photo)]], name: value}, file)
    assert str(caught.value).startswith(said.format(file=file))


def test_files_that_are_named_in_a_file_and_overridden_need_not_be_there(photo: Path, tmp_path: Path) -> None:
    file = written(tmp_path, "source = 'gone.jpg'\noutput = 'gone/out.mp4'\nreport = 'gone/r.json'\nfaces = 'reference:gone.jpg'")
    given_values = {"source": [[str(photo)]], "output": ["null"], "report": str(tmp_path / "r.json"), "faces": "main"}
    assert load_settings(given_values, file) == Settings(sources=((photo,),), outputs=("null",), report=tmp_path / "r.json")
    del given_values["source"]
    with pytest.raises(UsageError, match=r"'source' in .*: the source photo gone\.jpg does not exist"):
        load_settings(given_values, file)


def test_a_file_that_is_not_utf_8_is_told(photo: Path, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes(b"# caf\xe9\n")
    with pytest.raises(UsageError, match="not text in UTF-8: save it as UTF-8"):
        load_settings({"source": [[str(photo)]]}, file)


def test_missing_things(photo: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no source photo"):
        load_settings({})
    with pytest.raises(UsageError, match=r"nix\.jpg does not exist"):
        load_settings({"source": [["nix.jpg"]]})
    with pytest.raises(UsageError, match="is a folder"):
        load_settings({"source": [[str(tmp_path)]]})
    with pytest.raises(UsageError, match=r"configuration file .* does not exist"):
        load_settings({"source": [[str(photo)]]}, tmp_path / "nix.toml")
    with pytest.raises(UsageError, match="cannot read the configuration file"):
        load_settings({"source": [[str(photo)]]}, tmp_path)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("me.jpg", "me2.jpg", "talk.mp4"):
        (tmp_path / name).write_bytes(b"mine")
    (tmp_path / "link.mp4").hardlink_to(tmp_path / "talk.mp4")
    return tmp_path


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"input": "talk.mp4", "output": ["talk.mp4"]}, "--output: talk.mp4 would overwrite the input"),
        ({"input": "talk.mp4", "output": ["./link.mp4"]}, "would overwrite the input"),
        ({"input": "synthetic:me2.jpg", "output": ["me2.jpg"]}, "would overwrite the input"),
        ({"output": ["null", "me.jpg"]}, "--output: me.jpg would overwrite a source photo"),
        ({"input": "talk.mp4", "report": "talk.mp4"}, "--report: talk.mp4 would overwrite the input"),
        ({"frame-log": "me.jpg"}, "--frame-log: me.jpg would overwrite a source photo"),
        ({"output": ["a.mp4", "./a.mp4"]}, "would overwrite the file for --output a.mp4"),
        ({"report": "x.json", "frame-log": "x.json"}, "--frame-log: x.json would overwrite the file for --report"),
    ],
)
def test_nothing_the_user_has_is_written_over(folder: Path, values: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_settings({"source": [["me.jpg"]], **values})
    assert said in str(caught.value)


def test_what_is_there_already_is_replaced_only_when_asked_for(folder: Path) -> None:
    (folder / "old.mp4").write_bytes(b"old")
    with pytest.raises(UsageError, match=r"--output: there is already a file old\.mp4: give another name, or --overwrite to replace it"):
        load_settings({"source": [["me.jpg"]], "output": ["old.mp4"]})
    assert load_settings({"source": [["me.jpg"]], "output": ["old.mp4"], "overwrite": True}).overwrite
    with pytest.raises(UsageError, match="would overwrite a source photo"):
        load_settings({"source": [["me.jpg"]], "output": ["me.jpg"], "overwrite": True})


def test_devices_and_files_of_their_own_are_no_clash(folder: Path) -> None:
    (folder / "old.json").write_text("{}")
    given_values = {"input": "talk.mp4", "output": ["new.mp4", "new.png", "null", "null"], "report": "old.json", "frame-log": "new.jsonl"}
    assert load_settings({"source": [["me.jpg"]], **given_values}).report == Path("old.json")
    if Path("/dev/null").exists():
        assert load_settings({"source": [["me.jpg"]], "report": "/dev/null", "frame-log": "/dev/null"}).report == Path("/dev/null")


def test_the_configuration_file_is_not_written_over(folder: Path) -> None:
    file = written(folder, "source = 'me.jpg'")
    with pytest.raises(UsageError, match="would overwrite the configuration file"):
        load_settings({"report": str(file)}, file)


@pytest.mark.parametrize(
    ("output", "said"), [(".", "it is a folder"), ("gone/out.mp4", "the folder gone does not exist"), ("me.jpg/out.mp4", "does not exist")]
)
def test_an_output_that_cannot_be_is_told_before_anything_is_loaded(folder: Path, output: str, said: str) -> None:
    with pytest.raises(UsageError, match=f"--output: cannot write .*{said}"):
        load_settings({"source": [["me.jpg"]], "output": [output]})


@pytest.mark.parametrize("name", ["a\0b.mp4", "~nobody-here/x.mp4", "x" * 300 + ".mp4"])
def test_what_is_no_file_name_is_told(photo: Path, name: str) -> None:
    for key in ("output", "report", "frame-log"):
        with pytest.raises(UsageError, match=f"--{key}: "):
            load_settings({"source": [[str(photo)]], key: name})
    assert load_settings({"source": [[str(photo)]], "input": name}).input == name  # a camera's name, for all that is known here


def test_a_key_that_is_there_in_both_spellings(photo: Path, tmp_path: Path) -> None:
    file = written(tmp_path, "on-lost = 'hide'\non_lost = 'pass'")
    with pytest.raises(UsageError, match=r"'on_lost' and 'on-lost' in .* are the same key"):
        load_settings({"source": [[str(photo)]]}, file)


junk = st.text("0159.x-pnauto ", max_size=9) | st.integers() | st.floats() | st.booleans() | st.none()
names = st.sampled_from([option.name for option in OPTIONS if option.name != "source"])


@settings(deadline=None, max_examples=80)
@given(st.dictionaries(names, junk, max_size=5))
def test_any_junk_is_settings_or_a_usage_error(values: dict[str, object]) -> None:
    try:
        loaded = load_settings({"source": [[__file__]], **values})
    except UsageError as error:
        assert any(str(error).startswith(f"--{name}: ") for name in values)
    else:
        assert loaded.sources == ((Path(__file__),),)
        assert loaded.size is None or loaded.size[0] % 2 == loaded.size[1] % 2 == 0


def test_a_configuration_folder_that_may_not_be_entered_counts_as_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def denied(self: Path) -> bool:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("realtime.config.default_config_file", lambda: tmp_path / "locked" / "config.toml")
    photo = tmp_path / "me.jpg"
    photo.touch()
    real = Path.is_file
    monkeypatch.setattr(Path, "is_file", lambda self: denied(self) if "locked" in str(self) else real(self))
    assert load_settings({"source": [[str(photo)]]}).sources == ((photo,),)
