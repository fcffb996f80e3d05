"""Whether the photos of one person show one person; an end while networks load."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from realtime import loading
from realtime.loading import strangers
from realtime.settings import Settings
from realtime.types import Box, Detection, Floats, Image, Landmarks, SourcePhoto
from tests.tracking.scene import MESH


class Knows:
    """Gives embeddings that were told beforehand."""

    name, same_person = "told", 1 / 3
    """Photos of one person are alike from 0.5 then."""

    def __init__(self, embeddings: Floats) -> None:
        self._rows: Iterator[Floats] = iter(embeddings)

    def embed(self, image: Image, points: Floats) -> Floats:
        return next(self._rows)


def photo(name: str) -> SourcePhoto:
    image = np.zeros((8, 8, 3), np.uint8)
    return SourcePhoto(image, Detection(Box(0, 0, 8, 8), np.zeros((5, 2), np.float32), 0.9), Landmarks(MESH, 1.0), name)


def told(cosines: list[list[float]]) -> list[str]:
    """What is said of photos a, b, c, ... with these cosines between them."""
    embeddings = np.linalg.cholesky(np.array(cosines)).astype(np.float32)
    return strangers([photo(name) for name in "abcde"[: len(cosines)]], Knows(embeddings))


def pairs(count: int, same: float, **other: float) -> list[list[float]]:
    """`same` between all of them, but for pairs such as ab=0.1."""
    table = np.full((count, count), same)
    np.fill_diagonal(table, 1.0)
    for pair, cosine in other.items():
        one, two = ("abcde".index(letter) for letter in pair)
        table[one, two] = table[two, one] = cosine
    return table.tolist()


def test_photos_of_one_person_need_no_word() -> None:
    assert told(pairs(2, 0.55)) == told(pairs(4, 0.6)) == []
    assert strangers([photo("a")], Knows(np.eye(1, dtype=np.float32))) == strangers([photo("a"), photo("b")], None) == []


@pytest.mark.parametrize("cosine", [0.1, 0.45])
def test_of_two_that_differ_the_second_is_named(cosine: float) -> None:
    assert told(pairs(2, cosine)) == ["b does not look like a: leave it out, or for two people give each a --source of their own"]


@pytest.mark.parametrize(("odd", "cosines"), [("a", {"ab": 0.2, "ac": 0.3}), ("b", {"ab": 0.2, "bc": 0.3}), ("c", {"ac": 0.45, "bc": 0.4})])
def test_of_three_the_odd_one_out_is_named_wherever_it_stands(odd: str, cosines: dict[str, float]) -> None:
    (sentence,) = told(pairs(3, 0.7, **cosines))
    assert sentence.startswith(f"{odd} does not look like the person in the other photos")


def test_two_looks_of_a_person_may_differ_when_a_third_is_like_both() -> None:
    assert told(pairs(3, 0.7, ac=0.4)) == []


def test_of_two_pairs_the_first_ones_counts() -> None:
    said = told(pairs(4, 0.1, ac=0.8, bd=0.8))
    assert [sentence[0] for sentence in said] == ["b", "d"]


def test_ctrl_c_waits_for_no_network_that_loads() -> None:
    go, loaded = threading.Event(), list[bool]()

    def load(paths: Mapping[str, Path]) -> dict[str, Any]:
        loaded.append(go.wait(30))
        return {}

    def interrupted() -> None:
        raise KeyboardInterrupt

    opener: Any = SimpleNamespace(store=SimpleNamespace(path=Path), open=load, open_follow=lambda path: None)
    used: Any = SimpleNamespace(paths=lambda store: {})
    with pytest.raises(KeyboardInterrupt):
        loading._opened(Settings(sources=()), used, opener, interrupted)
    assert loaded == []
    go.set()
