"""Networks around a StyleGAN2 generator: that generator itself, the encoder that finds codes for it, and restorers of faces.

Generator: rosinality/stylegan2-pytorch, `model.py`, 1024 pixels, channel multiplier 2. Encoder: omertov/encoder4editing,
`models/encoders/psp_encoders.py`, IR-SE-50. GPEN: yangxy/GPEN, `face_model/gpen_model.py`, channel multiplier 2 for 512 pixels, 1 and half
of the widths for 256. GFPGAN 1.4: TencentARC/GFPGAN, `gfpganv1_clean_arch.py`, channel multiplier 2, half of the channels modulated in
space, a code for each layer. Weights are modulated in the graph, as the published files do it.
"""

from __future__ import annotations

from math import log2
from typing import NamedTuple

import numpy as np

from tests.twins.full.net import Net
from tests.twins.full.recognisers import residual_body

_CODE = 512


def _widths(multiplier: float, narrow: float = 1.0) -> dict[int, int]:
    """Channels at each side in pixels."""
    wide = {64: 256, 128: 128, 256: 64, 512: 32, 1024: 16}
    all_ = dict.fromkeys((4, 8, 16, 32), 512) | {side: int(width * multiplier) for side, width in wide.items()}
    return {side: int(width * narrow) for side, width in all_.items()}


def _levels(size: int) -> list[int]:
    return [2**power for power in range(3, int(log2(size)) + 1)]


