"""What is built, and what is wrong with a recipe."""

from __future__ import annotations

from pathlib import Path

import pytest

from realtime.builder import manifest, recipes
from realtime.builder.contract import Contract
from realtime.errors import UsageError
from realtime.models.catalog import MODELS
from realtime.models.records import sha256_of

_OURS = Path(__file__).parents[2] / "engines" / "recipes.toml"


def test_the_recipes_of_the_checkout_are_those_of_the_program() -> None:
    ours = recipes.read(_OURS)
    assert ours.models == (*recipes.DEFAULT_MODELS, "follow")
    assert set(ours.rows) == {*ours.models, "follow_swap"}
    assert set(recipes.models_of(ours.models, ours)) == set(recipes.DEFAULT_MODELS) <= set(MODELS)


def test_without_a_file_it_is_the_same_that_is_built(tmp_path: Path) -> None:
    """As where the package runs without its checkout."""
    assert recipes.read(tmp_path / "none.toml") == recipes.read(_OURS)
    assert recipes.OWN.read_bytes() == _OURS.read_bytes()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("build = [", "cannot be read"),
        ('[models.a]\ngraph = "follow"', "graph is one of follow"),
        ("build = 3", "list of names"),
        ("[models.a]\nspeed = 1", "takes contract, gate, graph, of, precisions, role, swap"),
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
    assert [(each.name, each.paths, each.role) for each in found] == [
        ("mesh", [Path("store/mesh.onnx")], "landmarker"),
        ("own", [Path("some/own.onnx")], "network"),
    ]
    assert found[1].recipe.precisions == ("fp32",)


@pytest.mark.parametrize(("names", "words"), [(["meshh"], "no model 'meshh'"), (["a/x.onnx", "b/x.onnx"], "two models are called x")])
def test_names_that_cannot_be(names: list[str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        recipes.check_names(names, recipes.Recipes())


_BOOK = recipes.Recipes(
    rows={
        "follow": recipes.Recipe(graph="follow", of="mesh"),
        "follow_swap": recipes.Recipe(("fp16",), graph="follow_swap", of="mesh"),
        "own": recipes.Recipe(contract=Contract("arcface_112", denormalise=True)),
        "mine": recipes.Recipe(graph="follow_swap", of="mesh", swap="my/own.onnx", contract=Contract()),
    }
)


def test_the_path_around_a_swap_network_named_on_the_spot() -> None:
    (network,) = recipes.networks(["follow_swap:some/own.onnx"], _BOOK, {"mesh": Path("store/mesh.onnx")})
    assert (network.name, network.role) == ("follow_swap-own", "follow_swap")
    assert [(part.path, part.role) for part in network.parts] == [
        (Path("store/mesh.onnx"), "landmarker"),
        (Path("some/own.onnx"), "swapper"),
    ]
    assert network.recipe.precisions == ("fp16",)
    assert network.contract == Contract("arcface_112", denormalise=True)  # that of the swap network's own row
    assert recipes.models_of(["follow_swap:some/own.onnx"], _BOOK) == ["mesh"]


def test_the_path_around_a_swap_network_of_a_row() -> None:
    (network,) = recipes.networks(["mine"], _BOOK, {"mesh": Path("store/mesh.onnx")})
    assert (network.name, network.paths) == ("mine", [Path("store/mesh.onnx"), Path("my/own.onnx")])
    assert recipes.models_of(["mine", "follow"], _BOOK) == ["mesh"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("follow_swap", r"name it as follow_swap:FILE\.onnx"),
        ("follow_swap:nobody", "no model 'nobody'"),
        ("follow_swap:follow", "no model 'follow'"),
    ],
)
def test_a_path_around_nothing_is_a_sentence(name: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        recipes.check_names([name], _BOOK)


def test_a_contract_in_a_recipe(tmp_path: Path) -> None:
    path = tmp_path / "recipes.toml"
    path.write_text('[models.own]\ncontract = { template = "arcface_112", mean = [0.5, 0.5, 0.5], std = [0.5, 0.5, 0.5] }\n')
    contract = recipes.read(path).of("own").contract
    assert contract == Contract("arcface_112", (0.5, 0.5, 0.5), (0.5, 0.5, 0.5))
    for wrong in ('{ template = "moon" }', "{ colour = 1 }", "3"):
        path.write_text(f"[models.own]\ncontract = {wrong}\n")
        with pytest.raises(UsageError, match="contract takes template, mean, std, denormalise and order"):
            recipes.read(path)


def test_an_engine_is_of_all_its_files_and_of_the_code_around_them(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a.onnx", "b.onnx")]
    for file in files:
        file.write_bytes(file.name.encode())
    one, two = (manifest.fingerprint(files, graph) for graph in ("", "follow_swap"))
    assert one == "+".join(sha256_of(file) for file in files)
    assert two.startswith(one) and len(two) > len(one)
    files[1].write_bytes(b"other")
    assert manifest.fingerprint(files, "follow_swap") != two
