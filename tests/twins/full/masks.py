"""Networks that say what of a picture is a face, and which part of it.

Occluder: our own. XSeg: iperov/DeepFaceLab, `core/leras/models/XSeg.py`, base width 32. BiSeNet: yakhyo/face-parsing, `models/`, on
ResNet-18 or -34.
"""

from __future__ import annotations

import numpy as np

from tests.twins.full.net import Net

_DEPTH = {"bisenet_resnet_18": (2, 2, 2, 2), "bisenet_resnet_34": (3, 4, 6, 3)}
_BLURS = {4: (1, 3, 3, 1), 3: (1, 2, 1), 2: (1, 1)}


def occluder(net: Net, name: str) -> None:
    """A small U-net whose coarse features come up by addition; a gate of means at its narrowest."""
    x, seen = net.conv(net.input("image", 1, 3, 128, 128), net.wide(16), 5, 2, act="Relu"), []
    for width, blocks in ((24, 1), (48, 2), (80, 2)):
        seen.append(x)
        x = net.conv(x, net.wide(width), stride=2, act="Relu")
        for _ in range(blocks):
            x = net.op("Relu", net.op("Add", x, net.conv(net.conv(x, net.wide(width), act="Relu"), net.wide(width))))
    width = net.shapes[x][1]
    x = net.op("Relu", net.op("Add", x, net.conv(net.conv(net.mean(x), width, 1, act="Relu"), width, 1)))
    for width, beside in ((48, seen[2]), (24, seen[1]), (16, seen[0])):
        x = net.conv(net.op("Add", beside, net.up(net.conv(x, net.wide(width), 1, act="Relu"))), net.wide(width), act="Relu")
    net.output(net.conv(x, 1, 1, act="Sigmoid"), "visible")


def xseg(net: Net, name: str) -> None:
    """A U-net with two dense layers at its narrowest; each convolution with a filter response norm (Singh and Krishnan, 2020)."""
    x, seen = net.transpose(net.input("input", "batch", 256, 256, 3), 0, 3, 1, 2), []
    for width, count, blur in ((32, 2, 4), (64, 2, 3), (128, 2, 2), (256, 3, 2), (256, 3, 2), (256, 3, 2)):
        for _ in range(count):
            x = _convolved(net, x, width)
        seen.append(x)
        x = _blurred(net, x, blur)
    code, side = net.shapes[x][1], net.shapes[x][2]
    x = net.reshape(net.dense(net.dense(net.reshape(x, 1, -1), net.wide(512)), code * side * side), 1, code, side, side)
    for width, count, beside in ((256, 3, 5), (256, 3, 4), (256, 3, 3), (128, 2, 2), (64, 2, 1), (32, 2, 0)):
        x = _normed(net, net.deconv(x, net.wide(width // 2 if beside > 2 else width), 3, pad=1, past=1))
        x = net.cat(x, seen[beside])
        for _ in range(count):
            x = _convolved(net, x, width)
    net.output(net.transpose(net.conv(x, 1, act="Sigmoid"), 0, 2, 3, 1), "output", "batch", 256, 256, 1)


def _convolved(net: Net, x: str, width: int) -> str:
    return _normed(net, net.conv(x, net.wide(width)))


def _normed(net: Net, x: str) -> str:
    width = net.shapes[x][1]
    power = net.op("ReduceMean", net.op("Mul", x, x), shape=(1, width, 1, 1), axes=[2, 3], keepdims=1)
    x = net.op("Div", x, net.op("Sqrt", net.op("Add", power, net.number(1e-6))))
    x = net.op("Add", net.op("Mul", x, net.weight(width, 1, 1, size=1)), net.weight(width, 1, 1, size=0.1))
    return net.op("Max", x, net.weight(width, 1, 1, size=0.1))


def _blurred(net: Net, x: str, taps: int) -> str:
    """Half the side: each plane blurred by itself."""
    row, width, side = np.array(_BLURS[taps], np.float32), net.shapes[x][1], net.shapes[x][2] // 2
    filters = net.constant(np.tile(np.outer(row, row) / row.sum() ** 2, (width, 1, 1, 1)))
    pads = [(taps - 1) // 2, (taps - 1) // 2, (taps - 2) // 2, (taps - 2) // 2]
    net.products += width * taps * taps * side * side
    return net.op("Conv", x, filters, shape=(1, width, side, side), kernel_shape=[taps] * 2, strides=[2, 2], pads=pads, group=width)


def bisenet(net: Net, name: str) -> None:
    """A ResNet whose two coarsest stages are weighed by attention and joined to the one before them."""
    x = net.pool(net.conv(net.input("input", 1, 3, 512, 512), net.wide(64), 7, 2, act="Relu"), 3, 2, 1)
    stages = []
    for index, (count, width) in enumerate(zip(_DEPTH[name], (64, 128, 256, 512), strict=True)):
        for block in range(count):
            x = _basic(net, x, net.wide(width), 2 if index and not block else 1)
        stages.append(x)
    whole = net.conv(net.mean(stages[3]), net.wide(128), 1, act="Relu")
    coarse = net.conv(net.up(net.op("Add", _weighed(net, stages[3]), whole)), net.wide(128), act="Relu")
    fine = net.conv(net.up(net.op("Add", _weighed(net, stages[2]), coarse)), net.wide(128), act="Relu")
    joined = net.conv(net.cat(stages[1], fine), net.wide(256), 1, act="Relu")
    joined = net.op("Add", joined, net.squeezed(joined, 4))
    for x, inner, port in ((joined, 256, "output"), (fine, 64, "aux_16"), (coarse, 64, "aux_32")):
        scores = net.conv(net.conv(x, net.wide(inner), act="Relu"), 19, 1, bias=False)
        net.output(net.up(scores, 512 / net.shapes[scores][2], "linear"), port)


def _basic(net: Net, x: str, width: int, stride: int) -> str:
    y = net.conv(net.conv(x, width, stride=stride, act="Relu"), width)
    x = net.conv(x, width, 1, stride) if net.shapes[x][1] != width or stride > 1 else x
    return net.op("Relu", net.op("Add", x, y))


def _weighed(net: Net, x: str) -> str:
    x = net.conv(x, net.wide(128), act="Relu")
    return net.op("Mul", x, net.conv(net.mean(x), net.wide(128), 1, act="Sigmoid"))
