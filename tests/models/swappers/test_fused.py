"""Every swap network with one latent becomes part of the per-frame graph, and TensorRT-RTX builds each at half precision."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import onnx
import pytest

from realtime.builder.prepare import fp16
from realtime.errors import UsageError
from realtime.graphs.follow import follow_swap
from realtime.models.peek import Peek
from realtime.models.swappers.contracts import CONTRACTS
from realtime.models.swappers.fused import fused
from realtime.models.swappers.recognise import recognise
from tests.graphs.runtimes import load
from tests.models.swappers import scene
from tests.twins import mesh
from tests.twins.swappers import DISTINCT, TWINS, dfm_twin, encoder_twin, generator_twin, known, twin

LATENT = [name for name in DISTINCT if TWINS[name].source == (1, 512)]
OTHERS: dict[str, Any] = {"dfm": dfm_twin, "encoder": encoder_twin, "generator": generator_twin}


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


@pytest.mark.parametrize("name", [*DISTINCT, *OTHERS])
def test_tensorrt_rtx_builds_it_at_half_precision(tmp_path: Path, name: str) -> None:
    trt = pytest.importorskip("tensorrt_rtx", reason="TensorRT-RTX is not installed: pip install tensorrt-rtx")
    model = OTHERS[name]() if name in OTHERS else twin(name)
    source = scene.save(tmp_path, "network.onnx", model)
    half = source if getattr(TWINS.get(name), "half", False) else tmp_path / "half.onnx"
    if half is not source:
        fp16(source, half, [_sample(model)])
    logger = trt.Logger(trt.Logger.ERROR)
    builder = trt.Builder(logger)
    network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
    parser = trt.OnnxParser(network, logger)
    assert parser.parse(half.read_bytes()), [parser.get_error(i).desc() for i in range(parser.num_errors)]
    config, profile = builder.create_builder_config(), builder.create_optimization_profile()
    for index in range(network.num_inputs):
        port = network.get_input(index)
        shape = [max(side, 1) for side in port.shape]
        profile.set_shape(port.name, shape, shape, shape)
    config.add_optimization_profile(profile)
    config.num_compute_capabilities = 1
    config.set_compute_capability(trt.ComputeCapability.SM86, 0)
    engine = builder.build_serialized_network(network, config)
    assert engine is not None and engine.nbytes > 5_000


def _sample(model: onnx.ModelProto) -> dict[str, np.ndarray]:
    sizes = {port.name: [dim.dim_value or 1 for dim in port.type.tensor_type.shape.dim] for port in model.graph.input}
    return {name: np.random.default_rng(1).random(size, np.float32) for name, size in sizes.items()}
