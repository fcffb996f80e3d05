"""Networks that enlarge a whole frame, tile by tile: Real-ESRGAN."""

from __future__ import annotations

import cv2
import numpy as np

from realtime.backends.base import Session
from realtime.errors import ModelError
from realtime.models.swappers.ports import FloatInput, FloatOutput, is_planes
from realtime.models.tensors import described
from realtime.types import Image
from realtime.vision.crops import write_levels
from realtime.vision.planes import fill_planes

_MARGIN = 16
"""Pixels around each tile that the network sees and that are not used: what lies further away hardly has a say."""
_UNIT, _LEVELS, _ZERO = 1 / 255, np.full(3, 255, np.float32), np.zeros(3, np.float32)


class FrameEnlarger:
    """Enlarges pictures by what a network makes of tiles of them. For pictures and videos: seconds a frame.

    Takes planes (1, 3, s, s) of RGB 0..1 and gives (1, 3, s * factor, s * factor). Raises ModelError for a network of another shape.
    """

    def __init__(self, session: Session, name: str = "enlarge") -> None:
        inputs, outputs = session.specs.inputs, session.specs.outputs
        if len(inputs) != 1 or len(outputs) != 1 or not is_planes(inputs[0]) or not is_planes(outputs[0]):
            raise ModelError(f"what enlarges frames takes (1, 3, s, s), this network is {described(session.specs)}: name another file")
        self._side = inputs[0].shape[2]
        self.factor, rest = divmod(outputs[0].shape[2], self._side)
        if rest or self.factor < 2 or self._side <= 2 * _MARGIN:
            raise ModelError(f"what enlarges frames gives a multiple, this network is {described(session.specs)}: name another file")
        self._session, self._name = session, name
        self._input, self._output = FloatInput(session, inputs[0]), FloatOutput(outputs[0])
        side = self._side * self.factor
        self._tile, self._tally = np.empty((side, side, 3), np.uint8), np.zeros(2, np.int64)

    @property
    def name(self) -> str:
        return self._name

    @property
    def backend(self) -> str:
        return self._session.backend

    def enlarge(self, image: Image, out: Image) -> None:
        """Fill `out` (h * factor, w * factor, 3) with the picture (h, w, 3). Raises ModelError when the network gives no numbers."""
        height, width = image.shape[:2]
        step = self._side - 2 * _MARGIN
        down, right = (_MARGIN + -extent % step for extent in (height, width))
        padded = cv2.copyMakeBorder(image, _MARGIN, down, _MARGIN, right, cv2.BORDER_REPLICATE)
        for y in range(0, height, step):
            for x in range(0, width, step):
                self._run(np.ascontiguousarray(padded[y : y + self._side, x : x + self._side]))
                rows, columns = min(step, height - y), min(step, width - x)
                f, edge = self.factor, _MARGIN * self.factor
                out[y * f : (y + rows) * f, x * f : (x + columns) * f] = self._tile[edge : edge + rows * f, edge : edge + columns * f]

    def _run(self, tile: Image) -> None:
        fill_planes(tile, self._input.array[0], _UNIT, True)
        self._input.send()
        self._tally[:] = 0
        write_levels(self._output.read(self._session.run())[0], _LEVELS, _ZERO, self._tile, self._tally)
        if self._tally[1]:
            raise ModelError(f"{self._name} gives no picture but numbers that are none: its file is damaged, get it anew")
