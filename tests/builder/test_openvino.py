"""What half precision is on OpenVINO: the 16-bit arithmetic that the processor has."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from realtime.builder.targets import openvino
from realtime.errors import BackendError


@pytest.mark.parametrize(
    ("has", "arithmetic"), [(["FP32", "BF16", "INT8"], "bf16"), (["FP32", "FP16", "INT8"], "f16"), (["FP16", "BF16"], "bf16")]
)
def test_the_first_of_two_that_is_there(has: list[str], arithmetic: str) -> None:
    assert openvino._half(SimpleNamespace(get_property=lambda device, name: has)) == arithmetic


def test_without_any_it_is_not_built(twin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    core = SimpleNamespace(get_property=lambda device, name: ["FP32", "INT8"], set_property=lambda properties: None)
    monkeypatch.setattr(openvino, "load", lambda: SimpleNamespace(Core=lambda: core))
    with pytest.raises(BackendError, match="this processor has no 16-bit arithmetic for OpenVINO to use: fp32 and int8 remain"):
        openvino.make("openvino").build(twin, "fp16", tmp_path / "a.blob", (), {}, tmp_path)
