"""Give a fully convolutional network another input size."""

from __future__ import annotations

from typing import Any


def resize_input(network: Any, size: int) -> None:
    """Rewrite, in place, the height and width of the network's only image input (1, c, h, w). Shapes inside are forgotten, not checked."""
    dims = network.graph.input[0].type.tensor_type.shape.dim
    dims[2].dim_value = dims[3].dim_value = size
    forget_shapes(network)


def forget_shapes(network: Any) -> None:
    """Drop, in place, what the file says about shapes behind the input."""
    for output in network.graph.output:
        output.type.tensor_type.ClearField("shape")
    del network.graph.value_info[:]
