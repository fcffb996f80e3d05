"""The whole per-frame path as one graph: a frame and the region of the face in, landmarks and the swapped patch out."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from realtime.errors import ModelError
from realtime.graphs import colour, coordinates, networks, sampling
from realtime.graphs.builder import Graph, Value
from realtime.graphs.colour import Mask
from realtime.graphs.networks import Port
from realtime.graphs.sampling import Pixels
from realtime.types import MESH_POINTS, Floats

_TO_UNIT = 1 / 255
_SMOOTH_UP_TO = 256
"""Crop sizes for which coarse sampling is averaged: a crop of 512 becomes coarse only with a face higher than a 4K frame."""


@dataclass(frozen=True, slots=True)
class Swap:
    """A swap network that takes an aligned face and one latent vector, and what it expects of both."""

    network: Path | Any
    """ONNX file or ModelProto: an image (1, 3, s, s) and a latent (1, d) in, an image (1, 3, s, s) out, in any order.

    What it gives besides, as some give a mask, is not used.
    """
    template: Floats
    """(5, 2): where eyes, nose tip and mouth corners lie in the crop, in its pixels."""
    mean: tuple[float, float, float] = (0.0, 0.0, 0.0)
    std: tuple[float, float, float] = (1.0, 1.0, 1.0)
    """The network is fed (x - mean) / std with x in 0..1, in the order of its planes."""
    denormalise: bool = False
    """The output must be brought back by * std + mean. Some networks give 0..1 though they are fed otherwise."""
    order: Literal["rgb", "bgr"] = "rgb"
    match_colour: bool = False
    """Give the patch the mean and spread of what it covers. A live run leaves that to the steps that the user chooses."""
    mask: Mask = field(default_factory=Mask)


def follow(mesh: Path | Any, *, gather_bytes: bool = False) -> Any:
    """A ModelProto: `frame` (height, width, 3) uint8 BGR, `region` (4,) float32 -> `landmarks`, `presence`, `next_region`.

    `mesh` is the face mesh network: planes of RGB 0..1 in, 468 x 3 crop pixels and a logit out. A region is x, y, size and angle as
    in `types.Region`; landmarks are (468, 3) float32 as in `types.Landmarks`, presence (1,), next_region (4,). With a low presence the next
    region means nothing. `gather_bytes`: see `sampling.pixels`; TensorRT needs it off. Raises ModelError when the network is another one.
    """
    loaded = networks.load(mesh)
    graph = Graph(networks.common_opset(loaded))
    _followed(graph, _frame(graph, gather_bytes), loaded)
    return graph.model("follow")


def follow_swap(mesh: Path | Any, swap: Swap, *, gather_bytes: bool = False) -> Any:
    """`follow` with the swap: also takes `latent` (1, d) float32, and gives `patch`, `matrix` and `mask`.

    The patch is (s, s, 3) uint8 BGR, `matrix` (2, 3) float32 brings its pixels to the frame's, and `mask` (s, s) uint8 says how far it is
    shown. The latent goes to the network as it is. Raises ModelError when a network does not fit.
    """
    followed, swapper = networks.load(mesh), networks.load(swap.network)
    graph = Graph(networks.common_opset(followed, swapper))
    source = _frame(graph, gather_bytes)
    landmarks = _followed(graph, source, followed)
    _swapped(graph, source, landmarks, swapper, swap)
    return graph.model("follow_swap")


def _frame(graph: Graph, gather_bytes: bool) -> Pixels:
    frame = graph.input("frame", np.uint8, ("height", "width", 3))
    return sampling.pixels(graph, frame, gather_bytes=gather_bytes)


def _followed(graph: Graph, source: Pixels, network: Any) -> Value:
    """Adds the inputs and outputs of following: the landmarks in the frame."""
    image, mesh_name, logit_name = mesh_ports(network)
    region, size = graph.input("region", np.float32, (4,)), image.shape[2]
    matrix = coordinates.from_crop(graph, region, size)
    crop, _ = sampling.crop(graph, source, matrix, size, smooth=True)
    found = networks.splice(graph, network, "mesh/", {image.name: sampling.planes(crop, rgb=True, scale=_TO_UNIT)})
    mesh = found[mesh_name].reshape(MESH_POINTS, 3)
    landmarks = coordinates.mesh_in_frame(graph, mesh, matrix)
    graph.output("landmarks", landmarks, np.float32, (MESH_POINTS, 3))
    graph.output("presence", coordinates.presence(graph, found[logit_name], mesh), np.float32, (1,))
    graph.output("next_region", coordinates.next_region(graph, landmarks), np.float32, (4,))
    return landmarks


def _swapped(graph: Graph, source: Pixels, landmarks: Value, network: Any, swap: Swap) -> None:
    """Adds the inputs and outputs of swapping."""
    image, latent, picture = swap_ports(network, swap.template)
    size = image.shape[2]
    to_crop = coordinates.similarity(graph, coordinates.five_points(graph, landmarks), swap.template)
    matrix = coordinates.invert(graph, to_crop)
    crop, within = sampling.crop(graph, source, matrix, size, smooth=size <= _SMOOTH_UP_TO)
    feeds = {
        image.name: sampling.planes(crop, rgb=swap.order == "rgb", scale=_TO_UNIT, mean=swap.mean, std=swap.std),
        latent.name: graph.input("latent", np.float32, (1, latent.shape[1])),
    }
    output = networks.splice(graph, network, "swap/", feeds)[picture]
    mask = colour.soft_mask(graph, coordinates.apply(to_crop, landmarks), size, swap.mask)
    patch = _pixels(output, swap, size)
    patch = colour.match(graph, patch.clip(0.0, 255.0), crop, mask * within) if swap.match_colour else patch
    graph.output("patch", sampling.to_bytes(patch), np.uint8, (size, size, 3))
    graph.output("matrix", matrix, np.float32, (2, 3))
    graph.output("mask", sampling.to_bytes(mask.reshape(size, size) * 255.0), np.uint8, (size, size))


def _pixels(output: Value, swap: Swap, size: int) -> Value:
    """The network's planes as (s, s, 3) BGR 0..255."""
    planes = output.reshape(1, 3, size, size)
    if swap.denormalise:
        planes = planes * np.array(swap.std, np.float32).reshape(1, 3, 1, 1) + np.array(swap.mean, np.float32).reshape(1, 3, 1, 1)
    return sampling.interleaved(planes, rgb=swap.order == "rgb") * 255.0


