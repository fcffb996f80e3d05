"""Networks on a GPU that is not there: they take the time that they would take there, and leave the processor alone meanwhile."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

import onnx

from realtime.backends.base import Session, SessionSpecs
from realtime.backends.select import open_session
from realtime.models.base import Detector
from realtime.models.swappers.aligned import AlignedSwapper
from realtime.models.swappers.exact import Exact
from realtime.models.swappers.select import Surroundings, SwapOptions, open_swapper
from realtime.types import Array, Detection, Image
from tests.twins import recognisers
from tests.twins.swappers import twin


class Sleeping:
    """A session whose every run takes `seconds`, asleep for what is left of them once a small twin has run; implements `Session`."""

    def __init__(self, session: Session, seconds: float) -> None:
        self._session, self._seconds = session, seconds

    @property
    def backend(self) -> str:
        return f"{self._session.backend}, asleep"

    @property
    def specs(self) -> SessionSpecs:
        return self._session.specs

    @property
    def inputs(self) -> Mapping[str, Array]:
        return self._session.inputs

    def run(self, feeds: Mapping[str, Array] | None = None) -> Mapping[str, Array]:
        end = time.perf_counter() + self._seconds
        outputs = self._session.run(feeds)
        time.sleep(max(end - time.perf_counter(), 0.0))
        return outputs

    def close(self) -> None:
        self._session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


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
