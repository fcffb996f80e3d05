"""Networks that know faces and their landmarks.

ArcFace: deepinsight/insightface, `arcface_torch/backbones/`: iresnet of 50 or 100 layers, and mobilefacenet (the file of w600k_mbf holds
more weights than that layout, which has as many multiply-adds as published). 2dfan4: 1adrianb/face-alignment, `models.py`, four
hourglasses. Of 2d106det and 1k3d68 only what they are built on (MobileNet at half width; a residual network of 50 layers) and the sizes of
their files are known: estimates.
"""

from __future__ import annotations

import numpy as np

from tests.twins.full.net import Net

_STAGES = (64, 128, 256, 512)


def iresnet(net: Net, x: str, blocks: tuple[int, ...] = (3, 4, 14, 3)) -> str:
    """A picture of 112 pixels to 512 numbers (1, 512)."""
    return net.dense(net.reshape(residual_body(net, net.conv(x, net.wide(64), act="PRelu"), blocks)[-1], 1, -1), 512)


def residual_body(net: Net, x: str, blocks: tuple[int, ...], squeeze: bool = False) -> list[str]:
    """What each stage of ArcFace's residual network gives; `squeeze`: with gates for channels."""
    stages = []
    for count, width in zip(blocks, map(net.wide, _STAGES), strict=True):
        for block in range(count):
            before, stride = net.shapes[x][1], 1 if block else 2
            norm = net.op("Add", net.op("Mul", x, net.weight(before, 1, 1, size=1)), net.weight(before, 1, 1, size=0.1))
            y = net.conv(net.conv(norm, width, act="PRelu"), width, stride=stride)
            y = net.squeezed(y) if squeeze else y
            short = net.conv(x, width, 1, stride) if before != width or (stride > 1 and not squeeze) else x
            short = net.pool(x, 1, 2) if squeeze and before == width and stride > 1 else short
            x = net.op("Add", y, short)
        stages.append(x)
    return stages


def w600k_r50(net: Net, name: str) -> None:
    net.output(iresnet(net, net.input("input.1", "None", 3, 112, 112)), "683", 1, 512)


def w600k_mbf(net: Net, name: str) -> None:
    """Bottlenecks that are wide inside, a convolution of their own for each channel."""
    x = net.conv(net.input("input.1", "None", 3, 112, 112), net.wide(128), stride=2, act="PRelu")
    x = net.conv(x, net.wide(128), groups=net.wide(64), act="PRelu")
    for width, inner, more in ((128, 128, 4), (256, 256, 6), (256, 512, 2)):
        x = _depthwise(net, x, net.wide(width), net.wide(inner), 2)
        for _ in range(more):
            x = net.op("Add", x, _depthwise(net, x, net.wide(width), net.wide(width), 1))
    x = net.conv(x, net.wide(512), 1, act="PRelu")
    x = net.conv(x, net.wide(512), 7, pad=0, groups=net.wide(512))
    net.output(net.dense(net.reshape(x, 1, -1), 512), "516", 1, 512)


def _depthwise(net: Net, x: str, width: int, inner: int, stride: int) -> str:
    x = net.conv(net.conv(x, inner, 1, act="PRelu"), inner, stride=stride, groups=inner, act="PRelu")
    return net.conv(x, width, 1)


def fan(net: Net, name: str) -> None:
    """Four hourglasses, each of which looks at what the one before it found; the last one's heat maps, and where they are warmest."""
    x = net.conv(net.input("input", 1, 3, 256, 256), net.wide(64), 7, 2, act="Relu")
    x = net.pool(_fan_block(net, x, 128))
    before = _fan_block(net, _fan_block(net, x, 128), 256)
    for index in range(4):
        x = net.conv(_fan_block(net, _hourglass(net, before, 4), 256), net.wide(256), 1, act="Relu")
        heat = net.conv(x, 68, 1)
        if index < 3:
            before = net.op("Add", net.op("Add", before, net.conv(x, net.wide(256), 1)), net.conv(heat, net.wide(256), 1))
    rows = net.op("Softmax", net.reshape(heat, 1, 68, -1), axis=-1)
    y, x = (axis.ravel() for axis in np.mgrid[:64, :64].astype(np.float32))
    net.output(net.product(rows, net.constant(np.stack([x, y, np.ones_like(x)], 1)[None])), "landmarks_xyscore", 1, 68, 3)
    net.output(heat, "heatmaps", 1, 68, 64, 64)


def _fan_block(net: Net, x: str, width: int) -> str:
    """Three convolutions, whose results stand side by side."""
    width = net.wide(width)
    parts = [net.conv(net.op("Relu", x), width // 2, bias=False)]
    for _ in range(2):
        parts.append(net.conv(net.op("Relu", parts[-1]), width // 4, bias=False))
    short = x if net.shapes[x][1] == width else net.conv(net.op("Relu", x), width, 1, bias=False)
    return net.op("Add", net.cat(*parts), short)


def _hourglass(net: Net, x: str, depth: int) -> str:
    beside, small = _fan_block(net, x, 256), _fan_block(net, net.pool(x), 256)
    small = _hourglass(net, small, depth - 1) if depth > 1 else _fan_block(net, small, 256)
    return net.op("Add", beside, net.up(_fan_block(net, small, 256)))


def landmarks_106(net: Net, name: str) -> None:
    x = net.conv(net.input("data", "None", 3, 192, 192), net.wide(16), stride=2, act="PRelu")
    for width, stride in ((32, 1), (64, 2), (64, 1), (128, 2), (128, 1), (256, 2), *[(256, 1)] * 5, (512, 2), (512, 1)):
        x = net.conv(x, net.shapes[x][1], stride=stride, groups=net.shapes[x][1], act="PRelu")
        x = net.conv(x, net.wide(width), 1, act="PRelu")
    net.output(net.dense(net.reshape(net.conv(x, net.wide(64), stride=2, act="PRelu"), 1, -1), 212), "fc1", 1, 212)


def landmarks_68(net: Net, name: str) -> None:
    """1103 points in space, of which the last 68 are known by name."""
    x = net.conv(net.input("data", "None", 3, 192, 192), net.wide(64), act="PRelu")
    x = net.conv(residual_body(net, x, (3, 4, 14, 3))[-1], net.wide(512), stride=2, act="PRelu")
    net.output(net.dense(net.reshape(net.mean(x), 1, -1), 3309), "fc1", 1, 3309)
