"""Attacks what reads files with ever new variants, guided by the code that they reach: `python scripts/fuzz.py TARGET --seconds 60`.

Needs atheris (`pip install '.[fuzz]'`, on Linux), which mutates good files and keeps those that reach something new. Anything but
the errors that a user may read ends it with an error and leaves the input in the folder `crashes`. tests/fuzz is the short form of this.
"""

from __future__ import annotations

import argparse
import dataclasses
import io
import json
import sys
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from pkgutil import walk_packages

import atheris

import realtime.compiled
import realtime.vision

KERNELS = [
    module.name for package in (realtime.vision, realtime.compiled) for module in walk_packages(package.__path__, f"{package.__name__}.")
]
"""Modules of code that Numba compiles, which it cannot once it was instrumented."""

with atheris.instrument_imports(include=["realtime", "PIL", "tomllib"], exclude=KERNELS):
    import av
    import numpy as np
    from PIL import Image as Pil

    from realtime.builder import manifest
    from realtime.config import load_settings
    from realtime.errors import RealtimeError
    from realtime.models.catalog import MODELS
    from realtime.models.peek import Peek
    from realtime.models.records import read_record
    from realtime.models.wheels import read_member
    from realtime.photos.read import read_photo
    from realtime.sources.base import EndOfStream
    from realtime.sources.video import FileSource
    from realtime.trust.payload import CODED_BITS, decode

Attack = Callable[[Path, bytes], object]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--seconds", type=int, default=60, metavar="N", help="time to try for [60]")
    options = parser.parse_args()
    attack, seeds = TARGETS[options.target]
    crashes = Path("crashes")
    crashes.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        corpus, file = Path(folder, "corpus"), Path(folder, "input")
        corpus.mkdir()
        for number, seed in enumerate(seeds()):
            (corpus / str(number)).write_bytes(seed)

        def once(data: bytes) -> None:
            with suppress(RealtimeError, EndOfStream):
                attack(file, data)

        limits = ["-rss_limit_mb=2048", "-timeout=20", "-max_len=20000", f"-max_total_time={options.seconds}"]
        atheris.Setup([sys.argv[0], *limits, f"-artifact_prefix={crashes}/{options.target}-", str(corpus)], once)
        atheris.Fuzz()


def written(read: Callable[[Path], object], name: str = "input") -> Attack:
    """An attack on what reads a file of this name."""

    def attack(file: Path, data: bytes) -> None:
        path = file.with_name(name)
        path.write_bytes(data)
        read(path)

    return attack


def play(path: Path) -> None:
    with FileSource(path) as source:
        source.open()
        for _ in range(8):
            source.read(1.0)


def look_into(path: Path) -> None:
    peek = Peek(path)
    for name in peek.weights:
        peek.weight(name)


def decode_bytes(file: Path, data: bytes) -> None:
    soft = np.frombuffer(data[: 4 * CODED_BITS].ljust(4 * CODED_BITS, b"\0"), np.float32).astype(np.float64)
    with np.errstate(all="ignore"):
        decode(soft)


def pictures() -> list[bytes]:
    picture = Pil.fromarray(np.random.default_rng(1).integers(0, 256, (16, 16, 3), np.uint8))
    files = []
    for kind in ("JPEG", "PNG", "GIF", "WEBP", "TIFF", "BMP", "PPM"):
        file = io.BytesIO()
        picture.save(file, kind)
        files.append(file.getvalue())
    return files


def videos() -> list[bytes]:
    file = io.BytesIO()
    with av.open(file, "w", format="avi") as out:
        stream = out.add_stream("mpeg4", rate=25, width=32, height=32, pix_fmt="yuv420p")
        for level in (20, 200):
            out.mux(stream.encode(av.VideoFrame.from_ndarray(np.full((32, 32, 3), level, np.uint8), format="bgr24")))
        out.mux(stream.encode(None))
    return [file.getvalue()]


def networks() -> list[bytes]:
    from onnx import TensorProto, helper, numpy_helper

    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 2]) for name in "xy"]
    weight = numpy_helper.from_array(np.ones((1, 2), np.float32), "w")
    graph = helper.make_graph([helper.make_node("Add", ["x", "w"], ["y"])], "g", ends[:1], ends[1:], [weight])
    return [helper.make_model(graph).SerializeToString()]


def archives() -> list[bytes]:
    """An empty one, and one that holds the member, packed and as it is."""
    files = [b"PK\x05\x06" + bytes(18)]
    for way in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", way) as archive:
            archive.writestr(MODELS["mesh"].member, b"no network " * 20)
        files.append(file.getvalue())
    return files


def manifests() -> list[bytes]:
    entry = manifest.Entry(
        "openvino", "fp32", "fp32", "m.blob", "0", 3, "0", "openvino", "1", {}, [], [], {"ms": 1.0}, 1.0, "now", True, ["fp32"]
    )
    rows = ({"target": "x", "file": "m.blob"}, dataclasses.asdict(entry))
    return [json.dumps({"format": manifest.FORMAT, "engines": [row]}).encode() for row in rows]


TARGETS: dict[str, tuple[Attack, Callable[[], list[bytes]]]] = {
    "picture": (written(read_photo), pictures),
    "video": (written(play), videos),
    "config": (written(lambda path: load_settings({}, path)), lambda: [b'source = "me.jpg"\nfps = 30.0\noutput = ["a.mp4"]\n']),
    "network": (written(look_into), networks),
    "archive": (written(lambda path: read_member(path, MODELS["mesh"])), archives),
    "manifest": (written(lambda path: manifest.read(path.parent, "m"), "m.json"), manifests),
    "record": (written(lambda path: read_record(path.with_suffix(".onnx")), "m.json"), lambda: [b'{"bytes": 1, "sha256": "0"}']),
    "mark": (decode_bytes, lambda: [bytes(4 * CODED_BITS)]),
}


if __name__ == "__main__":
    main()
