"""Restorers of faces around a dictionary of codes, and networks that enlarge whole frames.

CodeFormer: sczhou/CodeFormer, `codeformer_arch.py` and `vqgan_arch.py`. RestoreFormer++: wzhouxiff/RestoreFormerPlusPlus, `vqvae_arch.py`
and `configs/RestoreFormer++.yaml`. Real-ESRGAN: xinntao/Real-ESRGAN on BasicSR's `rrdbnet_arch.py`, 23 blocks of 64 channels.
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from tests.twins.full.net import Net

_WIDTHS = (64, 128, 128, 256, 256, 512)
"""Channels from 512 pixels down to 16."""
_BOOK, _LENGTH = 1024, 256
"""Codes in the dictionary, and numbers in one."""
TILE = 256


def codeformer(net: Net, name: str) -> None:
    """An encoder, a transformer that names the code of each of 16 x 16 places, a generator that listens to the encoder as `weight` says."""
    x = net.input("input", 1, 3, 512, 512)
    weight = net.op("Cast", net.input("weight", 1, element=TensorProto.DOUBLE), to=TensorProto.FLOAT)
    x, seen = _encoded(net, x, heads=1)
    length = net.shapes[x][1]
    rows = net.dense(net.transpose(net.reshape(x, length, -1), 1, 0), net.wide(512))
    place = net.weight(net.shapes[rows][0], net.wide(512))
    for _ in range(9):
        rows = _layer(net, rows, place)
    scores = net.dense(net.layer_norm(rows), _BOOK, bias=False)
    best = net.op("ArgMax", scores, shape=(net.shapes[rows][0],), axis=1, keepdims=0)
    x = net.op("Gather", net.weight(_BOOK, length), best, shape=(net.shapes[rows][0], length), axis=0)
    x = net.reshape(net.transpose(x, 1, 0), 1, length, 16, 16)
    net.output(_drawn(net, x, lambda x, level: _fused(net, x, seen[level], weight) if level in (1, 2, 3, 4) else x), "output")


def _layer(net: Net, rows: str, place: str) -> str:
    """Of the transformer: eight heads, the places added to queries and keys."""
    normal = net.layer_norm(rows)
    placed, width = net.op("Add", normal, place), net.shapes[rows][1]
    looked = _attended(net, net.dense(placed, width), net.dense(placed, width), net.dense(normal, width), 8)
    rows = net.op("Add", rows, net.dense(looked, width))
    inner = net.dense(net.layer_norm(rows), 2 * width)
    inner = net.op("Mul", inner, net.op("Add", net.op("Erf", inner), net.number(1)))  # GELU but for two factors
    return net.op("Add", rows, net.dense(inner, width))


def _attended(net: Net, query: str, key: str, value: str, heads: int) -> str:
    """Rows (n, width) each."""
    count, width = net.shapes[query]
    each = width // heads
    query, value = (net.transpose(net.reshape(x, count, heads, each), 1, 0, 2) for x in (query, value))
    scores = net.op("Mul", net.product(query, net.transpose(net.reshape(key, count, heads, each), 1, 2, 0)), net.number(each**-0.5))
    return net.reshape(net.transpose(net.product(net.op("Softmax", scores, axis=-1), value), 1, 0, 2), count, width)


def _encoded(net: Net, x: str, heads: int) -> tuple[str, list[str]]:
    """The code's place (1, 256, 16, 16), and what was seen at each size, the largest first; last, what came of it all."""
    x, seen = net.conv(x, net.wide(64)), []
    for level, width in enumerate(_WIDTHS):
        for _ in range(2):
            x = _block(net, x, net.wide(width))
            x = _look(net, x, x, heads) if level == 5 else x
        seen.append(x)
        x = net.conv(x, net.wide(width), stride=2) if level < 5 else x
    x = _block(net, x, net.wide(512))
    seen[5] = x if heads > 1 else seen[5]
    x = _block(net, _look(net, x, x, heads), net.wide(512))
    seen.append(x)
    return net.conv(net.act(net.group_norm(x), "Swish"), net.wide(_LENGTH)), seen


def _block(net: Net, x: str, width: int) -> str:
    y = net.conv(net.act(net.group_norm(x), "Swish"), width)
    y = net.conv(net.act(net.group_norm(y), "Swish"), width)
    return net.op("Add", x if net.shapes[x][1] == width else net.conv(x, width, 1), y)


