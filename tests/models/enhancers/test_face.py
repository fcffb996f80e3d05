"""Face enhancers on twins whose answer is known, on every backend, from a swapped crop to the patch."""

from __future__ import annotations

import math

import cv2
import numpy as np
import pytest
from onnx import TensorProto

from realtime.backends.fake import FakeSession, spec
from realtime.errors import ModelError
from realtime.models.base import Crop
from realtime.models.enhancers.face import FaceEnhancer
from realtime.models.enhancers.gate import Gate, Gated
from realtime.models.finishes.patch import FinishedSwapper
from realtime.models.swappers.fake import FakeSwapper
from realtime.types import Array
from tests.models.conftest import OpenTwin
from tests.models.swappers import scene
from tests.twins import enhancers as twins

FFHQ = np.array(
    [[0.37691676, 0.46864664], [0.62285697, 0.46912813], [0.50123859, 0.61331904], [0.39308822, 0.725411], [0.61150205, 0.72490465]]
)
ARCFACE = np.array(
    [[0.36167656, 0.40387734], [0.63696719, 0.40235469], [0.50019687, 0.56044219], [0.38710391, 0.72160547], [0.61507734, 0.72034453]]
)
"""As facefusion lists them, in shares of the crop's side."""


def swapped_crop() -> Crop:
    """A face that was swapped for its own negative, in a box."""
    image, points = scene.picture("p006_studio")
    made = scene.crop(image, scene.face(points), 256)
    made.swapped[...] = 255 - made.swapped
    made.mask[...] = 0
    made.mask[64:192, 64:192] = 255
    return made


def expected(made: Crop, template: Array, size: int, share: float, weight: float = 1.0) -> tuple[Array, Array]:
    """The restored face and the mask at the enhancer's size, in floating point."""
    five = scene.five(made.face.landmarks.points)
    into = scene.similarity(five, template * size)
    before = cv2.warpAffine(made.frame, into, (size, size)).astype(np.float32)
    matrix = np.vstack([into, [0, 0, 1]]) @ np.linalg.inv(np.vstack([made.transform, [0, 0, 1]]))
    swapped, mask = (cv2.warpAffine(each, matrix[:2], (size, size)).astype(np.float32) for each in (made.swapped, made.mask))
    given = before + (swapped - before) * mask[..., None] / 255
    planes = (given[..., ::-1] / 127.5 - 1).transpose(2, 0, 1)[None]
    shown = (twins.restored(planes, weight)[0].transpose(1, 2, 0)[..., ::-1] * 127.5 + 127.5).clip(0, 255)
    return given + (shown - given) * share, mask


@pytest.mark.parametrize(
    ("size", "contract", "template", "weight", "element"),
    [
        (512, "ffhq_512", FFHQ, "", TensorProto.FLOAT),
        (512, "ffhq_512", FFHQ, "weight", TensorProto.FLOAT),
        (256, "arcface_128", ARCFACE, "", TensorProto.FLOAT),
        (512, "ffhq_512", FFHQ, "", TensorProto.FLOAT16),
    ],
)
def test_restores_the_swapped_face(size: int, contract: str, template: Array, weight: str, element: int, open_twin: OpenTwin) -> None:
    made = swapped_crop()
    image, mask = expected(made, template, size, 0.75, 0.6 if weight else 1.0)
    enhancer = FaceEnhancer(open_twin(twins.face_twin(size, weight, element)), contract, share=0.75, fidelity=0.6)
    frame = made.frame.copy()
    enhancer.finish(made)
    assert made.swapped.shape == (size, size, 3)
    inner = mask > 250
    assert inner.sum() > 1000
    difference = np.abs(made.swapped.astype(np.float32) - image)[inner]
    assert np.percentile(difference, 99) < 3, "but for where the samples of the swapped face meet its edge"
    assert np.abs(made.mask.astype(np.float32) - mask).max() <= 3
    np.testing.assert_array_equal(made.frame, frame)


def test_what_is_no_number_changes_nothing() -> None:
    session = FakeSession(
        [spec("input", 1, 3, 512, 512)], [spec("output", 1, 3, 512, 512)], lambda fed: {"output": np.full((1, 3, 512, 512), np.nan)}
    )
    made, before = swapped_crop(), swapped_crop()
    FaceEnhancer(session, "ffhq_512").finish(made)
    np.testing.assert_array_equal(made.swapped, before.swapped)
    np.testing.assert_array_equal(made.mask, before.mask)


