"""From judged candidates to what lies in the folder: engines first, then the manifest that names them."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from realtime.builder import candidate, gate, manifest
from realtime.builder.candidate import Candidate
from realtime.builder.gate import Verdict
from realtime.builder.manifest import Entry
from realtime.builder.recipes import Network
from realtime.builder.table import Row
from realtime.builder.workshop import Workshop
from realtime.errors import BackendError


def install(shop: Workshop, network: Network, ports: dict[str, Any], candidates: Sequence[Candidate]) -> list[Row]:
    """Keep the fastest good one of each target, and all that could not be judged; a row for each candidate.

    Of a target that nothing was built for, because it was not asked for or because each build failed, what was there stays.

    `ports`: inputs and outputs of the network, where its engine does not have its own.
    """
    rows: list[Row] = []
    kept: list[tuple[Candidate, Entry]] = []
    made_of = network.fingerprint
    for name in shop.targets_for(network):
        own = [each for each in candidates if each.target == name]
        best = gate.fastest([each.judgement for each in own])
        winner = own[best] if best is not None else None
        rows += [candidate.row(network, each, winner) for each in own]
        tried = [each.precision for each in own]
        good = [each for each in own if each is winner or each.verdict is Verdict.PENDING]
        kept += [(each, _entry(network, made_of, ports, each, tried, chosen=each is winner)) for each in good]
    made = {each.target for each in candidates if each.judgement is not None}
    _put(shop.folder, network.name, kept, [entry for entry in _there(shop, network, made_of) if entry.target not in made])
    return rows


def _put(folder: Path, model: str, kept: Sequence[tuple[Candidate, Entry]], others: Sequence[Entry]) -> None:
    """Move the engines in, then the manifest; when that does not come about, what was moved goes too."""
    moved: list[Path] = []
    try:
        for each, entry in kept:
            place = folder / entry.file
            if each.engine != place:
                fresh = not place.exists()
                each.engine.replace(place)
                moved += [place] if fresh else []
        manifest.write(folder, model, [*others, *(entry for _, entry in kept)])
    except BaseException:  # Ctrl-C too: an engine that no manifest names would lie there for ever
        for place in moved:
            place.unlink(missing_ok=True)
        raise


def _there(shop: Workshop, network: Network, made_of: str) -> list[Entry]:
    """What was built of the same files before."""
    try:
        return [entry for entry in manifest.read(shop.folder, network.name) if entry.onnx_sha256 == made_of]
    except BackendError:
        return []


def _entry(network: Network, made_of: str, ports: dict[str, Any], each: Candidate, tried: Sequence[str], *, chosen: bool) -> Entry:
    built, judgement = each.built, each.judgement
    assert built is not None and judgement is not None
    return Entry(
        target=each.target,
        precision=each.precision,
        arithmetic=built["arithmetic"],
        file=manifest.file_name(network.name, each.target, each.precision, built["sha256"], each.engine.suffix),
        sha256=built["sha256"],
        bytes=built["bytes"],
        onnx_sha256=made_of,
        library=built["library"],
        version=built["version"],
        device=built["device"],
        inputs=built.get("inputs", ports["inputs"]),
        outputs=built.get("outputs", ports["outputs"]),
        gate=dataclasses.asdict(judgement),
        build_seconds=round(each.seconds, 2),
        built_at=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        chosen=chosen,
        tried=tried,
        notes=built["notes"],
    )
