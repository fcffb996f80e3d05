"""Face detectors for pictures of 640 pixels.

SCRFD: deepinsight/insightface, `detection/scrfd/configs/scrfd/*_bnkps.py`. RetinaFace: biubug6/Pytorch_Retinaface, `models/`. YOLOv5n-face:
deepcam-cn/yolov5-face, `models/yolov5n.yaml` and `common.py` (a ShuffleNet). YOLOv8n-face: ultralytics' `yolov8-pose.yaml` at scale n, as
derronqi/yolov8-face has it. Boxes are decoded in the graph where the published files do so.
"""

from __future__ import annotations

import numpy as np

from tests.twins.full.net import Net

SIZE = 640
_SCRFD = {
    "scrfd_10g": (56, (3, 4, 2, 3), (56, 88, 88, 224), 56, 80, 3),
    "scrfd_2.5g": (24, (3, 5, 3, 2), (24, 48, 48, 80), 24, 64, 2),
}
"""Stem, blocks and widths of the stages, width of the neck, width and number of the heads' convolutions."""


def scrfd(net: Net, name: str) -> None:
    stem, blocks, widths, neck, head, layers = _SCRFD[name]
    x = net.input("input.1", 1, 3, SIZE, SIZE)
    for width, stride in ((stem // 2, 2), (stem // 2, 1), (stem, 1)):
        x = net.conv(x, net.wide(width), stride=stride, act="Relu")
    x, stages = net.pool(x, 3, 2, 1), []
    for index, (count, width) in enumerate(zip(blocks, widths, strict=True)):
        for block in range(count):
            x = _basic(net, x, net.wide(width), 2 if index and not block else 1)
        stages.append(x)
    _scrfd_outputs(net, [_heads(net, x, net.wide(head), layers, 1) for x in _neck(net, stages[1:], net.wide(neck))])


def scrfd_500m(net: Net, name: str) -> None:
    """The same of a convolution for each channel and one for each pixel."""
    x = net.conv(net.input("input.1", 1, 3, SIZE, SIZE), net.wide(16), stride=2, act="Relu")
    x, stages = _separable(net, x, net.wide(16)), []
    for count, width in zip((2, 3, 2, 6), (40, 72, 152, 288), strict=True):
        for block in range(count):
            x = _separable(net, x, net.wide(width), 1 if block else 2)
        stages.append(x)
    _scrfd_outputs(net, [_heads(net, x, net.wide(64), 2, 0) for x in _neck(net, stages[1:], net.wide(16))])


def _basic(net: Net, x: str, width: int, stride: int) -> str:
    """ResNet's block of two convolutions; what goes past them is averaged before it is shrunk."""
    y = net.conv(net.conv(x, width, stride=stride, act="Relu"), width)
    if stride > 1:
        x = net.pool(x, kind="AveragePool")
    x = net.conv(x, width, 1) if net.shapes[x][1] != width or stride > 1 else x
    return net.op("Relu", net.op("Add", x, y))


def _separable(net: Net, x: str, width: int, stride: int = 1, act: str = "Relu") -> str:
    return net.conv(net.conv(x, net.shapes[x][1], stride=stride, groups=net.shapes[x][1], act=act), width, 1, act=act)


def _neck(net: Net, stages: list[str], width: int) -> list[str]:
    """PAFPN: what the coarse grids know goes down to the fine ones and up again."""
    grids = [net.conv(x, width, 1) for x in stages]
    for index in (1, 0):
        grids[index] = net.op("Add", grids[index], net.up(grids[index + 1]))
    grids = [net.conv(x, width) for x in grids]
    for index in (1, 2):
        grids[index] = net.op("Add", grids[index], net.conv(grids[index - 1], width, stride=2))
    return [grids[0], *(net.conv(x, width) for x in grids[1:])]


def _heads(net: Net, x: str, width: int, layers: int, plain: int) -> list[str]:
    """Rows of scores, distances and points of two anchors in each cell."""
    for _ in range(layers):
        x = net.conv(x, width, act="Relu") if plain else _separable(net, x, width)
    rows = [net.reshape(net.transpose(net.conv(x, 2 * each), 0, 2, 3, 1), -1, each) for each in (1, 4, 10)]
    return [net.op("Sigmoid", rows[0]), *rows[1:]]


def _scrfd_outputs(net: Net, heads: list[list[str]]) -> None:
    for kind, names in enumerate((("448", "471", "494"), ("451", "474", "497"), ("454", "477", "500"))):
        for grid, name in zip(heads, names, strict=True):
            net.output(grid[kind], name)


def retinaface_mobile(net: Net, name: str) -> None:
    """On MobileNet at a quarter of its width."""
    x = net.conv(net.input("input", 1, 3, SIZE, SIZE), net.wide(8), stride=2, act="LeakyRelu")
    stages = []
    for layers in (
        ((16, 1), (32, 2), (32, 1), (64, 2), (64, 1)),
        ((128, 2), *[(128, 1)] * 5),
        ((256, 2), (256, 1)),
    ):
        for width, stride in layers:
            x = _separable(net, x, net.wide(width), stride, "LeakyRelu")
        stages.append(x)
    _retinaface(net, stages, net.wide(64))


def retinaface_resnet(net: Net, name: str) -> None:
    """On ResNet-50."""
    x = net.pool(net.conv(net.input("input", 1, 3, SIZE, SIZE), net.wide(64), 7, 2, act="Relu"), 3, 2, 1)
    stages = []
    for index, (count, width) in enumerate(zip((3, 4, 6, 3), (64, 128, 256, 512), strict=True)):
        for block in range(count):
            x = _bottleneck(net, x, net.wide(width), 2 if index and not block else 1)
        stages.append(x)
    _retinaface(net, stages[1:], net.wide(256))


def _bottleneck(net: Net, x: str, width: int, stride: int) -> str:
    y = net.conv(net.conv(x, width, 1, act="Relu"), width, stride=stride, act="Relu")
    y = net.conv(y, 4 * width, 1)
    short = x if net.shapes[x][1] == 4 * width else net.conv(x, 4 * width, 1, stride)
    return net.op("Relu", net.op("Add", short, y))


def _retinaface(net: Net, stages: list[str], width: int) -> None:
    grids = [net.conv(x, width, 1, act="LeakyRelu") for x in stages]
    for index in (1, 0):
        grids[index] = net.conv(net.op("Add", grids[index], net.up(grids[index + 1])), width, act="LeakyRelu")
    grids = [_context(net, x, width) for x in grids]
    for each, port in ((4, "output"), (2, "outputt"), (10, "outputtt")):
        rows = [net.reshape(net.transpose(net.conv(x, 2 * each, 1), 0, 2, 3, 1), 1, -1, each) for x in grids]
        table = net.cat(*rows, axis=1)
        net.output(net.op("Softmax", table, axis=-1) if each == 2 else table, port)


def _context(net: Net, x: str, width: int) -> str:
    """SSH: fields of 3, 5 and 7 pixels side by side (Najibi et al., 2017)."""
    five = net.conv(x, width // 4, act="LeakyRelu")
    seven = net.conv(five, width // 4, act="LeakyRelu")
    return net.op("Relu", net.cat(net.conv(x, width // 2), net.conv(five, width // 4), net.conv(seven, width // 4)))


def yolo8(net: Net, name: str) -> None:
    """`images` to a table (1, 20, n), or to the three grids (1, 80, h, w) as they come."""
    x, seen = net.input("images", 1, 3, SIZE, SIZE), []
    x = net.conv(x, net.wide(16), stride=2, act="Swish")
    for width, count in ((32, 1), (64, 2), (128, 2), (256, 1)):
        x = _c2f(net, net.conv(x, net.wide(width), stride=2, act="Swish"), width, count, True)
        seen.append(x)
    x = _pyramid(net, x)
    middle = _c2f(net, net.cat(net.up(x), seen[2]), 128, 1)
    fine = _c2f(net, net.cat(net.up(middle), seen[1]), 64, 1)
    middle = _c2f(net, net.cat(net.conv(fine, net.wide(64), stride=2, act="Swish"), middle), 128, 1)
    coarse = _c2f(net, net.cat(net.conv(middle, net.wide(128), stride=2, act="Swish"), x), 256, 1)
    grids = [net.cat(*(_branch(net, x, *each) for each in ((64, 64), (64, 1), (16, 15)))) for x in (fine, middle, coarse)]
    if name == "yolov8n_face":
        for index, grid in enumerate(grids):
            net.output(grid, f"output{index}")
        return
    net.output(_table(net, net.cat(*(net.reshape(grid, 1, 80, -1) for grid in grids), axis=2)), "output0")


def _c2f(net: Net, x: str, width: int, count: int, short: bool = False) -> str:
    """Bottlenecks one after the other, all of whose results are mixed."""
    half = net.wide(width) // 2
    x = net.conv(x, 2 * half, 1, act="Swish")
    parts = [net.part(x, 0, half), net.part(x, half, 2 * half)]
    for _ in range(count):
        y = net.conv(net.conv(parts[-1], half, act="Swish"), half, act="Swish")
        parts.append(net.op("Add", parts[-1], y) if short else y)
    return net.conv(net.cat(*parts), net.wide(width), 1, act="Swish")


def _pyramid(net: Net, x: str) -> str:
    parts = [net.conv(x, net.wide(128), 1, act="Swish")]
    for _ in range(3):
        parts.append(net.pool(parts[-1], 5, 1, 2))
    return net.conv(net.cat(*parts), net.wide(256), 1, act="Swish")


def _branch(net: Net, x: str, width: int, numbers: int) -> str:
    for _ in range(2):
        x = net.conv(x, net.wide(width), act="Swish")
    return net.conv(x, numbers, 1)


def _table(net: Net, rows: str) -> str:
    """Distributions of 16 to distances, distances to boxes, points to pixels; the cells' strides stand for all three grids."""
    count = net.shapes[rows][2]
    bins = net.op("Softmax", net.reshape(net.part(rows, 0, 64), 1, 4, 16, count), axis=2)
    mean = net.transpose(net.product(net.transpose(bins, 0, 1, 3, 2), net.constant(np.arange(16, dtype=np.float32)[:, None])), 0, 3, 1, 2)
    sides = net.reshape(mean, 1, 4, count)
    low, high = net.part(sides, 0, 2), net.part(sides, 2, 4)
    middle = net.op("Mul", net.op("Sub", high, low), net.number(0.5))
    boxes = net.cat(middle, net.op("Add", low, high))
    return net.cat(boxes, net.op("Sigmoid", net.part(rows, 64, 65)), net.op("Mul", net.part(rows, 65, 80), net.number(2)))


def yolo5(net: Net, name: str) -> None:
    """`input` to a table (1, n, 16) of three anchors in each cell."""
    x, seen = _stem(net, net.input("input", 1, 3, SIZE, SIZE), net.wide(32)), []
    for width, more in ((128, 3), (256, 7), (512, 3)):
        x = _shuffle_down(net, x, net.wide(width) // 2)
        for _ in range(more):
            x = _shuffle(net, x)
        seen.append(x)
    width = net.wide(128)
    coarse = net.conv(x, width, 1, act="Swish")
    middle = net.conv(_c3(net, net.cat(net.up(coarse), seen[1]), width), width, 1, act="Swish")
    fine = _c3(net, net.cat(net.up(middle), seen[0]), width)
    middle = _c3(net, net.cat(net.conv(fine, width, stride=2, act="Swish"), middle), width)
    coarse = _c3(net, net.cat(net.conv(middle, width, stride=2, act="Swish"), coarse), width)
    rows = [net.reshape(net.transpose(net.conv(x, 48, 1), 0, 2, 3, 1), 1, -1, 16) for x in (fine, middle, coarse)]
    net.output(net.op("Sigmoid", net.cat(*rows)), "output")


def _stem(net: Net, x: str, width: int) -> str:
    x = net.conv(x, width, stride=2, act="Swish")
    beside = net.conv(net.conv(x, width // 2, 1, act="Swish"), width, stride=2, act="Swish")
    return net.conv(net.cat(beside, net.pool(x)), width, 1, act="Swish")


def _shuffle_down(net: Net, x: str, half: int) -> str:
    left = net.conv(net.conv(x, net.shapes[x][1], stride=2, groups=net.shapes[x][1]), half, 1, act="Swish")
    return _shuffled(net, left, _inverted(net, x, half, 2))


def _shuffle(net: Net, x: str) -> str:
    half = net.shapes[x][1] // 2
    return _shuffled(net, net.part(x, 0, half), _inverted(net, net.part(x, half, 2 * half), half, 1))


def _inverted(net: Net, x: str, half: int, stride: int) -> str:
    x = net.conv(net.conv(x, half, 1, act="Swish"), half, stride=stride, groups=half)
    return net.conv(x, half, 1, act="Swish")


def _shuffled(net: Net, left: str, right: str) -> str:
    x = net.cat(left, right)
    _, width, height, across = net.shapes[x]
    return net.reshape(net.transpose(net.reshape(x, 1, 2, width // 2, height, across), 0, 2, 1, 3, 4), 1, width, height, across)


def _c3(net: Net, x: str, width: int) -> str:
    inner = net.conv(net.conv(x, width // 2, 1, act="Swish"), width // 2, 1, act="Swish")
    inner = net.conv(inner, width // 2, act="Swish")
    return net.conv(net.cat(inner, net.conv(x, width // 2, 1, act="Swish")), width, 1, act="Swish")
