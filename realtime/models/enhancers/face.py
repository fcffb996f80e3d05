"""Networks that restore a face: GFPGAN, CodeFormer, GPEN, RestoreFormer++."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

import cv2
import numpy as np

from realtime.backends.base import Session, TensorSpec
from realtime.errors import ModelError
from realtime.models.base import Crop
from realtime.models.swappers.ports import FloatInput, FloatOutput, is_planes
from realtime.models.tensors import described
from realtime.types import Floats, Image
from realtime.vision import geometry
from realtime.vision.align import ARCFACE_128, FFHQ_512, crop
from realtime.vision.blend import paste
from realtime.vision.crops import write_levels
from realtime.vision.masks import Mask
from realtime.vision.planes import fill_normalised

TEMPLATES: Mapping[str, Floats] = MappingProxyType({"ffhq_512": FFHQ_512 / np.float32(512), "arcface_128": ARCFACE_128 / np.float32(128)})
"""By a catalogue row's contract: eyes, nose tip and mouth corners in shares of the crop's side, as in facefusion's `face_enhancer.py`."""

_HALF = np.full(3, 127.5, np.float32)
_SCALE, _SHIFT = np.full(3, 1 / 127.5, np.float32), np.full(3, -1, np.float32)
"""RGB (x - .5) / .5 with x in 0..1; the way back is x * 127.5 + 127.5."""


class FaceEnhancer:
    """Restores a swapped face; implements `Finish`.

    Takes planes (1, 3, s, s) of RGB -1..1 on the contract's template and gives the same; CodeFormer takes one number more, how true to stay
    to what it is given. `share` is how much of the result is shown, `fidelity` 0 (beautiful) to 1 (true). The enhanced face takes the
    crop's place, at the network's own size. Raises ModelError for a network of another shape.
    """

    def __init__(
        self, session: Session, contract: str = "ffhq_512", name: str = "enhance", share: float = 0.8, fidelity: float = 0.7
    ) -> None:
        image, weight, output = _specs(session)
        self._session, self._contract, self._name, self._share = session, contract, name, share
        self.size = size = image.shape[2]
        self._template = TEMPLATES[contract] * np.float32(size)
        self._input, self._output = FloatInput(session, image), FloatOutput(output)
        if weight is not None:
            session.inputs[weight.name][...] = fidelity
        self._before, self._given, self._made = (np.empty((size, size, 3), np.uint8) for _ in range(3))
        self._mask, self._tally = np.empty((size, size), np.uint8), np.zeros(2, np.int64)

    @property
    def name(self) -> str:
        return self._name

    @property
    def backend(self) -> str:
        return self._session.backend

    def finish(self, made: Crop) -> None:
        """See `Finish.finish`. A network that gives something else than numbers changes nothing."""
        transform = geometry.similarity(geometry.five_points(made.face.landmarks.points), self._template)
        crop(made.frame, transform, self.size, out=self._before)
        _redraw(made, transform, self._given, self._mask)
        np.copyto(self._made, self._before)
        paste(self._made, 0, 0, self._given, self._mask)
        if not self.enhance(self._made, self._given):
            return
        cv2.addWeighted(self._given, self._share, self._made, 1 - self._share, 0, dst=self._given)
        made.transform, made.before, made.swapped, made.mask = transform, self._before, self._given, self._mask

    def enhance(self, face: Image, out: Image) -> bool:
        """Write the restored form of an aligned face (s, s, 3); False when the network gave something else than numbers."""
        fill_normalised(face, self._input.array[0], _SCALE, _SHIFT, True)
        self._input.send()
        self._tally[:] = 0
        write_levels(self._output.read(self._session.run())[0], _HALF, _HALF, out, self._tally)
        return not self._tally[1]

    def seconds(self, clock: Callable[[], float]) -> float:
        """What one face costs: the quickest of three runs."""
        self._before.fill(127)
        times = []
        for _ in range(3):
            begun = clock()
            self.enhance(self._before, self._given)
            times.append(clock() - begun)
        return min(times)

    def reset(self) -> None:
        pass

    def fork(self) -> FaceEnhancer:
        return self


def _specs(session: Session) -> tuple[TensorSpec, TensorSpec | None, TensorSpec]:
    """The picture's input, the number's if there is one, and the output."""
    pictures = [spec for spec in session.specs.inputs if is_planes(spec)]
    numbers = [spec for spec in session.specs.inputs if math.prod(spec.shape) == 1]
    outputs = [spec for spec in session.specs.outputs if pictures and spec.shape == pictures[0].shape]
    if len(pictures) != 1 or len(numbers) + 1 != len(session.specs.inputs) or not outputs:
        got = described(session.specs)
        raise ModelError(f"an enhancer takes one picture (1, 3, s, s) and gives the same, this network is {got}: name another file")
    return pictures[0], numbers[0] if numbers else None, outputs[0]


def _redraw(made: Crop, transform: geometry.Transform, swapped: Image, mask: Mask) -> None:
    """The crop's swapped face and mask under another transform from the frame."""
    matrix = geometry.compose(made.transform, geometry.invert(transform))
    flags, size = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP, (mask.shape[1], mask.shape[0])
    cv2.warpAffine(made.swapped, matrix, size, dst=swapped, flags=flags, borderMode=cv2.BORDER_REPLICATE)
    cv2.warpAffine(made.mask, matrix, size, dst=mask, flags=flags, borderMode=cv2.BORDER_CONSTANT)
