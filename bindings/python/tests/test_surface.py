"""The public names and signatures are those of onnxruntime."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys

import pytest
import retort
from common import FOLDER, TOOLS, official_folder

import compare_surface  # isort: skip
import names_page  # isort: skip
import surface  # isort: skip

TABLES = ("onnxruntime_1.31.1.tsv", "onnxruntime_1.32.0.tsv")
# Names of 1.31.1 that 1.32.0 has no more, or has with another signature.
GONE = {
    "capi._pybind_state.OrtValue.from_dlpack",
    "capi._pybind_state.OrtValueVector.bool_tensor_indices",
    "capi._pybind_state.OrtValueVector.push_back",
    "capi._pybind_state.is_dlpack_uint8_tensor",
    "capi.onnxruntime_pybind11_state.is_dlpack_uint8_tensor",
}


@pytest.fixture(scope="module")
def rows() -> list[surface.Row]:
    return surface.collect("retort")


def table(name: str) -> list[surface.Row]:
    return compare_surface.read_table(os.path.join(FOLDER, "data", name))


@pytest.mark.parametrize("name", TABLES)
def test_every_name_is_there_with_the_same_signature(name: str, rows: list[surface.Row]) -> None:
    verdicts = compare_surface.compare(table(name), rows)
    assert len(verdicts) > 600
    wrong = [
        verdict
        for verdict in verdicts
        if verdict.verdict in ("missing", "different") and not (verdict.name in GONE and name == TABLES[0])
    ]
    assert wrong == []


def test_extended_signatures_are_the_listed_ones(rows: list[surface.Row]) -> None:
    verdicts = compare_surface.compare(table(TABLES[1]), rows)
    extended = {verdict.name for verdict in verdicts if verdict.verdict == "extended" and verdict.kind != "property"}
    assert extended == set(compare_surface.EXTENDED)


def test_a_missing_or_changed_name_is_found(rows: list[surface.Row]) -> None:
    official = table(TABLES[1])
    without = [row for row in rows if row.name != "OrtValue.shape"]
    assert [v.name for v in compare_surface.compare(official, without) if v.verdict == "missing"] == ["OrtValue.shape"]
    changed = [
        row._replace(signature=row.signature.replace("device_id=0", "device_id=1"))
        if row.name == "IOBinding.bind_output"
        else row
        for row in rows
    ]
    found = [v.name for v in compare_surface.compare(official, changed) if v.verdict == "different"]
    assert found == ["IOBinding.bind_output"]


def test_tables_are_those_of_the_installed_package() -> None:
    folder = official_folder()
    if folder is None:
        pytest.skip("the official package is not installed")
    environment = {**os.environ, "PYTHONPATH": folder}
    environment.pop("RETORT_LIBRARY", None)
    say = [sys.executable, "-c", "import onnxruntime; print(onnxruntime.__version__)"]
    version = subprocess.run(say, capture_output=True, check=True, env=environment).stdout.decode().strip()
    path = os.path.join(FOLDER, "data", f"onnxruntime_{version}.tsv")
    if not os.path.exists(path):
        pytest.skip(f"there is no table of {version}")
    list_names = [sys.executable, os.path.join(TOOLS, "surface.py"), "onnxruntime"]
    found = subprocess.run(list_names, capture_output=True, check=True, env=environment).stdout.decode()
    with open(path, encoding="utf-8") as file:
        assert found == file.read()


def test_the_table_of_the_documentation_is_that_of_today() -> None:
    if not os.path.exists(names_page.PAGE):
        pytest.skip("the documentation is not here")
    with open(names_page.PAGE, encoding="utf-8") as file:
        text = file.read()
    assert names_page.page(text) == text, "run bindings/python/tools/names_page.py --update"


def test_functions_of_the_package_tell_their_signatures() -> None:
    for name in ("InferenceSession", "IOBinding", "OrtValue", "ModelCompiler", "Binding"):
        cls = getattr(retort, name)
        for member, function in vars(cls).items():
            if inspect.isfunction(function) and not member.startswith("_"):
                assert inspect.signature(function)
                assert function.__doc__, f"{name}.{member} has no text"
                annotations = inspect.get_annotations(function)
                assert "return" in annotations, f"{name}.{member} has no annotation"


def test_all_names_of_the_package_can_be_imported() -> None:
    for name in retort.__all__:
        assert getattr(retort, name, retort) is not retort or name == "import_capi_exception"
    assert set(retort.__all__) <= set(dir(retort))
