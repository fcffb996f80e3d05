"""What happened to the frames: counts, ages and stage times of one run."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from realtime.errors import SinkError, UsageError, reason, room_for
from realtime.types import State, Verdict

KEPT = 1 << 16
"""Samples kept per series, the newest ones: 36 minutes at 30 fps, a quarter of a megabyte, whatever the run's length."""


MOST_REASONS = 64
"""Different ones that are counted: what a library says of an error may differ with every frame."""


class Series:
    """The last KEPT values of one measure, in a fixed buffer."""

    def __init__(self, kept: int = KEPT) -> None:
        # Written to now: memory that the system only promises would be taken page by page, and look like a leak for half an hour.
        self._values = np.full(kept, np.nan, np.float32)
        self._count = 0

    def add(self, value: float) -> None:
        self._values[self._count % len(self._values)] = value
        self._count += 1

    @property
    def values(self) -> np.ndarray[Any, np.dtype[np.float32]]:
        """The kept values in the order they came, a copy."""
        if self._count <= len(self._values):
            return self._values[: self._count].copy()
        return np.roll(self._values, -(self._count % len(self._values)))

    def percentile(self, q: float) -> float | None:
        return float(np.percentile(self.values, q)) if self._count else None


class Telemetry:
    """Each method is called by one thread at a time; `report` after the stages ended, or for a rough look in between."""

    def __init__(self) -> None:
        self.frames_in = 0
        self.frames_out = 0
        self.repeated = 0
        self.states: Counter[str] = Counter()
        self.age = Series()
        self.stages = {name: Series() for name in ("capture", "infer", "blend")}
        self.parts = {name: Series() for name in ("detect", "follow", "identify", "swap")}
        self.reasons: Counter[str] = Counter()  # why frames were not swapped -> frames
        self.detections = 0
        self.faces: Counter[int] = Counter()  # how many were swapped in a frame -> frames
        self.failures: Counter[str] = Counter()  # what a network or swapper raised -> frames
        self.failing = False
        """Whether the newest frame failed, or none got ready because the networks hang."""
        self.hangs = 0
        self._hanging: float | None = None
        self.started_at = 0.0
        self.first_swap_at: float | None = None
        self.first_out_at: float | None = None
        self.last_out_at: float | None = None

    def captured(self, seconds: float) -> None:
        self.frames_in += 1
        self.stages["capture"].add(seconds)

    def sent(self, verdict: Verdict, blend_seconds: float, now: float) -> None:
        """Note a frame that the leading sink had at `now`, `blend_seconds` after the blend stage took it up."""
        self.frames_out += 1
        self.states[verdict.state] += 1
        if verdict.state is not State.SWAPPED and (verdict.reason in self.reasons or len(self.reasons) < MOST_REASONS):
            self.reasons[verdict.reason] += 1
        self.failing = verdict.failed
        if verdict.failed and (verdict.reason in self.failures or len(self.failures) < MOST_REASONS):
            self.failures[verdict.reason] += 1
        self.detections += "detect" in verdict.times
        self.faces[len(verdict.patches)] += 1
        self.age.add(now - verdict.frame.captured_at)
        self.stages["blend"].add(blend_seconds)
        self.stages["infer"].add(verdict.times.get("infer", 0.0))
        for name, series in self.parts.items():
            if name in verdict.times:
                series.add(verdict.times[name])
        if verdict.state is State.SWAPPED and self.first_swap_at is None:
            self.first_swap_at = now
        self.first_out_at = self.first_out_at or now
        self.last_out_at = now

    def hanging(self, since: float | None) -> None:
        """Note that the frame which inference began at `since` does not get ready; noted again, it counts once."""
        if since is not None and since != self._hanging:
            self.hangs += 1
            self._hanging = since
        self.failing = True

    def report(
        self, dropped: int, seconds: float, roles: Mapping[str, Mapping[str, str]], passed: Collection[State] = ()
    ) -> dict[str, Any]:
        """The figures of the run; ages and times in milliseconds, None where nothing was measured.

        `passed`: the states in which the frame itself was shown, unswapped; in all others but SWAPPED it was hidden.
        """
        return {
            "frames_in": self.frames_in,
            "frames_out": self.frames_out,
            "repeated": self.repeated,
            "dropped": dropped,
            "unfinished": max(self.frames_in - self.frames_out - dropped, 0),
            "fps": _rounded(self._fps()),
            "fps_in": _rounded(self.frames_in / seconds if seconds > 0 else None),
            "age_ms": {name: _ms(self.age.percentile(q)) for name, q in (("p50", 50), ("p95", 95), ("p99", 99), ("max", 100))},
            "stage_ms": {name: _ms(series.percentile(50)) for name, series in self.stages.items()},
            "part_ms": {name: _ms(series.percentile(50)) for name, series in self.parts.items()},
            "detections": self.detections,
            "faces": {"mean": _rounded(self._mean_faces()), "most": max(self.faces, default=0)},
            "lost_frames": self.states[State.LOST] + self.states[State.FAILED],
            "hidden_frames": sum(count for state, count in self.states.items() if state is not State.SWAPPED and state not in passed),
            "hangs": self.hangs,
            "failures": dict(self.failures),
            "failing": self.failing,
            "states": dict(self.states),
            "reasons": dict(self.reasons),
            "first_swap_seconds": _rounded(self.first_swap_at - self.started_at if self.first_swap_at else None),
            "roles": {role: dict(about) for role, about in roles.items()},
            "seconds": round(seconds, 3),
        }

    def _mean_faces(self) -> float | None:
        """Faces swapped in a frame."""
        frames = self.faces.total()
        return sum(faces * count for faces, count in self.faces.items()) / frames if frames else None

    def _fps(self) -> float | None:
        """Frames out over the time between the first and the last of them."""
        if self.first_out_at is None or self.last_out_at is None or self.last_out_at <= self.first_out_at:
            return None
        return (self.frames_out - 1) / (self.last_out_at - self.first_out_at)


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1000, 2)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 2)


class FrameLog:
    """One JSON line a frame: number, state, reason, age, faces swapped, and times in milliseconds."""

    def __init__(self, path: Path) -> None:
        try:
            self._file = path.open("w", encoding="utf-8")
        except OSError as error:
            raise unwritable("frame log", path, error) from error
        self._path = path

    def write(self, verdict: Verdict, age: float) -> None:
        """Raises SinkError when the disk is full."""
        line = {"seq": verdict.frame.seq, "state": str(verdict.state), "reason": verdict.reason, "age_ms": _ms(age)}
        line["faces"] = len(verdict.patches)
        line["times_ms"] = {name: _ms(seconds) for name, seconds in verdict.times.items()}
        try:
            self._file.write(json.dumps(line) + "\n")
        except OSError as error:
            raise unwritable("frame log", self._path, error) from error

    def close(self) -> None:
        """Raises SinkError when the last lines cannot be written."""
        try:
            self._file.close()
        except OSError as error:
            raise unwritable("frame log", self._path, error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None:
            self.close()
            return
        with suppress(SinkError, UsageError):  # what ended the run comes first
            self.close()


def unwritable(what: str, path: Path, error: OSError) -> SinkError | UsageError:
    """The error, in a sentence, about a file of figures that cannot be written; an empty one is not left behind."""
    if cure := room_for(error):
        if path.is_file() and path.stat().st_size == 0:
            path.unlink(missing_ok=True)
        return SinkError(f"cannot write the {what} {path}: {reason(error)}; {cure}")
    return UsageError(f"cannot write the {what} {path}: {reason(error)}; choose a folder you may write to")