def mesh_ports(network: Any) -> tuple[Port, str, str]:
    """The input of a mesh network and the names of its mesh and its logit, which are told apart by size."""
    ports, results = networks.inputs(network), networks.outputs(network)
    meshes = [port.name for port in results if port.size == MESH_POINTS * 3]
    logits = [port.name for port in results if port.size == 1]
    if len(ports) != 1 or not ports[0].is_square_image or len(meshes) != 1 or len(logits) != 1:
        shapes = [port.shape for port in ports], [port.shape for port in results]
        raise ModelError(
            f"a face mesh network takes one (1, 3, n, n) and gives {MESH_POINTS} x 3 numbers and one more: this one has {shapes}"
        )
    return ports[0], meshes[0], logits[0]


def swap_ports(network: Any, template: Floats) -> tuple[Port, Port, str]:
    """The image and the latent input of a swap network, told apart by rank, and the name of the picture that it gives."""
    ports, results = networks.inputs(network), networks.outputs(network)
    images = [port for port in ports if port.is_square_image]
    latents = [port for port in ports if len(port.shape) == 2 and port.shape[1] > 0]
    pictures = [port.name for port in results if port.is_square_image] or [port.name for port in results if len(results) == 1]
    if len(ports) != 2 or len(images) != 1 or len(latents) != 1 or len(pictures) != 1:
        shapes = [port.shape for port in ports]
        raise ModelError(f"a swap network takes one image (1, 3, s, s) and one latent (1, d): this one takes {shapes}")
    if template.shape != (5, 2):
        raise ModelError(f"a swap network's template is five points: expected (5, 2), got {template.shape}")
    return images[0], latents[0], pictures[0]
