"""A swap network as part of the per-frame graph for GPUs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from realtime.errors import UsageError
from realtime.graphs import networks
from realtime.graphs.follow import Swap
from realtime.models.swappers.contracts import Contract


def fused(contract: Contract, network: Path | Any) -> Swap:
    """What `graphs.follow.follow_swap` needs to know of a network of this contract, an ONNX file or ModelProto.

    Raises UsageError for a contract without a latent: a source's picture is no input of that graph.
    """
    if not contract.takes_latent:
        raise UsageError(f"{contract.name} takes no embedding: it cannot become part of the whole-frame engine, run it as a network")
    loaded = networks.load(network)
    pictures = [value for value in networks.outputs(loaded) if value.is_square_image]
    kept = [value for value in loaded.graph.output if pictures and value.name == pictures[0].name]
    del loaded.graph.output[:]  # some exports give a mask as well
    loaded.graph.output.extend(kept)
    return Swap(loaded, contract.template(contract.size), contract.mean, contract.std, denormalise=contract.denormalise)
