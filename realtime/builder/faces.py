"""Networks that give faces, swap networks and enhancers: judged by their pixels and by whom they show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from realtime.backends.base import Session, TensorSpec
from realtime.backends.select import open_session
from realtime.builder.contract import Contract
from realtime.builder.role import Results, Tools
from realtime.builder.scenes import Scene
from realtime.models.recognisers.sface import SFace
from realtime.types import Array, Floats, Image
from realtime.vision.align import align
from realtime.vision.planes import fill_normalised

_MIDDLE = 0.5
"""Fed to inputs of one number, such as CodeFormer's fidelity."""
_LEAST_ERROR = 1e-12


def observe(session: Session, scenes: Sequence[Scene], tools: Tools) -> Results:
    """For each scene the network's picture of the aligned face, and whose it is (`pack`).

    A latent is the embedding of another scene's face: numbers that real faces have, not noise, which calibrates other ranges.
    """
    with _recogniser(tools.identity) as whose:
        people = embeddings(scenes, whose)
        return [_face(session, scene, person, tools.contract, whose) for scene, person in zip(scenes, people, strict=True)]


@contextmanager
def _recogniser(path: Path) -> Iterator[SFace]:
    with open_session(path, "onnxruntime") as session:
        yield SFace(session)


def embeddings(scenes: Sequence[Scene], whose: SFace) -> list[Floats]:
    """For each scene the embedding of the face half the scenes further on: with the bundled pictures that is the other person."""
    found = [whose.embed(scene.image, scene.points) for scene in scenes]
    half = len(found) // 2
    return found[half:] + found[:half]


def spread(embedding: Floats, length: int) -> Floats:
    """An embedding as a latent of another length, norm 1: turned into that space without changing the angles between faces.

    Recognisers that swap networks are trained with may not be at hand; what matters for calibration is that the numbers are spread
    as those of faces and that two faces are as far apart as they are. Shorter latents keep the angles approximately.
    """
    if length == len(embedding):
        return embedding
    random = np.random.default_rng(5).standard_normal((max(length, len(embedding)), min(length, len(embedding))))
    basis, _ = np.linalg.qr(random)
    turned = basis @ embedding if length > len(embedding) else embedding @ basis
    return np.asarray(turned / np.linalg.norm(turned), np.float32)


def feed(session: Session, scene: Scene, latent: Floats, contract: Contract) -> None:
    """Fill the inputs: the aligned face into planes, the latent into rows, the middle of the range into single numbers.

    Raises BackendError when no input takes a face.
    """
    for spec in session.specs.inputs:
        buffer = session.inputs[spec.name]
        if _is_face(spec):
            buffer[0] = planes(scene, spec.shape[2], contract)
        elif buffer.size == 1:
            buffer.fill(_MIDDLE)
        else:
            buffer[...] = spread(latent, spec.shape[-1])


def planes(scene: Scene, size: int, contract: Contract) -> Floats:
    """(3, size, size) float32: the face on the contract's template, normalised."""
    face, _ = align(scene.image, scene.points, contract.points(size), size)
    mean, std = _columns(contract)
    made = np.empty((3, size, size), np.float32)
    fill_normalised(face, made, np.asarray(1 / (255 * std), np.float32), -mean / std, contract.order == "rgb")
    return made


def _columns(contract: Contract) -> tuple[Floats, Floats]:
    """Mean and deviation (3,) float32."""
    return np.array(contract.mean, np.float32), np.array(contract.std, np.float32)


def picture(output: Array, contract: Contract) -> Floats:
    """The network's planes (1, 3, s, s) as (s, s, 3) float32 BGR, black 0 and white 1; beyond that is limited."""
    image = np.asarray(output[0], np.float32).transpose(1, 2, 0)
    if contract.denormalise:
        mean, std = _columns(contract)
        image = image * std + mean
    return np.clip(image[..., ::-1] if contract.order == "rgb" else image, 0, 1)


def _face(session: Session, scene: Scene, person: Floats, contract: Contract, whose: SFace) -> Floats:
    feed(session, scene, person, contract)
    outputs = session.run()
    shown = next(outputs[spec.name] for spec in session.specs.outputs if _is_face(spec))
    return pack(picture(shown, contract), contract, whose)


def _is_face(spec: TensorSpec) -> bool:
    return len(spec.shape) == 4 and spec.shape[1] == 3 and spec.shape[2] == spec.shape[3] > 1


def pack(shown: Floats, contract: Contract, whose: SFace) -> Floats:
    """One row: the length of an embedding, that of the picture (s, s, 3) 0..1, and the picture."""
    if not np.isfinite(shown).all():
        shown = np.zeros_like(shown)  # which no recogniser may be shown; black has the worst of figures
    image: Image = np.rint(shown * 255).astype(np.uint8)
    person = whose.embed(image, contract.points(len(image)))
    return np.concatenate([[len(person)], person, shown.ravel()]).astype(np.float32)


def compare(reference: Results, got: Results) -> dict[str, float]:
    """Peak signal-to-noise ratio in decibels (120 at most) and cosine of the identities: mean and lowest."""
    pairs = [(_unpacked(a), _unpacked(b)) for a, b in zip(reference, got, strict=True)]
    error = float(np.mean([np.mean((a[1] - b[1]) ** 2, dtype=np.float64) for a, b in pairs]))
    cosines = [float(a[0] @ b[0]) for a, b in pairs]
    return {"psnr": float(-10 * np.log10(max(error, _LEAST_ERROR))), "identity": float(np.mean(cosines)), "lowest": min(cosines)}


def _unpacked(row: Floats) -> tuple[Floats, Floats]:
    count = int(row[0])
    return row[1 : count + 1], row[count + 1 :]
