"""Swap networks that a number or a picture steers: residual blocks in the manner of SimSwap, AEI-Nets in that of FaceShifter, and DFM.

inswapper: SimSwap's generator with 1024 channels. simswap: neuralchen/SimSwap, `fs_networks_fix.py` and `fs_networks_512.py` (deep, by the
size of its file), nine blocks. ghost: ai-forever/ghost, `network/`; which of them by the sizes of the files. blendswap: mapooon/BlendFace,
`swapping/model/`. DFM: iperov/DeepFaceLab, `DeepFakeArchi.py`, archi df-ud with its trainer's default dimensions. Of hyperswap, hififace
and uniface only the sizes of their files are known, so that their time is an estimate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tests.twins.full.net import Net
from tests.twins.full.recognisers import iresnet
from tests.twins.swappers import TWINS


@dataclass(frozen=True)
class Layout:
    """An encoder, residual blocks that the source modulates, and a decoder."""

    widths: tuple[int, ...]
    """Channels of the encoder's layers; every one but the first `flat` halves the side, and the decoder mirrors them."""
    flat: int
    blocks: int


LAYOUTS = {
    "inswapper_128": Layout((128, 256, 512, 1024), 2, 6),
    "hyperswap_1a_256": Layout((64, 128, 256, 512, 736), 2, 8),
    "simswap_256": Layout((64, 128, 256, 512), 1, 9),
    "simswap_unofficial_512": Layout((32, 64, 128, 256, 512, 512), 1, 9),
    "hififace_unofficial_256": Layout((64, 128, 256, 512), 1, 8),
    "uniface_256": Layout((64, 128, 256, 512, 736), 2, 8),
}
GHOSTS = {"ghost_1_256": (1, True), "ghost_2_256": (2, True), "ghost_3_256": (3, False)}
"""How many AAD layers a block has; whether attributes stand beside what comes up (a U-net) or are added to it (a LinkNet)."""
_ENCODER, _DECODER = (32, 64, 128, 256, 512, 1024, 1024), (1024, 512, 256, 128, 64, 32)
_GENERATOR = (1024, 1024, 1024, 512, 256, 128, 64, 3)
DFM_SIZE = 224


def residual(net: Net, name: str) -> None:
    """SimSwap and what is made like it: `target` and `source` in, `output` 0..1 out."""
    layout, (x, source) = LAYOUTS[name], _inputs(net, name)
    if len(net.shapes[source]) == 4:  # a picture: averaged to as many numbers
        source = net.reshape(net.mean(net.conv(source, 512, 8, 8, pad=0)), 1, 512)
    widths = [net.wide(width) for width in layout.widths]
    for index, width in enumerate(widths):
        x = net.conv(x, width, 7 if index == 0 else 3, 1 if index < layout.flat else 2, act="LeakyRelu")
    for _ in range(layout.blocks):
        inner = net.op("Relu", _modulated(net, net.conv(x, widths[-1]), source))
        x = net.op("Add", x, _modulated(net, net.conv(inner, widths[-1]), source))
    for index in range(len(widths) - 1, 0, -1):
        x = net.up(x, mode="linear") if index >= layout.flat else x
        x = net.conv(x, widths[index - 1], act="LeakyRelu")
    _output(net, net.conv(x, 3, 7, act="Sigmoid"), name)


def _modulated(net: Net, x: str, source: str) -> str:
    """Instance normalisation, then a scale and a shift that the source decides."""
    width = net.shapes[x][1]
    style = net.reshape(net.dense(source, 2 * width), 1, 2 * width, 1, 1)
    return net.op("Add", net.op("Mul", net.instance_norm(x), net.part(style, 0, width)), net.part(style, width, 2 * width))


def _inputs(net: Net, name: str) -> tuple[str, str]:
    quirks = TWINS[name]
    ports = {"target": (quirks.batch, 3, quirks.size, quirks.size), "source": (quirks.batch, *quirks.source[1:])}
    for port in ("source", "target") if quirks.source_first else ("target", "source"):
        net.input(port, *ports[port])
    return "target", "source"


def _output(net: Net, x: str, name: str) -> None:
    quirks = TWINS[name]
    net.output(x, "output", quirks.batch, 3, quirks.size, quirks.size)
    if quirks.emap and not net.counting:
        matrix, _ = np.linalg.qr(net.random.standard_normal((512, 512)))
        net.constant(matrix.astype(np.float32))
        net.model.graph.initializer[-1].name = quirks.emap


def ghost(net: Net, name: str) -> None:
    """FaceShifter's AEI-Net: a U-net of the frame's attributes, and a generator that the source's embedding fills in at eight sizes."""
    x, source = _inputs(net, name)
    layers, beside = GHOSTS[name]
    attributes = _attributes(net, x, bias=False, beside=beside)
    x = net.reshape(net.dense(source, 4 * net.wide(1024), bias=False), 1, net.wide(1024), 2, 2)  # a deconvolution of a single pixel
    for index, (attribute, width) in enumerate(zip(attributes, _GENERATOR, strict=True)):
        x = net.up(x, mode="linear") if index else x
        x = _aad_block(net, x, attribute, source, width if width == 3 else net.wide(width), layers, 1)
    _output(net, net.op("Tanh", x), name)