@pytest.mark.parametrize(
    ("inputs", "output"),
    [
        ([spec("input", 1, 3, 512, 512)], spec("output", 1, 3, 256, 256)),
        ([spec("input", 1, 512, 512, 3)], spec("output", 1, 3, 512, 512)),
        ([spec("input", 1, 3, 512, 512), spec("source", 1, 512)], spec("output", 1, 3, 512, 512)),
    ],
)
def test_another_network_is_refused_in_a_sentence(inputs: list, output: object) -> None:
    with pytest.raises(ModelError, match=r"^an enhancer takes one picture \(1, 3, s, s\) .*: name another file$"):
        FaceEnhancer(FakeSession(inputs, [output]), "ffhq_512")  # type: ignore[list-item]


def test_the_mesh_can_have_it_too(open_twin: OpenTwin) -> None:
    """A patch goes through the crop and comes back where it was."""
    image, points = scene.picture("p006_studio")
    face, gate = scene.face(points), Gate("twin", 0.1)
    enhancer = FaceEnhancer(open_twin(twins.face_twin()), "ffhq_512", share=1.0)
    swapper = FinishedSwapper(FakeSwapper((40, 80, 160)), [Gated(enhancer, gate)], lambda: gate.open)
    swapper.use(swapper.fit([]))
    bare = FakeSwapper((40, 80, 160))
    bare.use(bare.fit([]))
    out, plain = scene.shown(image, swapper.swap(image, face)), scene.shown(image, bare.swap(image, face))
    x, y = points[1, :2].astype(int)
    rgb = np.array([160, 80, 40]) / 127.5 - 1
    want = (twins.restored(rgb.reshape(1, 3, 1, 1)).ravel() * 127.5 + 127.5)[::-1]
    np.testing.assert_allclose(out[y, x], want, atol=2)
    outside = np.ones(image.shape[:2], bool)
    patch = bare.swap(image, face)
    assert patch is not None
    outside[patch.y - 4 : patch.y + patch.alpha.shape[0] + 4, patch.x - 4 : patch.x + patch.alpha.shape[1] + 4] = False
    np.testing.assert_array_equal(out[outside], image[outside])
    gate.open = False
    np.testing.assert_array_equal(scene.shown(image, swapper.swap(image, face)), plain)


@pytest.mark.parametrize(
    ("seconds", "live", "fps", "opened", "says"),
    [
        (0.010, True, 30, True, "takes 10 ms a face here, which fits between the camera's frames: on"),
        (0.017, True, 30, False, "takes 17 ms a face here and the camera leaves 17 ms: off, for pictures and videos only"),
        (0.900, False, 30, True, ""),
        (0.017, True, 0, True, "on"),
        (math.inf, True, 1, False, "--enhance gfpgan_1.4 is not for cameras: off, for pictures and videos only"),
    ],
)
def test_a_camera_gets_only_what_fits(seconds: float, live: bool, fps: float, opened: bool, says: str) -> None:
    gate = Gate("--enhance gfpgan_1.4", seconds, not opened)
    said = gate.decide(live=live, fps=fps)
    assert gate.open is opened
    assert said.endswith(says) and (bool(said) == live)


def test_a_closed_gate_lets_the_crop_be(open_twin: OpenTwin) -> None:
    gate = Gate("twin", 1, open=False)
    step = Gated(FaceEnhancer(open_twin(twins.face_twin()), "ffhq_512"), gate)
    made = swapped_crop()
    step.fork().finish(made)
    assert made.swapped.shape == (256, 256, 3)
    gate.open = True
    step.fork().finish(made)
    assert made.swapped.shape == (512, 512, 3)


def test_seconds_are_the_quickest_run() -> None:
    session = FakeSession([spec("input", 1, 3, 64, 64)], [spec("output", 1, 3, 64, 64)], lambda fed: {"output": fed["input"]})
    ticks = iter([0.0, 5.0, 5.0, 7.0, 7.0, 10.0])
    assert FaceEnhancer(session, "ffhq_512").seconds(lambda: next(ticks)) == 2
