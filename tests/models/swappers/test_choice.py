"""What the options of swap networks may be told."""

from __future__ import annotations

from pathlib import Path

import pytest

from realtime.config import SWAP_CONTRACTS, load_settings
from realtime.errors import UsageError
from realtime.models.catalog import MODELS
from realtime.models.swappers.choice import parse_layers, parse_swapper
from realtime.models.swappers.contracts import CONTRACTS

PHOTO = str(Path(__file__).parents[2] / "data" / "p001_studio.jpg")


def test_the_options_name_every_contract_and_the_catalogue_no_other() -> None:
    assert tuple(CONTRACTS) == SWAP_CONTRACTS
    assert {row.contract for row in MODELS.values() if row.role == "swapper"} <= set(CONTRACTS)


@pytest.mark.parametrize(("text", "layers"), [("4-7", (4, 5, 6, 7)), ("17, 0-1", (0, 1, 17)), ("3", (3,))])
def test_layers(text: str, layers: tuple[int, ...]) -> None:
    assert parse_layers(text) == layers


@pytest.mark.parametrize("text", ["", "7-4", "0-18", "-1", "a", "4-", 4])
def test_no_layers(text: object) -> None:
    with pytest.raises(ValueError):
        parse_layers(text)


def test_swappers_are_names_or_files_that_are_there(tmp_path: Path) -> None:
    file = tmp_path / "mine.ONNX"
    file.write_bytes(b"x")
    assert [parse_swapper(text) for text in ("mesh", "inswapper_128", str(file))] == ["mesh", "inswapper_128", str(file)]
    with pytest.raises(UsageError, match="did you mean 'hyperswap_1a_256'"):
        parse_swapper("hyperswap_1a")
    with pytest.raises(UsageError, match="does not exist"):
        parse_swapper(str(tmp_path / "gone.onnx"))


def test_only_a_dfm_file_needs_no_source_photo(tmp_path: Path) -> None:
    file = tmp_path / "somebody.dfm"
    file.write_bytes(b"x")
    assert load_settings({"swapper": str(file)}).sources == ()
    assert load_settings({"swapper": str(file), "source": [[PHOTO]]}).sources == ((Path(PHOTO),),)
    with pytest.raises(UsageError, match="no source photo"):
        load_settings({"swapper": "inswapper_128"})
