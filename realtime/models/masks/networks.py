"""Masks by a network that looks at a crop of its own: who is a person, what lies before the face, which region is what."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType

import numpy as np

from realtime.backends.base import Session, TensorSpec
from realtime.errors import ModelError
from realtime.models.masks.base import View
from realtime.models.masks.shapes import around_face
from realtime.models.swappers.ports import FloatInput, FloatOutput
from realtime.models.tensors import described, sound
from realtime.types import Array, Face, Floats, Image
from realtime.vision import geometry
from realtime.vision.align import DFL_WHOLE_FACE_224, FFHQ_512, crop
from realtime.vision.geometry import Transform
from realtime.vision.masks import fill_classes, fill_share, sharpen_edge, soften
from realtime.vision.planes import fill_normalised, fill_planes

_UNIT = 1 / 255

REGIONS: Mapping[str, tuple[int, ...]] = MappingProxyType(
    {
        "skin": (1,), "brows": (2, 3), "eyes": (4, 5), "glasses": (6,), "ears": (7, 8), "earrings": (9,), "nose": (10,), "mouth": (11,),
        "lips": (12, 13), "neck": (14,), "necklace": (15,), "clothes": (16,), "hair": (17,), "hat": (18,),
    }
)  # fmt: skip
"""Classes of CelebAMask-HQ in the order of `face-parsing.PyTorch` and everything made from it; 0 is the background."""
FACE_REGIONS = ("skin", "brows", "eyes", "glasses", "nose", "mouth", "lips")
"""What of them a swap network draws."""


class Eye:
    """A network's own crop of the frame, as it wants it: planes or pixels, RGB or BGR."""

    def __init__(self, session: Session, who: str, size: int | None, *, planes: bool) -> None:
        specs = session.specs.inputs
        shape = specs[0].shape
        self.size = shape[2] if len(shape) == 4 else 0
        expected = (1, 3, self.size, self.size) if planes else (1, self.size, self.size, 3)
        if len(specs) != 1 or shape != expected or size not in (None, self.size):
            side = size or "n"
            wanted = f"(1, 3, {side}, {side})" if planes else f"(1, {side}, {side}, 3)"
            raise ModelError(f"{who} takes one picture {wanted}, this network is {described(session.specs)}: name another file")
        self._input = FloatInput(session, specs[0])
        self._pixels = np.empty((self.size, self.size, 3), np.uint8)

    def see(self, frame: Image, transform: Transform, fill: Callable[[Image, Floats], object]) -> None:
        crop(frame, transform, self.size, out=self._pixels)
        fill(self._pixels, self._input.array[0])
        self._input.send()


class PersonMask:
    """Keeps what is no person: the background beside the face, a picture held before it; implements `FaceMask`.

    MediaPipe's selfie segmentation: planes of RGB 0..1 in, (1, s, s, 1) out, 1 on a person. It was trained on people from the chest up, so
    it looks at three times the face. Raises ModelError for a network of another shape.
    """

    def __init__(self, session: Session, name: str = "person") -> None:
        self._eye = Eye(session, "a person mask", None, planes=True)
        self._output = FloatOutput(one_a_pixel(session, self._eye.size**2, "a person mask"))
        self._session, self._name = session, name
        self._shown = np.empty((self._eye.size, self._eye.size), np.uint8)

    @property
    def name(self) -> str:
        return self._name

    def look(self, frame: Image, face: Face) -> View:
        transform = around_face(face, 3.0, self._eye.size)
        self._eye.see(frame, transform, lambda pixels, planes: fill_planes(pixels, planes, _UNIT, True))
        fill_share(sound(self._output.read(self._session.run()), self._name).reshape(self._shown.shape), self._shown)
        return View(self._shown, transform, 0)

    def reset(self) -> None:
        pass

    def fork(self) -> PersonMask:
        return self


