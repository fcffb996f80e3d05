"""The real pipeline for minutes on end while everything around it breaks in turn, and runs that are ended at random moments."""

from __future__ import annotations

import argparse
import math
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack

import cv2
import psutil

from benchmarks import endings, harness
from benchmarks.faults import BLOCK_SECONDS, BLOCKS, Beside, Clock, Device, Director, Faults, Network, Opened, Outlet, every_fault
from benchmarks.harness import Row
from benchmarks.memory import Memory, in_use
from realtime import app, assets
from realtime.finders import MESH, SFACE, needed
from realtime.following import tracking
from realtime.models.base import Identity
from realtime.models.detectors.yunet import YuNet
from realtime.models.landmarks.mesh import MeshLandmarker
from realtime.models.recognisers.sface import SFace
from realtime.models.swappers.mesh import MeshSwapper
from realtime.networks import open_networks
from realtime.photos.source import load_source
from realtime.pipeline.controls import Controls
from realtime.pipeline.infer import Infer
from realtime.pipeline.pipeline import Limits, Pipeline
from realtime.profiles import PROFILES
from realtime.settings import Settings
from realtime.sinks.base import Sink
from realtime.sources.camera import CameraSource
from realtime.sources.cameras import CameraEntry
from realtime.sources.synthetic import bundled_person
from realtime.storage import engines_folder, model_store
from realtime.tracking import Tracker
from realtime.types import Frame

SUMMARY = "the pipeline under a schedule of faults: recovery, lost frames, memory, leaks, ends by signal, full disk"
FPS = 30.0
WARM_UP = 300.0
"""Seconds, or half of a shorter run: pools of pictures grow to the most that were in use at once, which takes some faults to come about,
and the C library keeps up to 64 MB of what was freed."""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--minutes", type=float, default=10.0, metavar="N", help="length of the run with faults [10]")
    parser.add_argument("--signals", type=int, default=8, metavar="N", help="runs that are ended by a signal; none on Windows [8]")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the schedule [1]")
    parser.add_argument("--quiet", type=float, default=2.0, metavar="N", help="undisturbed seconds between two faults, at least [2]")


def run(options: argparse.Namespace) -> int:
    cv2.setNumThreads(1)
    limits = harness.budgets("soak")
    with ExitStack() as cleanup:
        rows = Soak(cleanup, options).rows(limits)
    if sys.platform != "win32":
        endings.prepare()
        rows += signal_rows([endings.by_signal(options.seed * 1000 + number) for number in range(options.signals)], limits)
        rows += disk_rows(endings.by_full_disk(), limits)
    settings = {name: getattr(options, name) for name in ("minutes", "signals", "seed", "quiet")}
    return harness.finish("soak", rows, settings, options.json)


