"""The types of the package: mypy --strict and pyright accept the package and these tests; stubs and extension agree."""

from __future__ import annotations

import ast
import glob
import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import pytest
import retort
from common import FOLDER, PACKAGES, TOOLS
from retort import _native

pytestmark = pytest.mark.retort_only("the types are the package's, whatever library it runs on")
PACKAGE = os.path.dirname(os.path.abspath(retort.__file__))
# Tests that say what types they use. The others drive wheels and programs.
NAMES = ("bind", "devices", "install", "interrupt", "options", "packages", "process", "reports", "runs", "sessions")
TYPED = [os.path.join(FOLDER, f"test_{name}.py") for name in NAMES]

# Packages that are not needed for the tests, or have no types.
WITHOUT_TYPES = """
[mypy]
[mypy-ray.*,pyspark.*,pandas.*]
ignore_missing_imports = True
follow_imports = skip
[mypy-retort.ray]
disallow_untyped_decorators = False
disable_error_code = attr-defined
"""

# Modules over packages that have no types, or are not installed.
WITHOUT_TYPES_OF_OTHERS = ("retort.ray.", "retort.spark.")
# Strict, except where that is about the types of others (NumPy's arrays without parameters), about modules of one
# package that use each other's names, and about checks of arguments, which programs without types need.
PYRIGHT: dict[str, str] = {
    "typeCheckingMode": "strict",
    "reportMissingModuleSource": "none",  # the extension has no source: its stub is all that a checker can see
    "reportUnknownArgumentType": "none",
    "reportUnknownLambdaType": "none",
    "reportUnknownMemberType": "none",
    "reportUnknownVariableType": "none",
    "reportPrivateUsage": "none",
    "reportUnnecessaryIsInstance": "none",
}


def run(command: list[str], folder: str) -> str:
    paths = os.pathsep.join([*PACKAGES, FOLDER, TOOLS])
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
    config = tmp_path / "mypy.ini"
    config.write_text(WITHOUT_TYPES, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", f"--cache-dir={tmp_path}", f"--config-file={config}"]
    run([*command, "-p", "retort"], FOLDER)
    run([*command, *TYPED], FOLDER)


@pytest.mark.slow
def test_pyright_accepts_package_and_tests(tmp_path: pathlib.Path) -> None:
    require("pyright")
    config = tmp_path / "pyrightconfig.json"
    # pyright ignores absolute paths, and is content if no file is left.
    included = [os.path.relpath(path, tmp_path) for path in (PACKAGE, *TYPED)]
    extra = [os.path.dirname(PACKAGE), FOLDER, TOOLS]
    without_types = [os.path.join(included[0], name) for name in ("ray.py", "spark.py")]
    settings = {"include": included, "ignore": without_types, "extraPaths": extra, "pythonVersion": "3.10", **PYRIGHT}
    config.write_text(json.dumps(settings), encoding="utf-8")
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "-p", str(config), "--outputjson"]
    done = json.loads(run(command, str(tmp_path)))
    assert done["summary"]["filesAnalyzed"] >= len(glob.glob(os.path.join(PACKAGE, "*.py"))) + len(TYPED)


@pytest.mark.slow
def test_pyright_knows_the_type_of_every_public_name(tmp_path: pathlib.Path) -> None:
    require("pyright")
    command = [sys.executable, "-m", "pyright", "--verifytypes", "retort", "--ignoreexternal", "--outputjson"]
    paths = os.pathsep.join([*PACKAGES, FOLDER, TOOLS])
    # It finds the interpreter, and with it the packages, on PATH only.
    places = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    environment = {**os.environ, "PYTHONPATH": paths, "PATH": places}
    done = subprocess.run(command, capture_output=True, cwd=tmp_path, env=environment, check=False)
    report = json.loads(done.stdout)["typeCompleteness"]
    assert report["exportedSymbolCounts"]["withKnownType"] > 200
    # A second name of a function has no annotation, and every checker infers the same type.
    known = ("isTypeKnown", "isTypeAmbiguous")
    exported = (symbol for symbol in report["symbols"] if symbol["isExported"])
    unknown = {symbol["name"] for symbol in exported if not any(symbol[key] for key in known)}
    assert {name for name in unknown if not name.startswith(WITHOUT_TYPES_OF_OTHERS)} == set()


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
    environment = {**os.environ, "MYPYPATH": os.pathsep.join(PACKAGES)}
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
    assert retort.ModelPackage  # its module adds a method to a class of the extension
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


def without_text(path: str, body: list[ast.stmt]) -> list[str]:
    """Public functions and classes, and public members of these, that have no text."""
    found = []
    for node in body:
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) or node.name.startswith("_"):
            continue
        overload = any(isinstance(each, ast.Name) and each.id == "overload" for each in node.decorator_list)
        if not ast.get_docstring(node) and not overload:
            found.append(f"{path}: {node.name}")
        if isinstance(node, ast.ClassDef):
            found += without_text(path, node.body)
    return found


def test_everything_public_has_a_text() -> None:
    assert os.path.exists(os.path.join(PACKAGE, "py.typed"))
    found = []
    for path in glob.glob(os.path.join(PACKAGE, "**", "*.py"), recursive=True):
        with open(path, encoding="utf-8") as file:
            tree = ast.parse(file.read())
        if not ast.get_docstring(tree):
            found.append(path)
        found += without_text(path, tree.body)
    assert found == []
