"""Glasses drawn on faces with stored landmarks stay on the swapped face; bare faces, squeezed and in shadow, are swapped as ever."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from realtime.models.swappers.glasses import BROWS, EVERY, NOT_WORN, WORN
from realtime.models.swappers.mesh import MeshIdentity, MeshSwapper
from realtime.types import Detection, SourcePhoto
from realtime.vision.blend import paste
from realtime.vision.mesh.pose import RIGID
from realtime.vision.mesh.rims import BRIDGE_SHARE, bridge, rim, trace
from realtime.vision.mesh.topology import load_topology
from realtime.vision.mesh.window import ANGLES, HEIGHT, WIDTH, new_window, outline, place, unfold
from tests.models.stored import face as _face
from tests.models.stored import picture as _picture
from tests.vision.spectacles import BLACK, DARK, METAL, Style, put_on

DATA = Path(__file__).parents[2] / "data"
NAMES = ("p001_studio", "p006_studio", "p009_selfie", "p010_studio")


@pytest.fixture(scope="module")
def keeping() -> MeshSwapper:
    swapper = MeshSwapper(glasses=True)
    swapper.warm_up()
    return swapper


@pytest.fixture(scope="module")
def identity(keeping: MeshSwapper) -> MeshIdentity:
    image, points = _picture("p001_studio")
    face = _face(points)
    return keeping.fit([SourcePhoto(image, Detection(face.box, np.zeros((5, 2), np.float32), 1.0), face.landmarks, "p001")])


def _swapped(swapper: MeshSwapper, identity: MeshIdentity, image: np.ndarray, points: np.ndarray) -> np.ndarray:
    swapper.use(identity)
    return _next(swapper, image, points)


def _next(swapper: MeshSwapper, image: np.ndarray, points: np.ndarray) -> np.ndarray:
    patch = swapper.swap(image, _face(points))
    assert patch is not None
    out = image.copy()
    paste(out, patch.x, patch.y, patch.colour, patch.alpha)
    return out


def _view(points: np.ndarray) -> np.ndarray:
    view = np.empty((2, 4), np.float32)
    place(np.ascontiguousarray(points, np.float32), load_topology().xyz, RIGID, np.empty((3, 3), np.float32), view)
    return view


def _seen_rim(image: np.ndarray, points: np.ndarray) -> float:
    pixels, lines, view = np.empty((HEIGHT, WIDTH, 3), np.float32), np.empty((2, ANGLES, 3), np.float32), _view(points)
    brows = np.empty((*BROWS.shape, 2), np.float32)
    unfold(image, view, pixels)
    outline(np.ascontiguousarray(points, np.float32), BROWS, view, brows)
    trace(pixels, new_window().rays, brows, 1.0, lines)
    return float(rim(lines)) + BRIDGE_SHARE * float(bridge(pixels, np.empty(3, np.float32)))


def test_a_texel_is_found_again_where_it_is_seen() -> None:
    """In a picture whose levels say which texel is seen there."""
    _, points = _picture("p006_studio")
    view, pixels = _view(points), np.empty((HEIGHT, WIDTH, 3), np.float32)
    height, width = (int(2 * points[:, axis].max()) for axis in (1, 0))
    y, x = np.mgrid[:height, :width]
    everywhere = np.stack([x, y, x * 0], axis=2).reshape(-1, 3).astype(np.float32)
    texels = np.empty((1, height * width, 2), np.float32)
    outline(everywhere, np.arange(height * width, dtype=np.int32)[None], view, texels)
    image = np.zeros((height, width, 3), np.uint8)
    image[..., :2] = np.clip(texels.reshape(height, width, 2) * (1, 4), 0, 255)
    unfold(image, view, pixels)
    columns, rows = np.meshgrid(np.arange(WIDTH), np.arange(HEIGHT))
    inner = np.s_[4:-4, 20:-20]
    assert np.abs(pixels[..., 0] + 0.5 - columns)[inner].max() < 1
    assert np.abs((pixels[..., 1] + 0.5) / 4 - rows)[inner].max() < 1


@pytest.mark.parametrize("name", NAMES)
def test_a_bare_face_shows_no_rim_and_one_with_glasses_does(name: str) -> None:
    image, points = _picture(name)
    assert _seen_rim(image, points) < NOT_WORN
    for style in (BLACK, METAL):
        assert _seen_rim(put_on(image, points, style)[0], points) > WORN


@pytest.mark.parametrize("name", ["p006_studio", "p009_selfie"])
@pytest.mark.parametrize("style", [BLACK, METAL, DARK], ids=["black", "metal", "dark lenses"])
def test_glasses_stay_as_they_are(keeping: MeshSwapper, identity: MeshIdentity, name: str, style: Style) -> None:
    bare, points = _picture(name)
    image, share = put_on(bare, points, style)
    low, high = points[:, :2].min(0), points[:, :2].max(0)
    worn = share > 0.9
    worn[:, : int(0.8 * low[0] + 0.2 * high[0])] = worn[:, int(0.2 * low[0] + 0.8 * high[0]) :] = False  # the arms stay anyway
    changed = [np.abs(_swapped(swapper, identity, image, points).astype(int) - image)[worn].mean() for swapper in (keeping, MeshSwapper())]
    assert changed[0] < 0.25 * changed[1]
    cheek = points[205, :2].astype(int)
    out = _next(keeping, image, points)
    assert np.abs(out.astype(int) - image)[cheek[1] - 10 : cheek[1] + 10, cheek[0] - 10 : cheek[0] + 10].mean() > 1, "the face is swapped"


@pytest.mark.parametrize("name", NAMES)
def test_a_bare_face_is_swapped_as_without_the_option(keeping: MeshSwapper, identity: MeshIdentity, name: str) -> None:
    image, points = _picture(name)
    shadow = image.copy()
    shadow[:, int(points[6, 0]) :] //= 3
    for frame in (image, shadow, (image * 0.3).astype(np.uint8)):
        np.testing.assert_array_equal(_swapped(keeping, identity, frame, points), _swapped(MeshSwapper(), identity, frame, points))


def test_glasses_put_on_and_taken_off_are_noticed(keeping: MeshSwapper, identity: MeshIdentity) -> None:
    bare, points = _picture("p006_studio")
    image, share = put_on(bare, points)
    covering = MeshSwapper()
    covering.use(identity)
    keeping.use(identity)

    def kept(frame: np.ndarray) -> bool:
        for _ in range(6 * EVERY):
            outs = [_next(swapper, frame, points) for swapper in (keeping, covering)]
        return bool(np.abs(outs[0].astype(int) - outs[1])[share > 0.9].mean() > 8)

    assert [kept(bare), kept(image), kept(bare)] == [False, True, False]


def test_a_fork_keeps_glasses_too(keeping: MeshSwapper, identity: MeshIdentity) -> None:
    image, points = _picture("p006_studio")
    image, _ = put_on(image, points)
    np.testing.assert_array_equal(_swapped(keeping.fork(), identity, image, points), _swapped(keeping, identity, image, points))
