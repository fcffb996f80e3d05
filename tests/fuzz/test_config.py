"""Configurations that lie: settings or one sentence, and nothing in them is ever executed."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from realtime.config import OPTIONS, load_settings
from realtime.errors import UsageError
from realtime.settings import Settings
from tests.fuzz.mutations import mutated

UNHURRIED = settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
GOOD = b"""source = [["me.jpg"], ["you.jpg", "me.jpg"]]
input = "synthetic"
output = ["out.mp4", "null"]
size = "1280x720"
fps = 29.97
mirror = true
rotate = 90
on-lost = "freeze"
min_face = 32
seconds = 1e3
"""
LEAVES = st.one_of(
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=12),
    st.sampled_from(
        ["__import__('os').system('true')", "$(touch x)", "`x`", "../../etc/passwd", "~root/x", "\\u0000", "pass", "virtualcam:", "1e999x2"]
    ),
)
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3), max_leaves=6)


@pytest.fixture
def config(tmp_path, monkeypatch):
    for name in ("me.jpg", "you.jpg"):
        (tmp_path / name).write_bytes(b"a photo")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "config.toml"


def loaded(config: Path) -> Settings | str:
    try:
        return load_settings({}, config)
    except UsageError as error:
        assert "Traceback" not in str(error)
        return str(error)


def toml(value) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return (
        str(value)
        if not isinstance(value, float) or math.isfinite(value)
        else "nan"
        if math.isnan(value)
        else "inf"
        if value > 0
        else "-inf"
    )


def test_the_seed_is_good(config):
    config.write_bytes(GOOD)
    assert isinstance(loaded(config), Settings)


def test_damaged_files(config):
    @UNHURRIED
    @given(mutated(GOOD))
    @example(b"\xff\xfe" + GOOD)
    @example(b"fps = " + b"9" * 10_000)
    @example(b"source = " + b"[" * 20_000)
    @example(b"a" + b".a" * 5_000 + b" = 1")
    @example(b"fps = 1\r\nfps = 2")
    def attack(data):
        config.write_bytes(data)
        loaded(config)

    attack()


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_any_value_for_any_option(option, config):
    @settings(UNHURRIED, max_examples=15)
    @given(VALUES)
    def attack(value):
        config.write_text(
            f'source = "me.jpg"\n{option.name} = {toml(value)}\n' if option.name != "source" else f"source = {toml(value)}\n", "utf-8"
        )
        loaded(config)

    attack()


NAMES = st.sampled_from([option.name for option in OPTIONS])
WORDS = st.one_of(st.text(max_size=20), st.booleans(), st.lists(st.lists(st.text(max_size=5))))


@UNHURRIED
@given(st.dictionaries(NAMES, WORDS))
def test_any_words_on_the_command_line(config, given_):
    try:
        load_settings(given_, None)
    except UsageError as error:
        assert "Traceback" not in str(error)


def test_a_file_without_end_is_not_read_to_it(config):
    config.write_bytes(b"#" * (1 << 20) + b"\n" + GOOD)
    assert "larger than a megabyte" in str(loaded(config))


def test_nothing_is_executed(config):
    """Python tells an audit hook of all that runs code, starts programs or loads pickles: a hostile configuration does none of it."""
    seen: list[str] = []
    watching = [False]

    def hook(event, arguments):
        if watching[0] and (
            event in ("exec", "compile", "import", "os.system", "subprocess.Popen", "pickle.find_class", "marshal.loads")
            or event.startswith("os.spawn")
        ):
            seen.append(event)

    config.write_bytes(GOOD)
    loaded(config)  # what it imports is imported by now
    sys.addaudithook(hook)  # stays for ever, but sleeps after this test
    for text in (
        "__import__('os').system('touch hacked')",
        "{0.__class__}",
        "%(x)s",
        "!!python/object:os.system",
        "$(touch hacked)",
        "`touch hacked`",
    ):
        config.write_text(f'source = "me.jpg"\ninput = {toml(text)}\noutput = [{toml(text)}, "null"]\n', "utf-8")
        watching[0] = True
        loaded(config)
        watching[0] = False
    assert seen == []
    assert not (config.parent / "hacked").exists()
