"""Networks on a GPU that is not there: they take the time that they would take there, and leave the processor alone meanwhile."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import onnx

from realtime.backends.around import AroundSession
from realtime.backends.base import Session
from realtime.backends.select import open_session
from realtime.models.base import Detector
from realtime.models.swappers.aligned import AlignedSwapper
from realtime.models.swappers.exact import Exact
from realtime.models.swappers.select import Surroundings, SwapOptions, open_swapper
from realtime.types import Array, Detection, Image
from tests.twins import recognisers
from tests.twins.swappers import twin


class Sleeping(AroundSession):
    """A session whose every run takes `seconds`, asleep for what is left of them once a small twin has run."""

    def __init__(self, session: Session, seconds: float) -> None:
        super().__init__(session)
        self._seconds = seconds

    @property
    def backend(self) -> str:
        return f"{self.session.backend}, asleep"

    def run(self, feeds: Mapping[str, Array] | None = None) -> Mapping[str, Array]:
        end = time.perf_counter() + self._seconds
        outputs = self.session.run(feeds)
        time.sleep(max(end - time.perf_counter(), 0.0))
        return outputs


class Slowed:
    """A detector whose every look takes at least `seconds`; implements `Detector`."""

    def __init__(self, detector: Detector, seconds: float) -> None:
        self._detector, self._seconds = detector, seconds

    @property
    def name(self) -> str:
        return self._detector.name

    def detect(self, image: Image) -> list[Detection]:
        end = time.perf_counter() + self._seconds
        found = self._detector.detect(image)
        time.sleep(max(end - time.perf_counter(), 0.0))
        return found


def swap_network(folder: Path, seconds: float, cleanup: ExitStack) -> AlignedSwapper:
    """A small twin of inswapper_128, each run of which takes `seconds`. `folder` is for its files."""
    onnx.save(twin("inswapper_128"), folder / "inswapper_128.onnx")
    onnx.save(recognisers.arcface_twin(), folder / "w600k_r50.onnx")

    def opened(path: Path) -> Session:
        return cleanup.enter_context(open_session(path))

    around = Surroundings(lambda path: Sleeping(opened(path), seconds), opened, lambda name: None, Exact(folder, print))
    swapper = open_swapper(folder / "inswapper_128.onnx", SwapOptions(), around)
    swapper.warm_up()
    return swapper
