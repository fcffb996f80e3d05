"""What is built, and what is wrong with a recipe."""

from __future__ import annotations

from pathlib import Path

import pytest

from realtime.builder import recipes
from realtime.errors import UsageError
from realtime.models.catalog import MODELS

_OURS = Path(__file__).parents[2] / "engines" / "recipes.toml"


def test_the_recipes_of_the_checkout_are_those_of_the_program() -> None:
    ours = recipes.read(_OURS)
    assert ours.models == (*recipes.DEFAULT_MODELS, "follow")
    assert set(ours.rows) == set(ours.models)
    assert set(recipes.models_of(ours.models, ours)) == set(recipes.DEFAULT_MODELS) <= set(MODELS)


def test_without_a_file_the_defaults_are_built(tmp_path: Path) -> None:
    assert recipes.read(tmp_path / "none.toml") == recipes.Recipes()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("build = [", "cannot be read"),
        ('[models.a]\ngraph = "follow"', "graph is one of follow"),
        ("build = 3", "list of names"),
        ("[models.a]\nspeed = 1", "takes gate, graph, of, precisions, role"),
        ('[models.a]\nprecisions = ["fp8"]', "fp32, fp16, int8"),
        ('[models.a]\nrole = "dancer"', "no role 'dancer'"),
        ("[models.a]\ngate = { taste = 1 }", "gate takes numbers for"),
        ('[models.a]\nrole = "network"\ngate = { iou = 1 }', "psnr"),
    ],
)
def test_mistakes_are_sentences(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "recipes.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=words):
        recipes.read(path)


def test_names_and_files() -> None:
    book = recipes.Recipes(rows={"own": recipes.Recipe(("fp32",), {"psnr": 30.0}, "network")})
    found = recipes.networks(["mesh", "some/own.onnx", "mesh"], book, {"mesh": Path("store/mesh.onnx")})
    assert [(each.name, each.path, each.role) for each in found] == [
        ("mesh", Path("store/mesh.onnx"), "landmarker"),
        ("own", Path("some/own.onnx"), "network"),
    ]
    assert found[1].recipe.precisions == ("fp32",)


@pytest.mark.parametrize(("names", "words"), [(["meshh"], "no model 'meshh'"), (["a/x.onnx", "b/x.onnx"], "Two models are called x")])
def test_names_that_cannot_be(names: list[str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        recipes.check_names(names, recipes.Recipes())
