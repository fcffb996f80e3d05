"""Networks that give no numbers: whatever their role, no patch comes of it through which the face could be seen."""

from __future__ import annotations

import numpy as np
import pytest

from realtime.backends.fake import FakeSession, Step, spec
from realtime.errors import ModelError
from realtime.models.masks.networks import OcclusionMask, PersonMask, RegionMask
from realtime.models.masks.occluder import OccluderMask
from realtime.models.swappers.dfm import DfmNetwork
from tests.pipeline.people import face
from tests.privacy.harness import shows_mark

BROKEN = [Step(nan=True)] * 3
PICTURE = np.full((240, 320, 3), 90, np.uint8)
MASKS = {
    "person": lambda: PersonMask(FakeSession([spec("x", 1, 3, 64, 64)], [spec("y", 1, 64, 64, 1)], script=BROKEN)),
    "occlusion": lambda: OcclusionMask(FakeSession([spec("x", 1, 256, 256, 3)], [spec("y", 1, 256, 256, 1)], script=BROKEN)),
    "occluder": lambda: OccluderMask(FakeSession([spec("x", 1, 3, 128, 128)], [spec("y", 1, 1, 64, 64)], script=BROKEN)),
    "region": lambda: RegionMask(FakeSession([spec("x", 1, 3, 512, 512)], [spec("y", 1, 19, 512, 512)], script=BROKEN)),
}


@pytest.mark.parametrize("name", MASKS)
def test_a_mask_without_numbers_is_an_error_not_a_window(name):
    with pytest.raises(ModelError, match="gives something else than numbers"):
        MASKS[name]().look(PICTURE, face())


def test_nor_is_the_mask_of_a_dfm():
    inputs, outputs = [spec("in_face", 1, 64, 64, 3)], [spec("out_celeb_face", 1, 64, 64, 3), spec("out_celeb_face_mask", 1, 64, 64, 1)]

    def half_broken(feeds):
        return {
            "out_celeb_face": np.full((1, 64, 64, 3), 0.5, np.float32),
            "out_celeb_face_mask": np.full((1, 64, 64, 1), np.nan, np.float32),
        }

    network = DfmNetwork(FakeSession(inputs, outputs, half_broken))
    before, swapped, mask = (np.full((64, 64, 3), 90, np.uint8) for _ in range(3))
    with pytest.raises(ModelError, match="gives something else than numbers"):
        network.swap(before, swapped, np.ascontiguousarray(mask[..., 0]))


def test_the_colours_of_the_mark_are_not_those_of_the_room():
    assert not shows_mark(PICTURE)
