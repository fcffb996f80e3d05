"""Every swap network with one latent becomes part of the per-frame graph."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

from realtime.errors import UsageError
from realtime.graphs.follow import follow_swap
from realtime.models.peek import Peek
from realtime.models.swappers.contracts import CONTRACTS
from realtime.models.swappers.fused import fused
from realtime.models.swappers.recognise import recognise
from tests.graphs.runtimes import load
from tests.models.swappers import scene
from tests.twins import mesh
from tests.twins.swappers import DISTINCT, TWINS, known, twin

LATENT = [name for name in DISTINCT if TWINS[name].source == (1, 512)]


@pytest.mark.parametrize("name", LATENT)
def test_the_fused_graph_gives_what_the_twin_gives(tmp_path: Path, name: str) -> None:
    path = scene.save(tmp_path, f"{name}.onnx", twin(name))
    contract = recognise(path, Peek(path))
    swap = replace(fused(contract, path), match_colour=False)
    run = load(follow_swap(mesh.mesh_twin(), swap), "onnxruntime")
    image, _ = scene.picture("p001_studio")
    latent = np.random.default_rng(0).standard_normal((1, 512)).astype(np.float32) / 512**0.5
    out = run(frame=image, region=np.array([250, 245, 380, 7], np.float32), latent=latent)
    crop = cv2.warpAffine(image, out["matrix"], (contract.size, contract.size), flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP)
    mean, std = (np.array(each, np.float32).reshape(1, 3, 1, 1) for each in (contract.mean, contract.std))
    given = known(name, (crop[..., ::-1].transpose(2, 0, 1)[None] / 255 - mean) / std, latent)
    picture = given * std + mean if contract.denormalise else given
    levels = picture[0].transpose(1, 2, 0)[..., ::-1].clip(0, 1) * 255
    assert np.abs(out["patch"] - levels).mean() < 1
    assert out["patch"].std() > 20


@pytest.mark.parametrize("name", ["uniface", "blendswap", "dfm", "latent"])
def test_others_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="takes no embedding"):
        fused(CONTRACTS[name], Path("x.onnx"))
