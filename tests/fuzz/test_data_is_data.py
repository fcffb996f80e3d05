"""Nothing that is read is ever run: no pickles, no evaluation, no shell, in all of the program's own code."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from realtime.vision.mesh.topology import load_topology

ROOT = Path(__file__).parents[2]
FILES = [ROOT / "build_engines.py", *(path for folder in ("realtime", "benchmarks", "scripts") for path in (ROOT / folder).rglob("*.py"))]
MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal", "yaml", "torch", "xml", "telnetlib", "xmlrpc"}
CALLS = {"eval", "exec", "compile", "__import__", "os.system", "os.popen", "extractall", "extract", "unpack_archive", "cv2.FileStorage"}


def called(node: ast.Call) -> str:
    return ast.unparse(node.func)


def dangers(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
        if isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        yield from (f"import {name}" for name in names if name.split(".")[0] in MODULES)
        if isinstance(node, ast.Call):
            yield from _dangers_of(node)


def _dangers_of(node: ast.Call) -> Iterator[str]:
    name, keywords = called(node), {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
    if name in CALLS or (name.rpartition(".")[2] in {"extractall", "extract", "unpack_archive"}):
        yield name
    if name in ("np.load", "numpy.load") and keywords.get("allow_pickle") != "False":
        yield f"{name} without allow_pickle=False"
    if keywords.get("shell", "False") != "False":
        yield f"{name} by a shell"


def test_no_code_is_made_of_data():
    found = {str(path.relative_to(ROOT)): list(dangers(ast.parse(path.read_text(encoding="utf-8")))) for path in FILES}
    assert len(found) > 100
    assert {name: bad for name, bad in found.items() if bad} == {}


def test_the_search_finds_what_it_looks_for():
    good = "np.load(f, allow_pickle=False)"
    bad = ("import pickle", "from yaml import load", "np.load(f)", "eval(x)", "z.extractall()", "subprocess.run(c, shell=True)")
    assert list(dangers(ast.parse(good))) == []
    assert all(len(list(dangers(ast.parse(line)))) == 1 for line in bad)


class Attack:
    """What numpy would call while it loads the pickle that this makes."""

    def __reduce__(self):
        return (exit, (3,))


def test_a_pickle_in_an_array_file_is_refused(tmp_path):
    path = tmp_path / "face.npz"
    np.savez(path, tri=np.array([Attack()], dtype=object), uv=np.zeros((3, 2)), xyz=np.zeros((3, 3)))
    with pytest.raises(ValueError, match="allow_pickle=False"):
        load_topology(path)