class Soak:
    """The product's parts, with a camera, networks and a virtual camera that break to order."""

    def __init__(self, cleanup: ExitStack, options: argparse.Namespace) -> None:
        self._seconds, self._faults = 60 * options.minutes, Faults()
        self._device = Device(bundled_person(), FPS)
        self._outlet = Outlet(self._faults)
        self._beside = Beside(self._faults)
        self._director = Director(every_fault(self._device, self._faults), self._outlet, options.quiet, options.seed)
        self._memory, self._in_use = (Memory(min(max(self._seconds / 300, 0.5), 2.0), *look) for look in ((), (in_use,)))
        self._pipeline = self._built(cleanup)

    def _built(self, cleanup: ExitStack) -> Pipeline:
        settings = Settings(sources=((assets.SOURCE,),))
        store = model_store()
        store.ensure(needed(settings, store))
        profile = PROFILES[settings.profile]
        paths = {name: store.path(name) for name in needed(settings, store)}
        sessions = open_networks(paths, settings.backend, engines_folder(), store.folder / "compiled", print)
        opened = {name: cleanup.enter_context(session) for name, session in sessions.items()}
        detector, mesh, sface = (Network(opened[name], self._faults) for name in (profile.detector, MESH, SFACE))
        swapper, landmarker = MeshSwapper(glasses=settings.glasses == "keep"), MeshLandmarker(mesh)
        swapper.warm_up()
        photos, _ = load_source((assets.SOURCE,), YuNet(detector, thorough=True), landmarker)
        tracker = Tracker(YuNet(detector), landmarker, SFace(sface), tracking(settings))
        self._warm_up(tracker, swapper, swapper.fit(photos))
        controls = Controls()
        entry = CameraEntry(0, "breaking camera", "", cv2.CAP_ANY)
        present: Callable[[], list[CameraEntry]] = lambda: [] if self._device.fault == "unplugged" else [entry]  # noqa: E731
        camera = CameraSource(entry, self._device.size, FPS, open_capture=lambda where, backend: Opened(self._device), cameras=present)
        sinks: list[Sink] = [self._outlet, self._beside]
        return Pipeline(
            Clock(camera, self._faults),
            Infer(tracker, swapper, [swapper.fit(photos)], controls),
            lambda width, height: app.finisher(settings, width, height, sinks),
            sinks,
            controls=controls,
            on_tick=self._tick,
            limits=Limits(seconds=self._seconds),
        )

    def _warm_up(self, tracker: Tracker, swapper: MeshSwapper, identity: Identity) -> None:
        """Compile every kernel of the frame path: what is measured is not a first start."""
        infer = Infer(tracker, swapper, [identity], Controls())
        for seq in range(3):
            infer(Frame(seq, seq / FPS, self._device.sway.picture(seq)))
        tracker.reset()

    def _tick(self) -> None:
        self._director.tick()
        self._memory.tick()
        self._in_use.tick()

    def _meanwhile(self) -> float:
        """Percent of the camera's frames that the other sink got while the outlet was blocked; not a number where it never was."""
        times = self._director.tallies[BLOCKS].times if BLOCKS in self._director.tallies else 0
        return 100 * self._beside.meanwhile / (times * BLOCK_SECONDS * FPS) if times else float("nan")

    def rows(self, limits: dict[str, harness.Limit]) -> list[Row]:
        threads, files = set(threading.enumerate()), _open_files()
        self._pipeline.run()
        self._director.stop()
        time.sleep(0.5)  # threads that were left behind in a call may still be on their way out
        leaked = [thread.name for thread in threading.enumerate() if thread not in threads]
        director, tallies = self._director, self._director.tallies
        rows = [
            Row(name, "seconds to recover, worst", tally.slowest, "s", limits.get("recovery_seconds"), f"{tally.survived} of {tally.times}")
            for name, tally in sorted(tallies.items())
        ]
        happened, survived = (sum(getattr(tally, what) for tally in tallies.values()) for what in ("times", "survived"))
        unfinished = int(director.busy)
        quiet = director.lost + director.passed
        share = 100 * director.lost / max(quiet, 1)
        load = f"load {psutil.getloadavg()[0]:.1f} on {psutil.cpu_count()} cores"  # what a machine has no time for is lost too
        all_of_them = f"of {happened}, {director.rounds} rounds"
        warm_up = min(self._seconds / 2, WARM_UP)
        measured = f"in {self._seconds - warm_up:.0f} s after {warm_up:.0f} s"
        return [
            *rows,
            Row("faults", "not survived", happened - survived - unfinished, "", limits.get("not_survived"), all_of_them),
            Row("faults", "kinds that happened", len(tallies), "", limits.get("kinds")),
            Row("undisturbed", "frames lost", share, "%", limits.get("lost_percent"), f"{director.lost} of {quiet}; {load}"),
            Row(BLOCKS, "frames to the other sink", self._meanwhile(), "%", limits.get("meanwhile_percent"), "of those of the camera"),
            Row("hanging network", "noticed", self._pipeline.telemetry.hangs, "", None, "times covered by the placeholder"),
            *self._in_use_rows(warm_up, measured, limits),
            Row("memory", "growth", self._memory.growth(warm_up), "MB/h", limits.get("growth_mb_per_hour"), measured),
            Row("memory", "at the end", self._memory.samples[-1][1], "MB"),
            Row("after the run", "threads left", len(leaked), "", limits.get("threads"), " ".join(leaked)),
            Row("after the run", "open files left", max(_open_files() - files, 0), "", limits.get("files")),
        ]

    def _in_use_rows(self, warm_up: float, measured: str, limits: dict[str, harness.Limit]) -> list[Row]:
        """None where the allocator does not tell."""
        last, growth = self._in_use.samples[-1][1], self._in_use.growth(warm_up)
        rows = [
            Row("memory in use", "growth", growth, "MB/h", limits.get("used_mb_per_hour"), measured),
            Row("memory in use", "at the end", last, "MB"),
        ]
        return [] if math.isnan(last) else rows


def _open_files() -> int:
    process = psutil.Process()
    return int(process.num_handles() if sys.platform == "win32" else process.num_fds())


def signal_rows(ends: list[endings.Ending], limits: dict[str, harness.Limit]) -> list[Row]:
    if not ends:
        return []
    slowest = max(ends, key=lambda end: end.seconds)
    bad = [end for end in ends if not end.playable or end.left or end.status == 0]
    when, why = f"of {len(ends)}; {slowest.moment:.1f} s after the start", " ".join(map(str, bad))[:80]
    return [
        Row("signal", "seconds to end, worst", slowest.seconds, "s", limits.get("end_seconds"), when),
        Row("signal", "recordings damaged or left in parts", len(bad), "", limits.get("bad_endings"), why),
        Row("signal", "tracebacks", sum(not end.told for end in ends), "", limits.get("tracebacks")),
    ]


def disk_rows(end: endings.Ending, limits: dict[str, harness.Limit]) -> list[Row]:
    good = end.told and end.playable and end.status == 1
    return [Row("full disk", "went on, told, kept what there was", int(good), "", limits.get("full_disk"), f"status {end.status}")]