def blendswap(net: Net, name: str) -> None:
    """The same with wider layers, begun by the attributes themselves, with a mask, and with the network that knows the source inside."""
    target, source = _inputs(net, name)
    identity = iresnet(net, source, (3, 13, 30, 3))
    attributes = _attributes(net, target, bias=True)
    x = attributes[0]
    for index, (attribute, width) in enumerate(zip(attributes, _GENERATOR, strict=True)):
        x = net.up(x, mode="linear") if index else x
        x = _aad_block(net, x, attribute, identity, width if width == 3 else net.wide(width), 2, 3)
    mask = net.conv(attributes[-1], 1, 1, act="Sigmoid")
    behind = net.op("Mul", target, net.op("Sub", net.number(1), mask))
    _output(net, net.op("Add", net.op("Mul", net.op("Sigmoid", x), mask), behind), name)


def _attributes(net: Net, x: str, bias: bool, beside: bool = True) -> list[str]:
    """Eight sizes of them, the smallest first."""
    seen = []
    for width in _ENCODER:
        x = net.conv(x, net.wide(width), 4, 2, pad=1, act="LeakyRelu", bias=bias)
        seen.append(x)
    found = [x]
    for width, other in zip(_DECODER, seen[-2::-1], strict=True):
        x = net.deconv(x, net.wide(width), act="LeakyRelu")
        x = net.cat(x, other) if beside else net.op("Add", x, other)
        found.append(x)
    return [*found, net.up(x, mode="linear")]


def _aad_block(net: Net, x: str, attribute: str, source: str, width: int, layers: int, kernel: int) -> str:
    before = net.shapes[x][1]
    y = x
    for layer in range(layers):
        y = net.conv(_aad(net, y, attribute, source, kernel), before if layer < layers - 1 else width, bias=kernel > 1)
    short = x if before == width else net.conv(_aad(net, x, attribute, source, kernel), width, bias=kernel > 1)
    return net.op("Add", y, short)


def _aad(net: Net, x: str, attribute: str, source: str, kernel: int) -> str:
    """Adaptive attentional denormalisation: a mask that the features draw mixes what the frame and what the source make of them."""
    width, x = net.shapes[x][1], net.instance_norm(x)
    theirs = net.op("Add", net.op("Mul", x, net.conv(attribute, width, kernel)), net.conv(attribute, width, kernel))
    scale, shift = (net.reshape(net.dense(source, width), 1, width, 1, 1) for _ in range(2))
    ours = net.op("Add", net.op("Mul", x, scale), shift)
    mask = net.conv(x, 1, 1, act="Sigmoid")
    mixed = net.op("Add", net.op("Mul", net.op("Sub", net.number(1), mask), theirs), net.op("Mul", mask, ours))
    return net.op("Relu", mixed)


def dfm(net: Net, name: str) -> None:
    """SAEHD df-ud at 224 pixels, dimensions 256, 64, 64 and 22: encoder, code, the person's decoder, and the mask of the face seen."""
    x = net.transpose(net.input("in_face:0", "unk__1", DFM_SIZE, DFM_SIZE, 3), 0, 3, 1, 2)
    for width in (64, 128, 256, 512):
        x = net.conv(x, net.wide(width), 5, 2, act="LeakyRelu")
    x = net.reshape(x, 1, -1)
    scale = net.op("ReduceMean", net.op("Mul", x, x), shape=(1, 1), axes=[1], keepdims=1)
    x = net.op("Div", x, net.op("Sqrt", net.op("Add", scale, net.number(1e-6))))
    side, code = DFM_SIZE // 32, net.wide(256)
    x = net.reshape(net.dense(net.dense(x, code), side * side * code), 1, code, side, side)
    x = _doubled(net, x, 256)
    net.output(_as_pixels(net, _mask(net, x)), "out_face_mask:0", "unk__2", DFM_SIZE, DFM_SIZE, 1)
    net.output(_as_pixels(net, _person(net, x)), "out_celeb_face:0", "unk__3", DFM_SIZE, DFM_SIZE, 3)
    net.output(_as_pixels(net, _mask(net, x)), "out_celeb_face_mask:0", "unk__4", DFM_SIZE, DFM_SIZE, 1)


def _doubled(net: Net, x: str, width: int) -> str:
    x = net.conv(x, 4 * net.wide(width), act="LeakyRelu")
    return _spread(net, x)


def _spread(net: Net, x: str) -> str:
    """Four channels of a pixel become four pixels."""
    _, width, height, across = net.shapes[x]
    return net.op("DepthToSpace", x, shape=(1, width // 4, 2 * height, 2 * across), blocksize=2)


def _person(net: Net, x: str) -> str:
    for width in (512, 256, 128):
        x = _doubled(net, x, width)
        inner = net.conv(x, net.wide(width), act="LeakyRelu")
        x = net.act(net.op("Add", x, net.conv(inner, net.wide(width))), "LeakyRelu")
    return net.op("Sigmoid", _spread(net, net.cat(net.conv(x, 3, 1), *(net.conv(x, 3) for _ in range(3)))))


def _mask(net: Net, x: str) -> str:
    for width in (176, 88, 44, 22):
        x = _doubled(net, x, width)
    return net.conv(x, 1, 1, act="Sigmoid")


def _as_pixels(net: Net, planes: str) -> str:
    return net.transpose(planes, 0, 2, 3, 1)