def _modulated(net: Net, x: str, style: str, width: int, kernel: int = 3, *, demodulate: bool = True, twice: bool = False) -> str:
    """A convolution whose weights the style scales. `twice`: transposed and then blurred, which doubles the side."""
    depth = net.shapes[x][1]
    scale = net.reshape(net.dense(style, depth), 1, depth, 1, 1)
    weights = net.op("Mul", net.weight(width, depth, kernel, kernel), scale)
    if demodulate:
        power = net.op("ReduceSum", net.op("Mul", weights, weights), net.whole(1, 2, 3), shape=(width, 1, 1, 1), keepdims=1)
        weights = net.op("Div", weights, net.op("Sqrt", net.op("Add", power, net.number(1e-8))))
    if twice:
        return _blurred(net, net.deconvolved(x, net.transpose(weights, 1, 0, 2, 3), pad=0))
    return net.convolved(x, weights, pad=kernel // 2)


def _blurred(net: Net, x: str, pad: int = 1, stride: int = 1) -> str:
    """By 1 3 3 1 across and down."""
    width, row = net.shapes[x][1], np.array([1, 3, 3, 1], np.float32)
    filters = net.constant(np.tile(np.outer(row, row) / row.sum() ** 2 * (4 if stride == 1 else 1), (width, 1, 1, 1)))
    return net.convolved(x, filters, stride=stride, groups=width, pad=pad)


def _finished(net: Net, x: str, noise: bool = True) -> str:
    """Noise, a shift for each channel, and the bend."""
    if noise:
        side = net.shapes[x][2]
        x = net.op("Add", x, net.op("Mul", net.weight(1, 1, side, side, size=1), net.weight(1, size=0.1)))
    return net.act(net.op("Add", x, net.weight(net.shapes[x][1], 1, 1, size=0.1)), "LeakyRelu")


class _Codes(NamedTuple):
    """One for all layers (1, 512), or one each (1, layers, 512)."""

    net: Net
    all: str

    def __call__(self, layer: int) -> str:
        if len(self.net.shapes[self.all]) == 2:
            return self.all
        return self.net.reshape(self.net.part(self.all, layer, layer + 1), 1, _CODE)


def _to_rgb(net: Net, x: str, style: str, before: str = "", mode: str = "") -> str:
    """`before`: the picture at half the side."""
    picture = net.op("Add", _modulated(net, x, style, 3, 1, demodulate=False), net.weight(3, 1, 1, size=0.1))
    if not before:
        return picture
    return net.op("Add", picture, net.up(before, mode="linear") if mode else _upsampled(net, before))


def _upsampled(net: Net, x: str) -> str:
    """Zeros between the pixels, then the blur."""
    filters = np.outer(*[np.array([1, 3, 3, 1], np.float32)] * 2) / 16
    depth, side = net.shapes[x][1:3]
    net.products += depth * 16 * side * side
    shape = (1, depth, 2 * side, 2 * side)
    return net.op("ConvTranspose", x, net.constant(np.tile(filters, (depth, 1, 1, 1))), shape=shape, kernel_shape=[4, 4], strides=[2, 2],
                  pads=[1] * 4, group=depth)  # fmt: skip


def generator(net: Net, name: str) -> None:
    """`styles` (1, 18, 512) to `image` (1, 3, 1024, 1024)."""
    code, widths = _Codes(net, net.input("styles", 1, 18, _CODE)), _widths(2)
    x = _finished(net, _modulated(net, net.weight(1, net.wide(512), 4, 4, size=1), code(0), net.wide(512)))
    picture = _to_rgb(net, x, code(1))
    for index, side in enumerate(_levels(1024)):
        width, layer = net.wide(widths[side]), 2 * index + 1
        x = _finished(net, _modulated(net, x, code(layer), width, twice=True))
        x = _finished(net, _modulated(net, x, code(layer + 1), width))
        picture = _to_rgb(net, x, code(layer + 2), picture)
    net.output(picture, "image")


def encoder(net: Net, name: str) -> None:
    """`input` (1, 3, 256, 256) to `codes` (1, 18, 512): the first layer's, and what the others differ from it by."""
    x = net.conv(net.input("input", 1, 3, 256, 256), net.wide(64), act="PRelu")
    _, fine, middle, coarse = residual_body(net, x, (3, 4, 14, 3), squeeze=True)
    middle = net.op("Add", net.up(coarse, mode="linear"), net.conv(middle, net.wide(_CODE), 1))
    fine = net.op("Add", net.up(middle, mode="linear"), net.conv(fine, net.wide(_CODE), 1))
    codes = []
    for layer in range(18):
        x = coarse if layer < 3 else middle if layer < 7 else fine
        while net.shapes[x][2] > 1:
            x = net.conv(x, net.wide(_CODE), stride=2, act="LeakyRelu")
        code = net.dense(net.reshape(x, 1, -1), _CODE)
        codes.append(net.op("Add", codes[0], code) if codes else code)
    net.output(net.reshape(net.cat(*codes), 1, 18, _CODE), "codes")


def gpen(net: Net, name: str) -> None:
    """An encoder whose features go into the generator as its noise does otherwise, beside its own."""
    size = int(name.rsplit("_", 1)[1])
    widths = {side: net.wide(width) for side, width in (_widths(2) if size == 512 else _widths(1, 0.5)).items()}
    x = net.conv(net.input("input", 1, 3, size, size), widths[size], 1, act="LeakyRelu")
    seen = {size: x}
    for side in _levels(size)[::-1]:
        x = net.conv(_blurred(net, x, 2), widths[side // 2], 3, 2, pad=0, act="LeakyRelu")
        seen[side // 2] = x
    code = net.dense(net.reshape(x, 1, -1), _CODE, act="LeakyRelu")
    for _ in range(8):
        code = net.dense(code, _CODE, act="LeakyRelu")
    x = _beside(net, _modulated(net, net.weight(1, widths[4], 4, 4, size=1), code, widths[4]), seen[4])
    picture = _to_rgb(net, x, code)
    for side in _levels(size):
        x = _beside(net, _modulated(net, x, code, widths[side], twice=True), seen[side])
        x = _beside(net, _modulated(net, x, code, widths[side]), seen[side])
        picture = _to_rgb(net, x, code, picture)
    net.output(picture, "output")


def _beside(net: Net, x: str, features: str) -> str:
    return _finished(net, net.cat(x, net.op("Mul", features, net.weight(1, size=1))), noise=False)


def gfpgan(net: Net, name: str) -> None:
    """A U-net that gives the codes and, at each side, a scale and a shift of half of the generator's channels."""
    size, narrow, widths = 512, _widths(2, 0.5), _widths(2)
    x, seen = net.conv(net.input("input", 1, 3, size, size), net.wide(narrow[size]), 1, act="LeakyRelu"), []
    for side in _levels(size)[::-1]:
        x = _resized(net, x, net.wide(narrow[side // 2]), 0.5)
        seen.append(x)
    x = net.conv(x, net.wide(narrow[4]), act="LeakyRelu")
    code = _Codes(net, net.reshape(net.dense(net.reshape(x, 1, -1), 16 * _CODE), 1, 16, _CODE))
    y = _finished(net, _modulated(net, net.weight(1, net.wide(512), 4, 4, size=1), code(0), net.wide(512)))
    picture = _to_rgb(net, y, code(1))
    for index, side in enumerate(_levels(size)):
        x = _resized(net, net.op("Add", x, seen.pop()), net.wide(narrow[side]), 2)
        width, layer = net.wide(widths[side]), 2 * index + 1
        y = _finished(net, _modulated(net, net.up(y, mode="linear"), code(layer), width))
        y = _in_space(net, y, *(net.conv(net.conv(x, net.shapes[x][1], act="LeakyRelu"), width // 2) for _ in range(2)))
        y = _finished(net, _modulated(net, y, code(layer + 1), width))
        picture = _to_rgb(net, y, code(layer + 2), picture, "linear")
    net.output(picture, "output")


def _resized(net: Net, x: str, width: int, factor: float) -> str:
    y = net.conv(x, net.shapes[x][1], act="LeakyRelu")
    y = net.conv(net.up(y, factor, "linear"), width, act="LeakyRelu")
    return net.op("Add", y, net.conv(net.up(x, factor, "linear"), width, 1, bias=False))


def _in_space(net: Net, x: str, scale: str, shift: str) -> str:
    half = net.shapes[x][1] // 2
    moved = net.op("Add", net.op("Mul", net.part(x, half, 2 * half), scale), shift)
    return net.cat(net.part(x, 0, half), moved)
