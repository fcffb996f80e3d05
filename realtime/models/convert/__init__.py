"""From the files that wheels carry to float ONNX files that every backend loads. Run once per model, by the store."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from realtime.errors import ModelError
from realtime.models.row import Model

VERSION = 2
"""Raise it when a converter's result changes: the store then converts anew."""

AS_IS = "as_is"
"""The converter of files that are used byte for byte: large ones, which are moved and never read whole."""


def version_of(model: Model) -> int:
    """Of what made the model's file: a file taken as it is never becomes outdated."""
    return 0 if model.converter == AS_IS else VERSION


def convert(model: Model, data: bytes) -> bytes:
    """The ONNX file made of the fetched file's bytes. Raises ModelError when they cannot be converted."""
    if model.converter == AS_IS:
        return data
    try:
        network = CONVERTERS[model.converter](data)
        return _finished(network, model.input_size)
    except ModelError:
        raise
    except Exception as error:  # a parser meeting bytes it does not understand raises anything
        what = f"{type(error).__name__}: {error}"
        raise ModelError(f"{model.name} cannot be converted ({what}): update this program, and report it if that does not help") from error


def _finished(network: Any, input_size: int | None) -> bytes:
    """Resized, checked, with the shape of every output written down: some runtimes bind outputs before they run."""
    import onnx

    from realtime.models.convert.resize import resize_input

    if input_size is not None:
        resize_input(network, input_size)
    network = onnx.shape_inference.infer_shapes(network, strict_mode=True, data_prop=True)
    del network.graph.value_info[:]
    onnx.checker.check_model(network)
    content: bytes = network.SerializeToString()
    return content


def _tflite(data: bytes) -> Any:
    from realtime.models.convert.tflite import convert_tflite

    return convert_tflite(data)


def _onnx(data: bytes) -> Any:
    import onnx

    return onnx.load_from_string(data)


def _unquantised(data: bytes) -> Any:
    import onnx

    from realtime.models.convert.dense import compact, dense_weights
    from realtime.models.convert.fold import fold

    network = onnx.load_from_string(data)
    layers = dense_weights(network)
    return compact(fold(network, but=layers), layers)


CONVERTERS: Mapping[str, Callable[[bytes], Any]] = MappingProxyType({"onnx": _onnx, "tflite": _tflite, "unquantised": _unquantised})
"""By the key of a catalogue row, each from the file's bytes to an ONNX model. Parsers are imported when used: they are slow to load."""
