"""Of what kind a network is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from realtime.builder import kinds, recipes
from realtime.builder.contract import Contract
from realtime.builder.roles import ROLES
from realtime.errors import ModelError, UsageError
from realtime.models.catalog import MODELS
from realtime.models.swappers.contracts import CONTRACTS
from tests.backends.graphs import affine
from tests.twins.swappers import DISTINCT, TWINS, dfm_twin, twin

_PATHS = {name: Path(f"store/{name}.onnx") for name in MODELS}


@pytest.mark.parametrize("name", DISTINCT)
def test_swap_networks_are_told_by_their_files(tmp_path: Path, name: str) -> None:
    path = tmp_path / f"{name}.onnx"
    onnx.save(twin(name), path)
    role, contract = kinds.of_file(path)
    assert role == "swapper" and contract is not None
    mean, std = TWINS[name].normal
    assert (contract.mean, contract.std, contract.denormalise) == (mean, std, TWINS[name].denormalise)


@pytest.mark.parametrize("name", [row.name for row in CONTRACTS.values() if row.takes_latent])
def test_the_builder_has_the_numbers_of_every_contract_with_a_latent(name: str) -> None:
    row = CONTRACTS[name]
    made = kinds._of_swapper(row)[1]
    assert made is not None
    swap = made.swap(None, row.size)
    np.testing.assert_allclose(swap.template, row.template(row.size), atol=1e-4)
    assert (swap.mean, swap.std, swap.denormalise) == (row.mean, row.std, row.denormalise)


def test_a_file_that_could_be_several_is_asked_about(tmp_path: Path) -> None:
    path = tmp_path / "mine.onnx"
    onnx.save(twin("ghost_1_256"), path)
    with pytest.raises(UsageError, match="--swap-contract"):
        kinds.of_file(path)
    assert kinds.of_file(path, "ghost")[1] == Contract("arcface_112_v1", (0.5,) * 3, (0.5,) * 3, denormalise=True)
    with pytest.raises(ModelError, match="is no inswapper network"):
        kinds.of_file(path, "inswapper")


def test_what_is_no_swap_network_is_any_network(tmp_path: Path) -> None:
    onnx.save(dfm_twin(), tmp_path / "person.dfm.onnx")
    for path in (affine(tmp_path / "affine.onnx"), tmp_path / "person.dfm.onnx"):
        assert kinds.of_file(path) == ("network", None)


def test_a_damaged_file_may_be_anything_so_that_it_costs_its_row_only(tmp_path: Path) -> None:
    damaged = tmp_path / "swap.onnx"
    damaged.write_bytes(b"no network")
    assert kinds.of_file(damaged) == kinds.of_file(damaged, "inswapper") == (kinds.ANY, Contract())
    (whole,) = recipes.networks([f"follow_swap:{damaged}"], recipes.Recipes(), {"mesh": tmp_path / "mesh.onnx"})
    assert whole.paths == [tmp_path / "mesh.onnx", damaged]


def test_every_model_of_the_catalogue_has_a_gate() -> None:
    found = {name: kinds.of_catalogue(name) for name in MODELS}
    assert all(role in ROLES for role, _ in found.values())
    assert {found[name][0] for name in recipes.DEFAULT_MODELS} == {"detector", "landmarker", "recogniser", "segmenter"}
    assert found["inswapper_128"] == ("swapper", Contract())
    assert {role for role, contract in found.values() if contract} == {"swapper", "enhancer"}


@pytest.mark.parametrize("name", ["inswapper_128", "hyperswap_1a_256", "simswap_unofficial_512"])
def test_the_whole_path_around_a_swap_network_of_the_catalogue(name: str) -> None:
    (network,) = recipes.networks([f"follow_swap:{name}"], recipes.Recipes(), _PATHS)
    assert [part.role for part in network.parts] == ["landmarker", "swapper"]
    assert network.contract == kinds.of_catalogue(name)[1]
    assert recipes.models_of([f"follow_swap:{name}"], recipes.Recipes()) == ["mesh", name]


def test_a_network_without_a_latent_cannot_become_part_of_the_path() -> None:
    with pytest.raises(UsageError, match="only swap networks that take one latent"):
        recipes.networks(["follow_swap:yunet_320"], recipes.Recipes(), _PATHS)
