"""Content Credentials (C2PA): what was done to a file, signed, within the file.

c2pa-python, the only maintained implementation with wheels, does the work. It is 16 MB on Linux and macOS, where it comes with the program,
and 88 MB on Windows, where it is the extra `[credentials]`; without it files are written unsigned and that is said. It is loaded only for a
file that is signed or verified. Nothing is fetched from the network: no time stamps, no revocation lists, no manifests kept elsewhere.
"""

from __future__ import annotations

import importlib.util
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from realtime import __version__
from realtime.errors import SinkError
from realtime.trust.payload import PAYLOAD_BITS, Payload
from realtime.trust.stopping import StoppableFile, Stopped, never
from realtime.trust.xmp import BY_AI, COMPOSITE

if TYPE_CHECKING:
    from realtime.trust.signing import SigningKey  # not at run time: it needs cryptography, which comes with c2pa-python

FORMATS = {
    ".mp4": "video/mp4", ".mov": "video/quicktime", ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".webp": "image/webp",
}  # fmt: skip
"""The suffixes of ours that can be signed."""
READABLE = FORMATS | {
    ".m4v": "video/mp4", ".avi": "video/avi", ".tif": "image/tiff", ".tiff": "image/tiff", ".gif": "image/gif", ".heic": "image/heic",
    ".heif": "image/heif", ".avif": "image/avif", ".dng": "image/x-adobe-dng",
}  # fmt: skip
MARK_NAME = "io.realtime-faceswap.spread-spectrum.1"
"""The name of our watermark as the algorithm of a soft binding."""
_AGENT = {"name": "realtime-faceswap", "version": __version__}
_SETTINGS = {
    "builder": {"thumbnail": {"enabled": False}},
    "verify": {"verify_trust": False, "verify_timestamp_trust": False, "remote_manifest_fetch": False, "ocsp_fetch": False},
}

State = Literal["intact", "broken", "none", "unreadable"]


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a file's credentials say."""

    state: State
    """intact: signed, and the file is as it was then; broken: there, but the file or they were changed; unreadable: cannot be told."""
    by_ai: bool = False
    """They declare that a trained model made the content or a part of it."""
    signer: str = ""
    """As the signing certificate names itself, which nobody has checked."""
    ingredients: int = 0
    problems: tuple[str, ...] = ()
    """The validator's codes, or why they cannot be read."""


def available() -> bool:
    return importlib.util.find_spec("c2pa") is not None


def complaint() -> str:
    """Why c2pa-python, which is there, does not load; empty when it does."""
    try:
        _library()
    except SinkError as error:
        return str(error)
    return ""


def sign(source: Path, target: Path, key: SigningKey, ingredient: Path | None = None, stopped: Stopped = never) -> None:
    """Write `source` with credentials to `target`: a composite with AI-made parts that carries our watermark.

    The credentials of `ingredient`, the file that was changed, are taken along when it has any. Raises SinkError, also when `stopped`
    says so meanwhile; `target` is of no use then.
    """
    c2pa = _library()
    media_type = FORMATS[source.suffix.lower()]
    parent = ingredient if ingredient is not None and read(ingredient).state in ("intact", "broken") else None
    try:
        signer = c2pa.Signer.from_info(c2pa.C2paSignerInfo(b"es256", key.chain, key.private, None))
        builder = c2pa.Builder(_manifest(parent is not None), _context())
        if parent is not None:
            with parent.open("rb") as stream:
                builder.add_ingredient(
                    {"title": "input", "relationship": "parentOf", "label": "input"}, READABLE[parent.suffix.lower()], stream
                )
        with source.open("rb") as before, target.open("w+b") as after:
            builder.sign(signer, media_type, StoppableFile(before, stopped), StoppableFile(after, stopped))
    except c2pa.C2paError as error:
        raise SinkError(f"the Content Credentials could not be written ({error})") from error


def read(path: Path, stopped: Stopped = never) -> Credentials:
    """Read and check a file's credentials. Never raises for what is in the file; raises OSError when it cannot be read."""
    media_type = READABLE.get(path.suffix.lower())
    if media_type is None:
        return Credentials("none")
    if not available():
        return Credentials("unreadable", problems=("c2pa-python is not installed: pip install c2pa-python",))
    try:
        c2pa = _library()
    except SinkError as error:
        return Credentials("unreadable", problems=(str(error),))
    with path.open("rb") as stream:
        try:
            with c2pa.Reader(media_type, StoppableFile(stream, stopped), context=_context()) as reader:
                report = json.loads(reader.json())
        except c2pa.C2paError.ManifestNotFound:
            return Credentials("none")
        except c2pa.C2paError as error:
            return Credentials("unreadable", problems=(str(error),))
    return _judged(report)


def _judged(report: dict[str, Any]) -> Credentials:
    manifests: dict[str, Any] = report.get("manifests", {})
    active = manifests.get(report.get("active_manifest", ""), {})
    signature = active.get("signature_info", {})
    failures = report.get("validation_results", {}).get("activeManifest", {}).get("failure", [])
    return Credentials(
        "intact" if report.get("validation_state") in ("Valid", "Trusted") else "broken",
        any(_declares_ai(manifest) for manifest in manifests.values()),
        ", ".join(filter(None, (signature.get("common_name"), signature.get("issuer")))),
        len(active.get("ingredients", [])),
        tuple(str(failure.get("code")) for failure in failures),
    )


def _declares_ai(manifest: dict[str, Any]) -> bool:
    actions = (
        action
        for assertion in manifest.get("assertions", [])
        if str(assertion.get("label")).startswith("c2pa.actions")
        for action in assertion.get("data", {}).get("actions", [])
    )
    return any(action.get("digitalSourceType") in BY_AI for action in actions)


def _manifest(has_parent: bool) -> dict[str, Any]:
    """Neither title nor time: they would tell more of the user than that a face was replaced."""
    changed = {"digitalSourceType": COMPOSITE, "softwareAgent": _AGENT, "description": "a face was replaced"}
    begun: list[dict[str, Any]] = [{"action": "c2pa.created", **changed}]
    if has_parent:
        begun = [{"action": "c2pa.opened", "parameters": {"ingredientIds": ["input"]}}, {"action": "c2pa.edited", **changed}]
    binding = {"alg": MARK_NAME, "blocks": [{"scope": {}, "value": f"{Payload().to_int():0{PAYLOAD_BITS // 4}x}"}]}
    return {
        "claim_generator_info": [_AGENT],
        "assertions": [
            {"label": "c2pa.actions.v2", "data": {"actions": [*begun, {"action": "c2pa.watermarked.bound"}]}},
            {"label": "c2pa.soft-binding", "data": binding},
        ],
    }


def _library() -> Any:
    """Raises SinkError when it is there and does not load: a wheel for another system, or a part of it is gone."""
    try:
        import c2pa
    except (ImportError, OSError, RuntimeError) as error:
        cure = "reinstall it with pip install --force-reinstall c2pa-python"
        raise SinkError(f"c2pa-python does not load ({' '.join(str(error).split())[:120]}): {cure}") from error
    return c2pa


@cache
def _context() -> Any:
    return _library().Context.from_dict(_SETTINGS)
