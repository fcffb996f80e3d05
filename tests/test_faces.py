"""What --faces and --map may be told."""

from __future__ import annotations

from pathlib import Path

import pytest

from realtime.config import load_settings
from realtime.errors import UsageError
from realtime.faces import Rule, resolve, rule


@pytest.fixture
def photos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("me.jpg", "you.jpg", "anna.jpg", "ben.jpg"):
        (tmp_path / name).write_bytes(b"")
    return tmp_path


@pytest.mark.parametrize("text", ["main", "all", "largest", "left", "right"])
def test_the_plain_rules(text):
    assert rule(text) == rule(f" {text.upper()} ") == Rule(text)


def test_a_number_counts_from_one():
    assert rule("index:2") == Rule("index", number=2)


def test_a_reference_is_a_photo_that_is_there(photos):
    assert rule("reference:anna.jpg").photo == Path("anna.jpg")
    with pytest.raises(UsageError, match=r"the reference photo nobody.jpg does not exist: check the name"):
        rule("reference:nobody.jpg")
    with pytest.raises(UsageError, match="is a folder"):
        rule(f"reference:{photos}")


@pytest.mark.parametrize("text", ["", "index", "index:0", "index:x", "index:100", "reference:", "all:2", "everybody", "left:anna.jpg"])
def test_what_is_no_rule_is_told_with_those_that_are(photos, text):
    with pytest.raises(UsageError, match=r"--faces: .* is not one of main, all, largest, left, right, index:N"):
        load_settings({"source": [["me.jpg"]], "faces": text})


def test_a_slip_is_corrected():
    with pytest.raises(UsageError, match="did you mean 'largest'"):
        rule("larges")


def loaded(**given):
    return load_settings({name.replace("_", "-"): value for name, value in given.items()})


def test_a_map_brings_its_own_sources(photos):
    settings = loaded(map="me.jpg=anna.jpg,you.jpg=ben.jpg")
    assert settings.sources == ((Path("me.jpg"),), (Path("you.jpg"),))
    assert settings.map == ((0, Path("anna.jpg")), (1, Path("ben.jpg")))


def test_a_map_may_name_sources_by_number_or_photo(photos):
    settings = loaded(source=[["me.jpg", "you.jpg"], ["ben.jpg"]], map="2=anna.jpg, you.jpg = ben.jpg, anna.jpg=me.jpg")
    assert settings.sources == ((Path("me.jpg"), Path("you.jpg")), (Path("ben.jpg"),), (Path("anna.jpg"),))
    assert settings.map == ((1, Path("anna.jpg")), (0, Path("ben.jpg")), (2, Path("me.jpg")))


def test_one_source_may_go_on_two_people(photos):
    assert loaded(map="me.jpg=anna.jpg,me.jpg=ben.jpg").map == ((0, Path("anna.jpg")), (0, Path("ben.jpg")))


def test_a_map_in_a_file_takes_any_names(photos, tmp_path):
    odd = tmp_path / "a,b=c.jpg"
    odd.write_bytes(b"")
    file = tmp_path / "some.toml"
    file.write_text('[map]\n"me.jpg" = "a,b=c.jpg"\n', "utf-8")
    settings = load_settings({}, file)
    assert settings.map == ((0, Path("a,b=c.jpg")),)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("me.jpg", "is not a list such as me.jpg=anna.jpg,you.jpg=ben.jpg"),
        ("me.jpg=", "is not a list such as"),
        ("me.jpg=anna.jpg,", "is not a list such as"),
        ("me.jpg=nobody.jpg", "the reference photo nobody.jpg does not exist"),
        ("nobody.jpg=anna.jpg", "the source photo nobody.jpg does not exist"),
        ("2=anna.jpg", "there is no --source number 2: 1 is given"),
        ("0=anna.jpg", "there is no --source number 0: 1 is given"),
    ],
)
def test_what_is_no_map_is_told(photos, text, said):
    with pytest.raises(UsageError, match=said):
        loaded(source=[["me.jpg"]], map=text)


def test_a_map_and_a_rule_are_one_too_many(photos):
    with pytest.raises(UsageError, match="leave --faces out"):
        loaded(map="me.jpg=anna.jpg", faces="all")


def test_a_reference_photo_is_not_written_over(photos):
    for given in ({"faces": "reference:anna.jpg", "source": [["me.jpg"]]}, {"map": "me.jpg=anna.jpg"}):
        with pytest.raises(UsageError, match=r"anna.jpg would overwrite a reference photo"):
            loaded(output=["anna.jpg"], **given)


@pytest.mark.parametrize("text", ["0", "1", "nan", "much"])
def test_a_similarity_is_a_share(photos, text):
    with pytest.raises(UsageError, match=r"--similarity: .* is not a number from 0.05 to 0.99"):
        loaded(source=[["me.jpg"]], similarity=text)


def test_people_are_told_by_a_recogniser_whatever_the_profile(photos):
    assert loaded(map="me.jpg=anna.jpg", profile="light").needs_recogniser
    assert loaded(source=[["me.jpg"]], faces="reference:anna.jpg").needs_recogniser
    assert not loaded(source=[["me.jpg"]], faces="all").needs_recogniser


def test_nothing_to_resolve_changes_nothing():
    assert resolve((), ((Path("me.jpg"),),)) == (((Path("me.jpg"),),), ())