class OcclusionMask:
    """Keeps what lies before the face: hands, hair, cups, microphones; implements `FaceMask`.

    DeepFaceLab's XSeg: pixels (1, 256, 256, 3) of BGR 0..1 in, (1, 256, 256, 1) out, 1 on the face; the crop is DeepFaceLab's whole face.
    The edge is blurred and its inner half kept, as facefusion's `face_masker.py` does. Raises ModelError for a network of another shape.
    """

    def __init__(self, session: Session, name: str = "occlusion") -> None:
        self._eye = Eye(session, "an occlusion mask", 256, planes=False)
        self._output = FloatOutput(one_a_pixel(session, self._eye.size**2, "an occlusion mask"))
        self._session, self._name = session, name
        self._template = DFL_WHOLE_FACE_224 * np.float32(self._eye.size / 224)
        self._shown = np.empty((self._eye.size, self._eye.size), np.uint8)

    @property
    def name(self) -> str:
        return self._name

    def look(self, frame: Image, face: Face) -> View:
        transform = geometry.similarity(geometry.five_points(face.landmarks.points), self._template)
        self._eye.see(frame, transform, lambda pixels, out: np.multiply(pixels, np.float32(_UNIT), out=out, casting="unsafe"))
        fill_share(sound(self._output.read(self._session.run()), self._name).reshape(self._shown.shape), self._shown)
        soften(self._shown, _EDGE * self._eye.size)
        sharpen_edge(self._shown)
        return View(self._shown, transform, 0)

    def reset(self) -> None:
        pass

    def fork(self) -> OcclusionMask:
        return self


class RegionMask:
    """Shows the swap on the face's own regions, but for those in `keep`; implements `FaceMask`.

    BiSeNet trained on CelebAMask-HQ: planes (1, 3, 512, 512) of RGB, (x - mean) / std by ImageNet's numbers, in; (1, 19, 512, 512) scores
    out, of which the highest counts. The crop is FFHQ's, as the training pictures' was. Raises ModelError for a network of another shape.
    """

    def __init__(self, session: Session, keep: Collection[str] = ("glasses", "hair", "mouth"), name: str = "region") -> None:
        self._eye = Eye(session, "a region mask", 512, planes=True)
        spec = session.specs.outputs[0]  # the two others of the published files are for training
        if spec.shape != (1, _CLASSES, 512, 512):
            raise ModelError(
                f"a region mask gives (1, {_CLASSES}, 512, 512), this network is {described(session.specs)}: name another file"
            )
        self._output = FloatOutput(spec)
        self._session, self._name = session, name
        self._template = FFHQ_512
        self._classes = _shown(keep)
        self._shown = np.empty((512 // _COARSE, 512 // _COARSE), np.uint8)

    @property
    def name(self) -> str:
        return self._name

    def look(self, frame: Image, face: Face) -> View:
        transform = geometry.similarity(geometry.five_points(face.landmarks.points), self._template)
        self._eye.see(frame, transform, lambda pixels, planes: fill_normalised(pixels, planes, _SCALE, _SHIFT, True))
        scores = self._output.read(self._session.run())[0]
        sound(scores[:, ::_SAMPLE, ::_SAMPLE], self._name)
        fill_classes(scores, self._classes, _COARSE, self._shown)
        soften(self._shown, _EDGE * len(self._shown))
        sharpen_edge(self._shown)
        return View(self._shown, transform / _COARSE, 0)

    def reset(self) -> None:
        pass

    def fork(self) -> RegionMask:
        return self


_EDGE = 0.02
"""Blur of a mask's edge, a share of its side: facefusion's sigma of 5 pixels in 256."""
_CLASSES = 19
_COARSE = 2
"""The class of every second pixel is looked up: the edge is blurred by more than that."""
_SAMPLE = 16
"""Every so many pixels across and down are looked at: all the scores would take 3 ms, and a network that overflows does so everywhere."""
_MEAN, _STD = np.array([0.485, 0.456, 0.406], np.float32), np.array([0.229, 0.224, 0.225], np.float32)
_SCALE, _SHIFT = np.asarray(1 / (255 * _STD), np.float32), np.asarray(-_MEAN / _STD, np.float32)


def _shown(keep: Collection[str]) -> Array:
    """(19,) uint8: 1 for the classes that the swap is shown on."""
    shown = np.zeros(_CLASSES, np.uint8)
    for region in FACE_REGIONS:
        shown[list(REGIONS[region])] = region not in keep
    return shown


def one_a_pixel(session: Session, numbers: int | None, who: str) -> TensorSpec:
    """The one output: so many numbers, or a plane (1, 1, n, n) where None. Raises ModelError otherwise."""
    outputs = session.specs.outputs
    shape = outputs[0].shape
    plane = len(shape) == 4 and shape[:2] == (1, 1) and shape[2] == shape[3]
    if len(outputs) != 1 or (int(np.prod(shape)) != numbers if numbers is not None else not plane):
        raise ModelError(f"{who} gives one number a pixel, this network is {described(session.specs)}: name another file")
    return outputs[0]
