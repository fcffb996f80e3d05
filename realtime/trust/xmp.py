"""The IPTC property "Digital Source Type" in a picture file: a note that programs and archives read, and that anyone can remove.

A packet of XMP (ISO 16684-1) with that one property is put into a PNG, JPEG or WebP beside the pixels, which are not encoded again. Reading
looks for such a packet in the bytes of any file, which is what XMP packets are made for.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

SOURCE_TYPES = "http://cv.iptc.org/newscodes/digitalsourcetype/"
COMPOSITE = f"{SOURCE_TYPES}compositeWithTrainedAlgorithmicMedia"
"""The IPTC's term for a photograph with parts made by a trained model."""
BY_AI = (COMPOSITE, f"{SOURCE_TYPES}trainedAlgorithmicMedia", f"{SOURCE_TYPES}algorithmicMedia")

_PACKET = (
    "<?xpacket begin='\ufeff' id='W5M0MpCehiHzreSzNTczkc9d'?>"
    "<x:xmpmeta xmlns:x='adobe:ns:meta/'><rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'>"
    "<rdf:Description rdf:about='' xmlns:Iptc4xmpExt='http://iptc.org/std/Iptc4xmpExt/2008-02-29/'>"
    f"<Iptc4xmpExt:DigitalSourceType>{COMPOSITE}</Iptc4xmpExt:DigitalSourceType>"
    "</rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end='r'?>"
).encode()
_JPEG_NAMESPACE = b"http://ns.adobe.com/xap/1.0/\0"
_PNG_KEYWORD = b"XML:com.adobe.xmp\0\0\0\0\0"  # neither compressed, nor of a language, nor translated
_PNG_HEADER = 8 + 25
"""Bytes of the signature and the IHDR chunk."""
_WEBP_HEADER = 12 + 8 + 10
"""Bytes up to the end of the size, in the container's first chunk of any kind."""
_ALPHA, _XMP_FLAG = 0x10, 0x04

_WHOLE = 64 << 20
"""Files up to this size are searched from end to end; of larger ones as much at the beginning and at the end."""
_BEGIN, _END = b"<x:xmpmeta", b"</x:xmpmeta>"
_LONGEST = 1 << 20
"""Bytes of a packet that are looked at."""
_PROPERTY = re.compile(rb"DigitalSourceType(?:\s*=\s*[\"']|>\s*)([!#-&(-;=?-~]{1,200})")


def declare(data: bytes, suffix: str) -> bytes:
    """The picture file `data` with the property; as it is when files of `suffix` have no place for it. Raises ValueError when damaged."""
    embed = _EMBED.get(suffix.lower())
    return embed(data) if embed else data


def declarable(suffix: str) -> bool:
    return suffix.lower() in _EMBED


def source_types(path: Path) -> list[str]:
    """Every Digital Source Type that the file's XMP packets name, in order. Raises OSError."""
    packets = (packet for part in _parts(path) for packet in _packets(part))
    return [match[1].decode("latin-1") for packet in packets for match in _PROPERTY.finditer(packet)]


def _packets(data: bytes) -> Iterator[bytes]:
    at = data.find(_BEGIN)
    while at >= 0:
        end = data.find(_END, at, at + _LONGEST)
        end = end if end >= 0 else min(len(data), at + _LONGEST)
        yield data[at:end]
        at = data.find(_BEGIN, end)


def _parts(path: Path) -> Iterator[bytes]:
    size = path.stat().st_size
    with path.open("rb") as file:
        yield file.read(_WHOLE)
        if size > _WHOLE:
            file.seek(max(_WHOLE, size - _WHOLE))
            yield file.read(_WHOLE)


def _into_jpeg(data: bytes) -> bytes:
    if data[:2] != b"\xff\xd8":
        raise ValueError("no JPEG")
    content = _JPEG_NAMESPACE + _PACKET
    after = 2
    while data[after : after + 2] == b"\xff\xe0":  # JFIF wants to be first
        after += 2 + int.from_bytes(data[after + 2 : after + 4], "big")
    return data[:after] + b"\xff\xe1" + struct.pack(">H", len(content) + 2) + content + data[after:]


def _into_png(data: bytes) -> bytes:
    if data[:8] != b"\x89PNG\r\n\x1a\n" or data[12:16] != b"IHDR":
        raise ValueError("no PNG")
    content = b"iTXt" + _PNG_KEYWORD + _PACKET
    chunk = struct.pack(">I", len(content) - 4) + content + struct.pack(">I", zlib.crc32(content))
    return data[:_PNG_HEADER] + chunk + data[_PNG_HEADER:]


def _into_webp(data: bytes) -> bytes:
    """In the extended form of the container, which a plain picture is turned into."""
    if data[:4] != b"RIFF" or data[8:12] != b"WEBP" or len(data) < _WEBP_HEADER:
        raise ValueError("no WebP")
    kind, body = data[12:16], data[12:]
    if kind == b"VP8X":
        body = body[:8] + bytes([body[8] | _XMP_FLAG]) + body[9:]
    else:
        width, height, alpha = _webp_size(kind, data[20:30])
        if width < 1 or height < 1:
            raise ValueError("a WebP picture without a size")
        sides = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
        body = _riff(b"VP8X", bytes([_XMP_FLAG | (_ALPHA if alpha else 0), 0, 0, 0]) + sides) + body
    return _riff(b"RIFF", b"WEBP" + body + _riff(b"XMP ", _PACKET))


def _webp_size(kind: bytes, head: bytes) -> tuple[int, int, bool]:
    """Width, height and whether there is an alpha channel, from the first bytes of a VP8 or VP8L chunk (RFC 9649)."""
    if kind == b"VP8 ":
        width, height = struct.unpack("<HH", head[6:10])
        return width & 0x3FFF, height & 0x3FFF, False
    bits = int.from_bytes(head[1:5], "little")
    return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1, bool(bits >> 28 & 1)


def _riff(name: bytes, content: bytes) -> bytes:
    return name + struct.pack("<I", len(content)) + content + b"\0" * (len(content) % 2)


_EMBED: dict[str, Callable[[bytes], bytes]] = {".jpg": _into_jpeg, ".jpeg": _into_jpeg, ".png": _into_png, ".webp": _into_webp}
