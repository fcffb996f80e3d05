"""What the benchmark of engines asks of a processor that is not here: its flags as Linux tells them, and figures that are made up."""

from __future__ import annotations

import json
from argparse import Namespace
from functools import partial
from pathlib import Path

import pytest

from benchmarks import engines, harness
from realtime.builder.candidate import Candidate
from realtime.builder.gate import Judgement, Verdict

FLAGS = {
    "Sapphire Rapids": "fpu avx2 avx512f avx512_vnni avx_vnni amx_bf16 avx512_fp16 amx_tile amx_int8",
    "Ice Lake": "fpu avx2 avx512f avx512_vnni avx512_bitalg",
    "Zen 3": "fpu avx2 fma vaes",
    "a client's": "fpu avx2 avx_vnni",  # without AVX-512: nothing is asked of it
}


def told(folder: Path, flags: str) -> Path:
    file = folder / "cpuinfo"
    file.write_text(f"processor\t: 0\nmodel name\t: made up\nflags\t\t: {flags}\nbugs\t\t: none\n\nflags\t\t: {flags}\n", "utf-8")
    return file


@pytest.mark.parametrize(
    ("processor", "has"),
    [("Sapphire Rapids", ["amx_int8", "avx512_vnni"]), ("Ice Lake", ["avx512_vnni"]), ("Zen 3", []), ("a client's", [])],
)
def test_the_processor_says_what_it_has(processor: str, has: list[str], tmp_path: Path) -> None:
    assert engines.instructions(told(tmp_path, FLAGS[processor])) == has
    assert engines.instructions(tmp_path / "as on Windows") == []


def candidates(times: float, passed: bool = True, base: bool = True) -> list[Candidate]:
    """8 bits on OpenVINO are so many times faster than the base, all else as fast as that."""
    made = []
    for target, precision in engines.CANDIDATES:
        quick = (target, precision) == ("openvino", "int8")
        good = (passed or not quick) and (base or (target, precision) != engines.BASE)
        verdict = Judgement(Verdict.PASSED if good else Verdict.FAILED, {"psnr": 48.0}, {}, 1000 / times if quick else 1000.0)
        made.append(Candidate(target, precision, (), Path("x"), {"arithmetic": precision}, 1.0, verdict))
    return made


@pytest.mark.parametrize(
    ("processor", "measured", "limit", "status"),
    [
        ("Sapphire Rapids", candidates(8.1), ">= 8", 0),
        ("Sapphire Rapids", candidates(7.9), ">= 8", 1),
        ("Sapphire Rapids", candidates(11.8, passed=False), ">= 8", 1),  # fast and wrong
        ("Sapphire Rapids", candidates(11.8, base=False), ">= 8", 1),
        ("Ice Lake", candidates(2.6), ">= 2.5", 0),
        ("Ice Lake", candidates(2.4), ">= 2.5", 1),
        ("Zen 3", candidates(1.2), None, 0),
    ],
)
def test_the_run_itself_judges_what_is_asked_of_the_processor(
    processor: str, measured: list[Candidate], limit: str | None, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "instructions", partial(engines.instructions, told(tmp_path, FLAGS[processor])))
    monkeypatch.setattr(engines, "measured", lambda folder, options: iter([(engines.TWIN, measured), ("sface", candidates(1.0))]))
    file = tmp_path / "rows.json"
    assert engines.run(Namespace(width=1.0, only=("sface", "twin"), json=file)) == status
    rows = json.loads(file.read_text("utf-8"))["rows"]
    asked = {row["name"]: row["limit"] for row in rows if row["metric"] == engines.BEST}
    assert asked == {engines.TWIN: limit, "sface": None}
    others = [row["note"] for row in rows if row["metric"].startswith("with ")]
    assert len(others) == (2 if limit is None else 1) and all("is asked for; not put to the test" in note for note in others)


def test_a_narrow_twin_keeps_no_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does it miss one: it shows nothing of the full size."""
    monkeypatch.setattr(engines, "instructions", lambda: ["amx_int8"])
    monkeypatch.setattr(engines, "measured", lambda folder, options: iter([(engines.TWIN, candidates(1.0))]))
    assert engines.run(Namespace(width=0.1, only=("twin",), json=tmp_path / "rows.json")) == 0


def test_the_limits_are_those_that_were_set() -> None:
    limits = harness.budgets("engines")
    assert (limits["twin_amx"].least, limits["twin_vnni"].least, limits["path"].least) == (8.0, 2.5, 1.5)
