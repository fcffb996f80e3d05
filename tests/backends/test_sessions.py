"""What every backend's session promises, checked on each of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from realtime.backends.base import Session
from realtime.backends.fake import FakeSession, Step, spec
from realtime.backends.select import BACKENDS, ENGINES, describe, open_session
from realtime.errors import BackendError, UsageError
from tests.backends.graphs import affine

USABLE = [status.name for status in describe() if status.usable and status.name not in (*ENGINES, "native")]
"""Ours has kernels for one kind of network only, see test_native."""
Open = Callable[[], Session]


def fake_affine() -> Session:
    return FakeSession([spec("x", 1, 4)], [spec("y", 1, 4), spec("z", 1, 4)], lambda feeds: {"y": 2 * feeds["x"] + 1, "z": -feeds["x"]})


@pytest.fixture(params=[*USABLE, "fake"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    if request.param == "fake":
        return fake_affine
    return lambda: open_session(affine(tmp_path / "affine.onnx"), request.param)


def test_says_what_it_takes_and_gives(opened: Open) -> None:
    with opened() as session:
        assert isinstance(session, Session)
        assert [(s.name, s.shape, s.dtype) for s in session.specs.inputs] == [("x", (1, 4), np.float32)]
        assert [(s.name, s.shape, s.dtype) for s in session.specs.outputs] == [("y", (1, 4), np.float32), ("z", (1, 4), np.float32)]
        assert session.backend


def test_runs_on_the_bound_buffers(opened: Open) -> None:
    with opened() as session:
        session.inputs["x"][:] = [[0, 1, 2, 3]]
        outputs = session.run()
        np.testing.assert_array_equal(outputs["y"], [[1, 3, 5, 7]])
        np.testing.assert_array_equal(outputs["z"], [[0, -1, -2, -3]])


def test_copies_foreign_feeds_and_reuses_the_outputs(opened: Open) -> None:
    with opened() as session:
        first = session.run({"x": np.full((1, 4), 5, np.float32)})["y"]
        assert first[0, 0] == 11
        second = session.run({"x": np.full((1, 4), 7, np.float32)})["y"]
        assert second is first
        assert first[0, 0] == 15


def test_takes_its_own_buffers_as_feeds(opened: Open) -> None:
    with opened() as session:
        session.inputs["x"].fill(3)
        assert session.run(session.inputs)["y"][0, 0] == 7


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("w", np.zeros((1, 4), np.float32), "no input 'w': expected x"),
        ("x", np.zeros((1, 5), np.float32), r"expected x \(1, 4\) float32, got \(1, 5\) float32"),
        ("x", np.zeros((1, 4), np.float64), r"expected x \(1, 4\) float32, got \(1, 4\) float64"),
    ],
)
def test_refuses_feeds_that_do_not_fit(opened: Open, name: str, value: np.ndarray, sentence: str) -> None:
    with opened() as session, pytest.raises(BackendError, match=sentence):
        session.run({name: value})


def test_a_closed_session_says_so(opened: Open) -> None:
    session = opened()
    session.close()
    session.close()
    with pytest.raises(BackendError, match="closed"):
        session.run()


@pytest.mark.parametrize("backend", USABLE)
def test_an_open_batch_size_is_one(backend: str, tmp_path: Path) -> None:
    with open_session(affine(tmp_path / "batch.onnx", batch="n"), backend) as session:
        assert session.specs.inputs[0].shape == (1, 4)
        assert session.specs.outputs[0].shape == (1, 4)
        assert session.run({"x": np.ones((1, 4), np.float32)})["y"][0, 3] == 3


@pytest.mark.parametrize("backend", USABLE)
def test_any_other_open_size_is_refused(backend: str, tmp_path: Path) -> None:
    with pytest.raises(BackendError, match=r"input x has an open shape .*: export the network with fixed sizes"):
        open_session(affine(tmp_path / "wide.onnx", width="w"), backend)


@pytest.mark.parametrize("backend", USABLE)
@pytest.mark.parametrize("content", [b"", b"no network"])
def test_a_file_that_is_no_network_is_one_sentence(backend: str, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "bad.onnx"
    path.write_bytes(content)
    with pytest.raises(BackendError, match=r"cannot load bad.onnx: .*$"):
        open_session(path, backend)


def test_auto_takes_the_first_usable_backend(tmp_path: Path) -> None:
    with open_session(affine(tmp_path / "affine.onnx")) as session:
        assert session.backend.startswith(USABLE[0])


def test_an_unknown_backend_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"no backend 'cuda9': choose one of auto, {', '.join(BACKENDS)}"):
        open_session(affine(tmp_path / "affine.onnx"), "cuda9")


def test_describe_lists_every_backend_with_version_or_reason() -> None:
    found = describe()
    assert [status.name for status in found] == list(BACKENDS)
    assert all(bool(status.version) == status.usable and bool(status.why) != status.usable for status in found)


def test_the_fake_follows_its_script() -> None:
    script = [Step(), Step(error=RuntimeError("device lost")), Step(nan=True)]
    session = FakeSession([spec("x", 2)], [spec("y", 2)], lambda feeds: {"y": feeds["x"] + 1}, script)
    assert session.run()["y"].tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="device lost"):
        session.run()
    assert np.isnan(session.run()["y"]).all()
    assert session.run()["y"].tolist() == [1, 1]
    assert session.runs == 4