def _look(net: Net, x: str, at: str, heads: int) -> str:
    """Attention of each place to all: `at` asks, `x` answers."""
    shape = net.shapes[x]
    asks, answers = net.group_norm(at), net.group_norm(x)
    rows = [net.transpose(net.reshape(net.conv(y, shape[1], 1), shape[1], -1), 1, 0) for y in (asks, answers, answers)]
    looked = net.reshape(net.transpose(_attended(net, *rows, heads), 1, 0), *shape)
    return net.op("Add", x, net.conv(looked, shape[1], 1))


def _drawn(net: Net, x: str, fuse) -> str:
    """CodeFormer's generator; `fuse` after the first block of each size."""
    x = _block(net, net.conv(x, net.wide(512)), net.wide(512))
    x = _block(net, _look(net, x, x, 1), net.wide(512))
    for level in range(5, -1, -1):
        for index in range(2):
            x = _block(net, x, net.wide(_WIDTHS[level]))
            x = _look(net, x, x, 1) if level == 5 else x
            x = fuse(x, level) if index == 0 else x
        x = net.conv(net.up(x), net.wide(_WIDTHS[level])) if level else x
    return net.conv(net.group_norm(x), 3)


def _fused(net: Net, x: str, encoded: str, weight: str) -> str:
    width = net.shapes[x][1]
    y = _block(net, net.cat(encoded, x), width)
    scale, shift = (net.conv(net.conv(y, width, act="LeakyRelu"), width) for _ in range(2))
    return net.op("Add", x, net.op("Mul", weight, net.op("Add", net.op("Mul", x, scale), shift)))


def restoreformer(net: Net, name: str) -> None:
    """An encoder, the nearest code for each place, and a decoder that asks the encoder by attention at 16 and 32 pixels."""
    x, seen = _encoded(net, net.input("input", 1, 3, 512, 512), heads=4)
    length = net.wide(_LENGTH)
    book = net.random.standard_normal((_BOOK, length)).astype(np.float32)
    net.weights += book.size
    rows = net.transpose(net.reshape(net.conv(x, length, 1), length, -1), 1, 0)
    near = net.op("Sub", net.product(rows, net.constant(2 * book.T.copy())), net.constant((book**2).sum(1)))
    best = net.op("ArgMax", near, shape=(256,), axis=1, keepdims=0)
    x = net.transpose(net.op("Gather", net.constant(book), best, shape=(256, length), axis=0), 1, 0)
    x = net.conv(net.conv(net.reshape(x, 1, length, 16, 16), length, 1), net.wide(512))
    x = _block(net, x, net.wide(512))
    x = _block(net, _look(net, x, seen[6], 4), net.wide(512))
    for level in range(5, -1, -1):
        for _ in range(3):
            x = _block(net, x, net.wide(_WIDTHS[level]))
            x = _look(net, x, seen[level], 4) if level >= 4 else x
        x = net.conv(net.up(x), net.wide(_WIDTHS[level])) if level else x
    net.output(net.conv(net.act(net.group_norm(x), "Swish"), 3), "output")


def esrgan(net: Net, name: str) -> None:
    """Residual dense blocks at the tile's size (for twice the size at half of it, four pixels as channels), then two enlargements."""
    factor = int(name[-1])
    x = net.input("input", 1, 3, TILE, TILE)
    if factor == 2:
        x = net.op("SpaceToDepth", x, shape=(1, 12, TILE // 2, TILE // 2), blocksize=2)
    first = x = net.conv(x, net.wide(64))
    for _ in range(23):
        y = x
        for _ in range(3):
            y = _dense_block(net, y)
        x = net.op("Add", x, net.op("Mul", y, net.number(0.2)))
    x = net.op("Add", first, net.conv(x, net.wide(64)))
    for _ in range(2):
        x = net.conv(net.up(x), net.wide(64), act="LeakyRelu")
    net.output(net.conv(net.conv(x, net.wide(64), act="LeakyRelu"), 3), "output")


def _dense_block(net: Net, x: str) -> str:
    parts = [x]
    for _ in range(4):
        parts.append(net.conv(net.cat(*parts) if len(parts) > 1 else x, net.wide(32), act="LeakyRelu"))
    return net.op("Add", x, net.op("Mul", net.conv(net.cat(*parts), net.wide(64)), net.number(0.2)))
