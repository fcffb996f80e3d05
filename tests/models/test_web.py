"""Downloads from addresses: continued, capped, and never over plain http."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from realtime.models.web import HttpDownload, check_address
from realtime.models.wheels import DownloadError
from tests.models.server import Server, serving

CONTENT = bytes(range(256)) * 20


def download(server: Server, path: Path, most: int = len(CONTENT), schemes: tuple[str, ...] = ("http",)) -> list[int]:
    steps: list[int] = []
    HttpDownload(schemes)(f"{server.address}/model.onnx", path, most, steps.append)
    return steps


def test_fetches_and_reports(tmp_path: Path) -> None:
    with serving(CONTENT) as server:
        steps = download(server, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert steps[-1] == len(CONTENT)


def test_goes_on_where_an_earlier_one_broke_off(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(CONTENT[:1000])
    with serving(CONTENT) as server:
        download(server, tmp_path / "file")
    assert server.requests == ["bytes=1000-"]
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_takes_a_broken_connection_up_again(tmp_path: Path) -> None:
    with serving(CONTENT, lambda server: setattr(server, "breaks_after", 2000)) as server:
        download(server, tmp_path / "file")
    assert server.requests == ["", "bytes=2000-", "bytes=4000-"]
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_keeps_what_came_when_it_gives_up(tmp_path: Path) -> None:
    with serving(CONTENT, lambda server: setattr(server, "breaks_after", 1000)) as server, pytest.raises(DownloadError, match="broke off"):
        download(server, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT[:4000]


def test_a_server_that_knows_no_ranges_sends_it_all(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * 1000)
    with serving(CONTENT, lambda server: setattr(server, "honours_ranges", False)) as server:
        download(server, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_begins_anew_when_there_is_more_than_the_file_has(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(CONTENT + b"more")
    with serving(CONTENT) as server:
        download(server, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_more_than_the_file_may_have_is_no_beginning_of_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * 9000)
    with serving(CONTENT + b"y" * 9000) as server, pytest.raises(DownloadError, match="look for it elsewhere"):
        download(server, tmp_path / "file")
    assert server.requests == [""], "it was not asked to go on"


@pytest.mark.parametrize("announces", [True, False])
def test_no_more_than_expected_is_ever_written(announces: bool, tmp_path: Path) -> None:
    long = serving(CONTENT, lambda server: setattr(server, "announces", announces))
    why = f"announces {len(CONTENT)} bytes where at most 3000" if announces else "sends more than the 3000 bytes"
    with long as server, pytest.raises(DownloadError, match=f"{why} .*look for it elsewhere"):
        download(server, tmp_path / "file", most=3000)
    assert not announces or not (tmp_path / "file").stat().st_size, "nothing of what is known to be too much is fetched"
    assert not (tmp_path / "file").exists() or (tmp_path / "file").stat().st_size <= 3000


@pytest.mark.parametrize(
    ("address", "good"),
    [
        ("https://example.org/a.onnx", True),
        ("http://example.org/a.onnx", False),
        ("file:///etc/passwd", False),
        ("ftp://example.org/a", False),
        ("https:///a", False),
        ("//example.org/a", False),
        ("https://[", False),
        ("", False),
    ],
)
def test_only_https_is_trusted(address: str, good: bool, tmp_path: Path) -> None:
    if good:
        check_address(address)
        return
    with pytest.raises(DownloadError, match="not trusted"):
        HttpDownload()(address, tmp_path / "file", 10, lambda done: None)
    assert not (tmp_path / "file").exists()


@pytest.mark.parametrize("target", ["ftp://127.0.0.1/moved", "file:///etc/hostname"])
def test_a_redirect_out_of_the_trusted_schemes_is_refused(target: str, tmp_path: Path) -> None:
    with serving(CONTENT, lambda server: setattr(server, "redirect", target)) as server, pytest.raises(DownloadError, match="not trusted"):
        download(server, tmp_path / "file")
    assert not (tmp_path / "file").exists()


def test_a_redirect_within_them_is_followed(tmp_path: Path) -> None:
    with serving(CONTENT, lambda server: setattr(server, "redirect", "/moved")) as server:
        download(server, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT


def _status(code: int) -> Callable[[Server], None]:
    return lambda server: setattr(server, "status", code)


@pytest.mark.parametrize(("code", "sentence"), [(403, "with a browser"), (404, "no such file"), (500, "answers 500")])
def test_refusals_say_what_to_do(code: int, sentence: str, tmp_path: Path) -> None:
    with serving(CONTENT, _status(code)) as server, pytest.raises(DownloadError, match=sentence):
        download(server, tmp_path / "file")
    assert not (tmp_path / "file").exists()


def test_nobody_there_is_a_sentence(tmp_path: Path) -> None:
    with serving(CONTENT) as server:
        gone = server
    with pytest.raises(DownloadError, match="the connection failed"):
        download(gone, tmp_path / "file")
