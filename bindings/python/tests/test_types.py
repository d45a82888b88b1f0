"""The types of the package: mypy --strict and pyright accept the package and these tests; stubs and extension agree."""

from __future__ import annotations

import ast
import glob
import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest
import retort
from common import FOLDER, TOOLS
from retort import _native

PACKAGE = os.path.dirname(os.path.abspath(retort.__file__))
# Tests that say what types they use. The others drive wheels and programs.
TYPED = [os.path.join(FOLDER, f"test_{name}.py") for name in ("bind", "install", "packages", "reports", "sessions")]


def run(command: list[str], folder: str) -> str:
    paths = os.pathsep.join([os.path.dirname(PACKAGE), FOLDER, TOOLS])
    environment = {**os.environ, "PYTHONPATH": paths, "MYPYPATH": paths}
    done = subprocess.run(command, capture_output=True, cwd=folder, env=environment, check=False)
    text = done.stdout.decode() + done.stderr.decode()
    assert done.returncode == 0, text
    return text


def require(module: str) -> None:
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed")


@pytest.mark.slow
def test_mypy_accepts_package_and_tests(tmp_path: pathlib.Path) -> None:
    require("mypy")
    command = [sys.executable, "-m", "mypy", "--strict", f"--cache-dir={tmp_path}"]
    run([*command, "-p", "retort"], os.path.dirname(PACKAGE))
    run([*command, *TYPED], FOLDER)


@pytest.mark.slow
def test_pyright_accepts_package_and_tests(tmp_path: pathlib.Path) -> None:
    require("pyright")
    config = tmp_path / "pyrightconfig.json"
    included = [PACKAGE, *TYPED]
    extra = [os.path.dirname(PACKAGE), FOLDER, TOOLS]
    # The extension has no source: its stub is all that a checker can see.
    rules = '"reportMissingModuleSource": "none", "pythonVersion": "3.10"'
    as_list = lambda paths: "[" + ", ".join(f'"{path}"' for path in paths) + "]"  # noqa: E731
    config.write_text(f'{{"include": {as_list(included)}, "extraPaths": {as_list(extra)}, {rules}}}', encoding="utf-8")
    run([sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "-p", str(config)], str(tmp_path))


@pytest.mark.slow
def test_a_wrong_program_is_refused(tmp_path: pathlib.Path) -> None:
    require("mypy")
    program = tmp_path / "program.py"
    program.write_text(
        "import retort\n"
        "session = retort.InferenceSession(3)\n"
        "session.run('x')\n"
        "retort.no_such_name\n"
        "session.get_inputs()[0].shape + 1\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "mypy", "--strict", f"--cache-dir={tmp_path}", str(program)]
    environment = {**os.environ, "MYPYPATH": os.path.dirname(PACKAGE)}
    done = subprocess.run(command, capture_output=True, cwd=tmp_path, env=environment, check=False)
    text = done.stdout.decode()
    for line in (2, 3, 4, 5):
        assert f"program.py:{line}: error:" in text, text


def stub_names() -> dict[str, set[str]]:
    """For each class of the stub its members, and under "" the functions and classes."""
    with open(os.path.join(PACKAGE, "_native.pyi"), encoding="utf-8") as file:
        tree = ast.parse(file.read())
    names: dict[str, set[str]] = {"": set()}
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names[""].add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names[""].add(node.target.id)
        if isinstance(node, ast.ClassDef):
            names[node.name] = {
                member.target.id if isinstance(member, ast.AnnAssign) else member.name
                for member in node.body
                if isinstance(member, ast.FunctionDef)
                or (isinstance(member, ast.AnnAssign) and isinstance(member.target, ast.Name))
            }
    return names


def test_the_stub_has_what_the_extension_has() -> None:
    names = stub_names()
    extension = {name for name in dir(_native) if not name.startswith("_")}
    assert extension - names[""] == set()
    stub = {name for name in names[""] if not name.startswith("_")}
    assert stub - extension == set()
    for cls in extension & set(names):
        value = getattr(_native, cls)
        if not isinstance(value, type) or issubclass(value, BaseException) or hasattr(value, "__members__"):
            continue
        members = {name for name in vars(value) if not name.startswith("_")}
        declared = {name for name in names[cls] if not name.startswith("_")}
        assert members - declared == set(), cls
        assert declared - set(dir(value)) == set(), cls


def test_the_package_is_marked_as_typed() -> None:
    assert os.path.exists(os.path.join(PACKAGE, "py.typed"))
    for path in glob.glob(os.path.join(PACKAGE, "**", "*.py"), recursive=True):
        with open(path, encoding="utf-8") as file:
            tree = ast.parse(file.read())
        assert ast.get_docstring(tree), f"{path} has no text"
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
                nested = any(node in getattr(outer, "body", []) for outer in ast.walk(tree) if isinstance(outer, ast.FunctionDef))
                overloads = [d for d in getattr(node, "decorator_list", []) if isinstance(d, ast.Name) and d.id == "overload"]
                if not nested and not overloads:
                    assert ast.get_docstring(node) or node.name == "wrapper", f"{path}: {node.name} has no text"
