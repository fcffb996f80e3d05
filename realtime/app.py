"""From settings to a run: sources, networks and sinks put together, and what the user is told on the way."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, cast

import cv2

from realtime.checking import check
from realtime.errors import RealtimeError, SinkError
from realtime.finders import MESH, needed
from realtime.finishing import Finishing, wishes
from realtime.following import Stage, beside, infer_stage, references
from realtime.loading import Models, fit_sources, load_models, photo_recogniser, swap_options
from realtime.machine import fine_waits
from realtime.models.base import Identity
from realtime.models.landmarks.fused import FusedLandmarker
from realtime.models.landmarks.swapping import SwappingLandmarker
from realtime.models.store import ModelStore, Progress
from realtime.networks import Notify
from realtime.opening import check_swap_network
from realtime.photos.album import Album
from realtime.pipeline.controls import Controls
from realtime.pipeline.finish import Finisher, OnLost
from realtime.pipeline.pipeline import Limits, Pipeline
from realtime.pipeline.telemetry import FrameLog, Telemetry, unwritable
from realtime.settings import Settings
from realtime.sinks.base import Sink
from realtime.sinks.commands import Command, KeyCommand
from realtime.sinks.image import ImageSink, save_still
from realtime.sinks.select import open_output
from realtime.sinks.window import WindowSink
from realtime.sources.base import SourceInfo
from realtime.sources.image import ImageSource
from realtime.sources.select import open_input
from realtime.sources.transform import Transformed
from realtime.starting import process_start
from realtime.storage import data_folder, model_store
from realtime.trust.badge import Badge
from realtime.trust.seal import Sealer
from realtime.trust.watermark import Marker
from realtime.types import OutputFrame, State
from realtime.values import is_file

log = logging.getLogger(__name__)

Kernels = Callable[[Callable[[], None]], None]
"""Waits until the kernels are compiled; calls now and then what it is given."""
_ANSWER = 1.0
"""Seconds that a stream is given to answer before networks are loaded: a wrong address is told at once, a right one answers meanwhile."""


class App:
    """One run. `report` is there afterwards, also when the run was interrupted."""

    def __init__(
        self,
        settings: Settings,
        *,
        notify: Notify = log.info,
        progress: Progress | None = None,
        kernels: Kernels | None = None,
        count: Callable[[int, int | None], None] = lambda done, total: None,
        begins: Callable[[], None] = lambda: None,
        photos: Album | None = None,
    ) -> None:
        """`kernels`: see `load_models`; `count` is told how many frames of a video file are done, and of how many, if that is known.

        `begins` is called, perhaps twice, when there begins to be something that an end has to put in order: a download, or the run itself.
        `photos`: what `check` has looked at.
        """
        self._settings = settings
        self._kernels = kernels
        self._count = count
        self._begins = begins
        self._notify = notify
        self._progress = progress
        self._photos = photos or Album()
        self.report: dict[str, Any] | None = None
        self.telemetry = Telemetry()
        self.controls = Controls()
        read = Path(settings.input).expanduser() if is_file(settings.input) else None
        self._sealer = Sealer(data_folder() / "signing", read, notify)

    def run(self) -> dict[str, Any]:
        """Fetch what is missing, run to the end, and give the report (also written to `--report`). Raises RealtimeError."""
        settings = self._settings
        cv2.setNumThreads(1)  # the stages are the parallelism; OpenCV's own pool only adds hand-overs to operations this small
        cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_ERROR)  # its warnings about cameras come again as our sentences
        self.telemetry.started_at = process_start()
        self._warn()
        with ExitStack() as cleanup:
            source = open_input(settings.input, settings.size, settings.fps, mirror=settings.mirror, rotate=settings.rotate)
            cleanup.enter_context(fine_waits())
            cleanup.callback(source.close)
            source.begin(_ANSWER)
            sinks = [open_output(text, seal=self._sealer, replace=settings.overwrite) for text in settings.outputs]
            store = model_store()
            models = self._models(store, cleanup, source)
            if (enlarger := models.finishing.enlarger) is not None:
                source.enlarge_by(enlarger.factor, enlarger.enlarge)
            with photo_recogniser(settings, models, store) as recogniser:
                identities = fit_sources(settings, models, self._notify, self._photos.take, recogniser)
            self._begins()
            frame_log = cleanup.enter_context(FrameLog(settings.frame_log)) if settings.frame_log else None
            pipeline = self._pipeline(models, identities, source, sinks, frame_log)
            return self._measured_run(pipeline, source, models)

    def _measured_run(self, pipeline: Pipeline, source: Transformed, models: Models) -> dict[str, Any]:
        """The report, written too, also of a run that does not end well."""
        begun = time.perf_counter()
        try:
            pipeline.run()
        except BaseException:
            self.report = self._measured(pipeline, source, begun, models)
            try:
                self._write_report(self.report)
            except RealtimeError as error:  # what ended the run comes first
                self._notify(str(error))
            raise
        self.report = self._measured(pipeline, source, begun, models)
        self._write_report(self.report)
        return self.report

    def _measured(self, pipeline: Pipeline, source: Transformed, begun: float, models: Models) -> dict[str, Any]:
        passed = (State.STARTING, State.LOST, State.FAILED) if self._settings.on_lost == "pass" else ()
        report = self.telemetry.report(pipeline.dropped, time.perf_counter() - begun, models.roles, passed)
        report["outputs"] = pipeline.outputs
        report["whole"] = pipeline.whole
        report["input"] = None
        if pipeline.info is not None:
            info = pipeline.info
            report["input"] = {"name": info.name, "kind": kind(source, info), "width": info.width, "height": info.height, "fps": info.fps}
        return report

    def _warn(self) -> None:
        if self._settings.landmarker != MESH and self._settings.swapper == MESH:
            self._notify("--landmarker aligns the crops of swap networks: the mesh swapper has none, so that it changes nothing")
        if self._settings.on_lost == "pass":
            self._notify("--on-lost pass: your own face is shown, unswapped, whenever it cannot be followed")
        if "," in self._settings.device and self._settings.swapper == MESH:
            self._notify(f"--device {self._settings.device}: the mesh swap runs on the processor, so the second GPU has nothing to do")

    def _models(self, store: ModelStore, cleanup: ExitStack, source: Transformed) -> Models:
        if self._settings.swapper != MESH:
            check_swap_network(self._settings.swapper, swap_options(self._settings), store)
        wanted = wishes(self._settings, store.has).models(store.has)
        if lacking := store.lacking((*needed(self._settings, store), *wanted)):
            self._begins()
            store.fetch(lacking, progress=self._progress)
        source.begin()
        kernels = None if self._kernels is None else partial(self._kernels, source.begin)  # a stream that fails meanwhile is told then
        return load_models(self._settings, store, cleanup, self._notify, kernels)

    def _pipeline(
        self, models: Models, identities: Sequence[Identity], source: Transformed, sinks: Sequence[Sink], frame_log: FrameLog | None
    ) -> Pipeline:
        settings = self._settings
        windows = [sink for sink in sinks if isinstance(sink, WindowSink)]
        infer = self._infer(models, identities, isinstance(source.source, ImageSource))
        pipeline = Pipeline(
            source,
            infer if isinstance(models.landmarker, SwappingLandmarker) else beside(infer, settings, models.roles["swapper"]["backend"]),
            lambda width, height: finisher(settings, width, height, sinks),
            sinks,
            telemetry=self.telemetry,
            controls=self.controls,
            frame_log=frame_log,
            on_open=lambda info: self._opened(info, kind(source, info), sinks, models.finishing),
            on_tick=lambda: self._look(windows, source, pipeline),
            on_still=self._save_still,
            limits=Limits(settings.frames, settings.seconds),
            calm=not windows,
        )
        if isinstance(models.landmarker, FusedLandmarker | SwappingLandmarker):
            models.landmarker.session.watch(pipeline.upcoming)
        return pipeline

    def _infer(self, models: Models, identities: Sequence[Identity], picture: bool) -> Stage:
        finders = models.photo_detector, models.photo_landmarker, models.recogniser
        known = references(self._settings, *finders, self._notify, self._photos.take)
        used = models.detector, models.landmarker, models.recogniser, models.swapper
        return infer_stage(self._settings, *used, identities, self.controls, known, picture)

    def _opened(self, info: SourceInfo, kind: str, sinks: Sequence[Sink], finishing: Finishing) -> None:
        """The source is open, the sinks are not yet."""
        if info.audio_from:
            from realtime.sinks.video import VideoSink  # here, because PyAV is large

            for sink in sinks:
                if isinstance(sink, VideoSink):
                    sink.audio_from = info.audio_from
        for note in (*((info.note,) if info.note else ()), *finishing.opened(live=info.live, fps=info.fps)):
            self._notify(note)
        if self._settings.fps is not None and kind != "live":
            self._notify(f"--fps is for cameras: {info.name} keeps its own rate")
        for sink in sinks:
            if isinstance(sink, ImageSink) and kind != "picture":
                self._notify(f"{sink.name} will hold the last frame only: for all of them name a video, as out.mp4")
        if info.live:
            self._notify(f"{info.name}: {info.width}x{info.height} at {info.fps:g} fps to {', '.join(self._settings.outputs)}; Ctrl-C ends")

    def _look(self, windows: Sequence[WindowSink], source: Transformed, pipeline: Pipeline) -> None:
        """What the main thread does between two looks at the stages."""
        self._obey(windows, source, pipeline.stop)
        info = pipeline.info
        if info is not None and kind(source, info) == "file":
            self._count(self.telemetry.frames_out, expected(info, self._settings))

    def _obey(self, windows: Sequence[WindowSink], source: Transformed, stop: Callable[[], None]) -> None:
        """Show what is new in the windows and carry out the keys pressed there."""
        for window in windows:
            for command in window.pump():
                self._carry_out(command, source, stop)

    def _carry_out(self, pressed: KeyCommand, source: Transformed, stop: Callable[[], None]) -> None:
        controls = self.controls
        if pressed.command is Command.QUIT:
            stop()
        elif pressed.command is Command.PAUSE:
            controls.paused = not controls.paused
        elif pressed.command is Command.MIRROR:
            source.set_mirror(not source.mirror)
        elif pressed.command is Command.STILL:
            controls.still_wanted = True
        elif pressed.command is Command.SOURCE:
            controls.source = pressed.number - 1

    def _save_still(self, frame: OutputFrame) -> None:
        """A still that cannot be saved is a sentence, not the end of the run."""
        try:
            seal = self._sealer if frame.shows_swap else None
            self._notify(f"saved {save_still(frame.image, Path.cwd(), seal)}")
        except SinkError as error:
            self._notify(str(error))

    def _write_report(self, report: dict[str, Any]) -> None:
        path = self._settings.report
        if path is None:
            return
        try:
            path.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
        except OSError as error:
            raise unwritable("report", path, error) from error


def expected(info: SourceInfo, settings: Settings) -> int | None:
    """How many frames of a file there will be; None where that is not known."""
    limits = (info.frames, settings.frames, None if settings.seconds is None else round(settings.seconds * info.fps))
    return None if info.frames is None else min(limit for limit in limits if limit is not None)


def kind(source: Transformed, info: SourceInfo) -> str:
    """What the input is to the user: "live", "file" or "picture"."""
    return "live" if info.live else "picture" if isinstance(source.source, ImageSource) else "file"


def finisher(settings: Settings, width: int, height: int, sinks: Sequence[Sink]) -> Finisher:
    """Every frame is marked; only the visible badge can be turned off."""
    badge = None if settings.badge == "off" else Badge(width, height, settings.badge)
    return Finisher(width, height, on_lost(settings), Marker(width, height), badge, any(sink.reads_image for sink in sinks))


def on_lost(settings: Settings) -> OnLost:
    return cast(OnLost, settings.on_lost)  # config has checked it against the same three words


def run(
    settings: Settings,
    *,
    notify: Notify = log.info,
    progress: Progress | None = None,
    kernels: Kernels | None = None,
) -> dict[str, Any]:
    """Run once with these settings; the report's keys are those of `Telemetry.report`. Mistakes are told before anything is loaded."""
    photos = check(settings)
    return App(settings, notify=notify, progress=progress, kernels=kernels, photos=photos).run()
