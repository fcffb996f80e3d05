"""The benchmarks' harness: limits, rows, files, exit codes, turns, charts."""

from __future__ import annotations

import json
import math
import tomllib

import pytest

from benchmarks import __main__ as command
from benchmarks import all as every
from benchmarks import floors, harness, plots
from benchmarks.harness import Chart, Limit, Row
from realtime.errors import RealtimeError, UsageError

SECTIONS = sorted(tomllib.loads(harness.BUDGETS.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    ("limit", "kept", "missed", "text"),
    [
        (Limit(most=2), (2, -1), (2.1, math.nan, math.inf), "<= 2"),
        (Limit(least=0.5), (0.5, 9), (0.4, math.nan), ">= 0.5"),
        (Limit(1, 3), (1, 3), (0.9, 3.1), ">= 1 and <= 3"),
    ],
)
def test_a_limit_holds_up_to_its_bound_and_never_for_what_is_no_number(limit, kept, missed, text):
    assert all(limit.holds(value) for value in kept)
    assert not any(limit.holds(value) for value in missed)
    assert str(limit) == text


@pytest.mark.parametrize("section", SECTIONS)
def test_every_limit_has_a_bound_and_says_why(section):
    limits = harness.budgets(section)
    assert limits
    for name, limit in limits.items():
        assert limit.why and (limit.least is not None or limit.most is not None), name


def test_every_section_of_the_limits_is_a_benchmark_and_every_benchmark_can_be_asked_for():
    assert set(SECTIONS) <= set(command.names())
    assert {"all", "latency", "stages"} <= set(command.names())
    assert not {"harness", "plots", "floors", "judge"} & set(command.names())


def test_limits_of_a_table_within_a_section_and_its_reasons(tmp_path, monkeypatch):
    file = tmp_path / "budgets.toml"
    file.write_text('[a]\nwhy = "general"\nx = { most = 1 }\ny = { least = 2, why = "own", unit = "ms" }\n[a.clip]\nz = { most = 3 }\n')
    monkeypatch.setattr(harness, "BUDGETS", file)
    assert harness.budgets("a") == {
        "x": Limit(most=1, why="general"),
        "y": Limit(least=2, why="own", unit="ms"),
        "clip.z": Limit(most=3, why="general"),
    }
    assert harness.budgets("unknown") == {}


def test_the_file_holds_machine_settings_rows_and_charts_and_the_status_tells_of_misses(tmp_path):
    file = tmp_path / "new" / "r.json"
    chart = Chart("ages", "lines", "t", "s", "ms", {"a": ([1, 2], [3.00004, 4.0])})
    met = [Row("n", "m", 1.0, "ms", Limit(most=2, why="w")), Row("n", "free", math.nan)]
    assert harness.finish("demo", met, {"runs": 3}, file, [chart]) == 0
    report = json.loads(file.read_text(encoding="utf-8"))
    assert report["settings"] == {"runs": 3} and report["machine"]["cores"] >= 1 and "numpy" in report["machine"]["versions"]
    row = {"name": "n", "metric": "m", "value": 1.0, "unit": "ms", "limit": "<= 2", "note": "", "why": "w", "ok": True}
    assert report["rows"][0] == row
    assert report["rows"][1]["value"] is None and report["rows"][1]["ok"]
    assert report["charts"][0]["series"] == {"a": [[1, 2], [3.0, 4.0]]}
    assert harness.finish("demo", [Row("n", "m", math.nan, "ms", Limit(most=2))], {}) == 1


def test_sides_take_turns_and_the_first_round_does_not_count():
    calls = []

    def side(name):
        def call():
            calls.append(name)
            return float(len(calls))

        return call

    taken = harness.by_turns({"a": side("a"), "b": side("b")}, rounds=2, each=2)
    assert calls == list("aabb" * 3)
    assert taken == {"a": [5.0, 6.0, 9.0, 10.0], "b": [7.0, 8.0, 11.0, 12.0]}


def test_the_spread_of_no_values_misses_its_limit():
    rows = harness.spread("case", "age", [], "ms", {"k_p95": Limit(most=5)}, "k")
    assert [row.metric for row in rows] == ["age p50", "age p95", "age p99"]
    assert [row.ok for row in rows] == [True, False, True]
    assert harness.spread("case", "age", range(101), "ms", {}, "k")[1].value == pytest.approx(95)


def test_a_process_of_its_own_that_fails_says_why():
    with pytest.raises(RealtimeError, match="invalid float value"):
        harness.report_of("benchmarks", "latency", "--seconds", "often")


def test_a_round_that_was_disturbed_shows_and_does_not_decide():
    quiet, disturbed = [1.0, 2.0, 3.0], [50.0, 60.0, 70.0]
    row = harness.steady("n", "m", [*quiet, *disturbed, *quiet], 3, Limit(most=2), note="of one thread")
    assert row.value == 2 and row.ok
    assert row.note == "3 rounds 2.00 to 60.00, p95 66.00; of one thread"
    assert not harness.steady("n", "m", [*disturbed, *quiet, *disturbed], 3, Limit(most=2)).ok


def test_a_round_that_is_not_whole_does_not_count_and_a_single_short_one_does():
    assert harness.medians([1.0, 3.0, 5.0, 7.0, 100.0], 2).tolist() == [2.0, 6.0]
    assert harness.medians([1.0, 3.0], 5).tolist() == [2.0]


def test_a_ratio_is_that_of_the_same_round():
    """The machine is ten times slower in the second: both sides are, and their ratio stays."""
    row = harness.ratio("n", "a over b", [8.0, 80.0, 8.0], [2.0, 20.0, 2.0], 1, Limit(least=4))
    assert row.value == 4 and row.ok and row.unit == "times"
    assert row.note == "3 rounds 4 to 4"


def test_floors_are_measured_for_a_frame_of_the_size():
    taken = harness.by_turns(floors.floors((640, 480)), 3, 1)
    rows = floors.rows(taken, 1)
    assert [row.metric for row in rows] == ["memory copy", floors.DECODE, "BGR to I420", "copy a 258x310 region in"]
    assert {row.name for row in rows} == {"floor 640x480"}
    assert all(row.value > 0 for row in rows)
    assert "quality 90" in rows[1].note and "quality" not in rows[0].note


def report(value):
    rows = [
        {"name": "n", "metric": "m", "value": value, "limit": "<= 2"},
        {"name": "n", "metric": "wide", "value": 1.0, "limit": ">= 1 and <= 3"},
        {"name": "n", "metric": "zero", "value": 0.0, "limit": "<= 0"},
        {"name": "n", "metric": "free", "value": 1.0, "limit": None},
    ]
    charts = [
        Chart(kind, kind, "t", "x", "y", {"one": (["a", "b"] if kind == "bars" else [1, 2], [1.0, 2.0])}).as_dict()
        for kind in ("lines", "points", "histogram", "bars")
    ]
    return {"benchmark": "demo", "rows": rows, "charts": charts}


def test_limits_are_drawn_as_shares_of_the_bound():
    (chart,) = plots.limits(report(3.0))
    assert chart["series"] == {"": [["n: m <= 2"], [150.0]]}
    assert plots.limits(report(None)) == []


def test_every_kind_of_chart_becomes_a_picture(tmp_path):
    pytest.importorskip("matplotlib")
    files = plots.draw(report(1.0), tmp_path / "plots")
    assert [file.name for file in files] == [f"demo-{name}.png" for name in ("lines", "points", "histogram", "bars", "limits")]
    assert all(file.read_bytes().startswith(b"\x89PNG") for file in files)


def test_drawing_without_matplotlib_is_told_before_anything_is_measured(monkeypatch, capsys):
    monkeypatch.setattr(plots.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"\[plots\]"):
        plots.check()
    assert command.main(["latency", "--plot", "x"]) == 2
    assert "--plot" in capsys.readouterr().err


def test_where_the_figures_cannot_be_written_is_told_before_anything_is_measured(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(command, "_measured", lambda options: pytest.fail("it measured"))
    (tmp_path / "file").touch()
    assert command.main(["stages", "--json", str(tmp_path / "file" / "r.json")]) == 2
    assert "cannot make the folder" in capsys.readouterr().err
    assert command.main(["stages", "--json", str(tmp_path)]) == 2
    assert "it is a folder" in capsys.readouterr().err
    monkeypatch.setattr(command, "_measured", lambda options: 0)
    assert command.main(["stages", "--json", str(tmp_path / "new" / "r.json")]) == 0
    assert list((tmp_path / "new").iterdir()) == []


def test_all_counts_what_was_missed_and_what_could_not_run(tmp_path, monkeypatch):
    missed = {"name": "n", "metric": "m", "value": 3.0, "limit": "<= 2", "why": "w", "ok": False}
    rows = [missed, {"name": "n", "metric": "f", "limit": None}]
    made = {"good": (0, {"rows": rows[1:]}, 1.0), "bad": (1, {"rows": rows}, 1.0), "broken": (2, {"rows": []}, 1.0)}
    monkeypatch.setattr(every, "_measured", lambda name, options: made[name])
    file = tmp_path / "all.json"
    assert command.main(["all", "--only", *made, "--json", str(file)]) == 1
    counted = {row["name"]: row["value"] for row in json.loads(file.read_text(encoding="utf-8"))["rows"]}
    assert counted == {"good": 0, "bad": 1, "broken": 1}
