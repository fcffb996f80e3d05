"""The benchmark of waste: it sees what a stage allocates and keeps, and reads a profile."""

from __future__ import annotations

import numpy as np

from benchmarks import waste
from benchmarks.harness import Limit

FRAME = waste.SIZE[0] * waste.SIZE[1] * 3
LIMITS = {"peak_percent": Limit(most=25), "kept_bytes": Limit(most=100)}


class Made:
    """Stages that allocate and keep what they are told."""

    def __init__(self, at_once=0, kept=0):
        self._at_once, self._keep, self._kept = at_once, kept, []

    def capture(self):
        return None

    def infer(self, frame):
        np.empty(self._at_once, np.uint8)
        self._kept.append(bytearray(self._keep))

    def blend(self, verdict):
        pass


def found(stages):
    rows = waste.allocations(stages, 40, LIMITS)
    return {row.name: row for row in rows}


def test_an_allocation_of_frame_size_is_seen_where_it_happens_even_though_it_is_given_back():
    rows = found(Made(at_once=FRAME))
    assert not rows["infer"].ok and rows["infer"].value > 99
    assert rows["capture"].ok and rows["blend"].ok


def test_what_a_frame_leaves_behind_is_counted():
    assert not found(Made(kept=1000))["all"].ok
    assert found(Made(kept=1000))["all"].value > 1000


def test_a_path_that_allocates_nothing_passes():
    class Idle(Made):
        def infer(self, frame):
            pass

    assert all(row.ok for row in found(Idle()).values())


STACKS = """\
<module> (__main__.py:1);run (pipeline.py:9);step (realtime/pipeline/pipeline.py:198);swap (mesh.py:110) 60
<module> (__main__.py:1);step (realtime/pipeline/pipeline.py:198);swap (mesh.py:115) 20
<module> (__main__.py:1);_blend (realtime/pipeline/pipeline.py:250);finish (finish.py:70) 20
<module> (__main__.py:1);_capture (realtime/pipeline/pipeline.py:221);read (x.py:3);wait (threading.py:331) 500
<module> (__main__.py:1);main (cli.py:3);load (store.py:9) 300
"""


def test_a_profile_is_read_by_function_and_leaves_out_what_waits_or_is_no_stage():
    assert waste.by_function(STACKS) == {"swap (mesh.py)": 80, "finish (finish.py)": 20}


def test_shares_of_the_time_and_of_the_lock():
    rows = waste.profile_rows(waste.by_function(STACKS), waste.by_function(STACKS.replace(" 60", " 10").replace(" 20", " 0")))
    assert [(row.metric, row.value) for row in rows] == [
        ("with the interpreter's lock", 10.0),
        ("swap (mesh.py)", 80.0),
        ("finish (finish.py)", 20.0),
    ]
    assert rows[1].note == "of it with the lock 12 %"
