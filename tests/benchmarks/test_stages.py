"""The path stage by stage: what is made of the frames' times, and that the real path is measured."""

from __future__ import annotations

from contextlib import ExitStack

import numpy as np
import pytest

from benchmarks import floors, stages
from benchmarks.harness import Limit
from benchmarks.stages import AFTER, IN_ALL, TOGETHER

LIMITS = {"720p_258px": Limit(most=4), "after_720p": Limit(most=1), "in_all_720p": Limit(most=5), "in_all_1080p": Limit(most=5)}


def taken(slow=1.0):
    """Three rounds of two frames, in the second of which the machine is `slow` times slower."""
    rounds = np.repeat([1.0, slow, 1.0], 2)
    parts = {(name, part): 1.0 * rounds for name in stages.CASES for part in ("follow", "swap", "paste")}
    parts |= {(name, TOGETHER): 3.0 * rounds for name in stages.CASES}
    parts |= {(f"after {name}", AFTER): (0.5 if name == "720p" else 3.0) * rounds for name in stages.SIZES}
    parts |= {(floors.floor(size), floors.DECODE): 7.0 * rounds for size in stages.SIZES.values()}
    return {named: values.tolist() for named, values in parts.items()}


@pytest.mark.parametrize("slow", [1.0, 30.0])
def test_the_path_in_all_is_what_networks_and_finishing_take_together(slow):
    rows = {(row.name, row.metric): row for row in stages.rows_of(taken(slow), 2, LIMITS)}
    assert rows["720p", IN_ALL].value == 3.5 and rows["720p", IN_ALL].ok
    assert rows["1080p", IN_ALL].value == 6.0 and not rows["1080p", IN_ALL].ok
    assert rows["720p", f"{IN_ALL}, over a JPEG decode"].value == pytest.approx(0.5)
    assert rows["720p_258px", TOGETHER].limit == LIMITS["720p_258px"] and rows["after 720p", AFTER].limit == LIMITS["after_720p"]
    assert sum(row.limit is not None for row in rows.values()) == 4
    chart = stages.waterfall(list(rows.values()))
    assert chart.series[AFTER] == (["720p", "1080p"], [0.5, 3.0])


def test_what_comes_after_the_swap_finishes_a_frame():
    finish = stages.after((320, 240))
    assert floors.timed(finish) > 0


@pytest.mark.models
@pytest.mark.usefixtures("models")
def test_the_parts_of_real_frames_make_up_the_whole(monkeypatch):
    monkeypatch.setattr(stages, "CASES", {"small": ((640, 480), 200)})
    with ExitStack() as cleanup:
        frames = stages.Bench(cleanup).frames("small")
        for parts in (next(frames) for _ in range(3)):
            assert min(parts.values()) >= 0
            assert parts["follow"] + parts["swap"] + parts["paste"] == pytest.approx(parts[TOGETHER])
