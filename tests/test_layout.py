"""The documents name every part of the package, and no part that is not there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TOPS = (ROOT, *(ROOT / folder for folder in ("realtime", "benchmarks", "scripts", "engines")))


def named(text: str) -> set[str]:
    """Files and folders in code spans, without `realtime/` before them."""
    spans = re.findall(r"`([\w./]+(?:\.py|\.toml|/))`", text)
    return {span.removeprefix("realtime/").rstrip("/") for span in spans}


def test_each_part_of_the_package_is_in_the_table() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text[text.index("## Where things are") : text.index("## How we write")]
    entries = (ROOT / "realtime").iterdir()
    parts = {entry.name for entry in entries if entry.suffix == ".py" or (entry.is_dir() and (entry / "__init__.py").is_file())}
    assert parts - {"__init__.py", "__main__.py"} - named(table) == set()


@pytest.mark.parametrize("document", ["CONTRIBUTING.md", "docs/design.md"])
def test_what_is_named_is_there(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    missing = {name for name in named(text) if not any((top / name).exists() for top in TOPS)}
    assert missing - {"base.py", "select.py"} == set()  # one of each folder


def test_times_are_of_the_one_clock_that_is_fine_everywhere() -> None:
    """`time.monotonic` advances by 16 ms at a time on Windows before Python 3.13: two frames at 60 fps would be of one moment."""
    coarse = re.compile(r"\bmonotonic(_ns)?\(|import .*\bmonotonic\b")
    told = "`time.monotonic()`"
    sources = {path: path.read_text(encoding="utf-8").replace(told, "") for path in (ROOT / "realtime").rglob("*.py")}
    assert [path.name for path, text in sources.items() if coarse.search(text)] == []
