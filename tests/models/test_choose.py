"""What options that name a model accept."""

from __future__ import annotations

from pathlib import Path

import pytest

from realtime.config import load_settings
from realtime.errors import UsageError
from realtime.models.choose import model_choice


def test_words_names_of_the_role_and_files_are_taken_as_they_are(tmp_path: Path) -> None:
    parse = model_choice("detector", "auto")
    file = tmp_path / "mine.ONNX"
    file.write_bytes(b"x")
    for value in ("auto", "yunet_640", "scrfd_10g", str(file)):
        assert parse(value) == value


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("scrfd_10", r"there is no detector 'scrfd_10'; did you mean 'scrfd_10g'\?"),
        ("sface", "there is no detector 'sface'; name an .onnx file, or one of auto, yunet_320, "),
        ("none.onnx", r"the detector none.onnx does not exist: check the name \(the current folder is "),
    ],
)
def test_everything_else_is_one_sentence(value: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        model_choice("detector", "auto")(value)


@pytest.mark.parametrize("value", [None, 3, "", "  "])
def test_no_text_is_no_model(value: object) -> None:
    with pytest.raises(ValueError):
        model_choice("detector")(value)


@pytest.mark.parametrize("option", ["detector", "landmarker", "recogniser"])
def test_the_options_say_who_complains(option: str, tmp_path: Path) -> None:
    photo = tmp_path / "me.jpg"
    photo.write_bytes(b"")
    with pytest.raises(UsageError, match=f"^--{option}: there is no {option} 'bicycle'; "):
        load_settings({"source": [[str(photo)]], option: "bicycle"})
