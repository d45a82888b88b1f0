"""Real models, if there are any beside the checkout: what Python computes is what the C++ program computes, to the last bit."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import retort
from conftest import ROOT
from onnx import numpy_helper
from retort import _native

MODELS = sorted(path.parent for path in (ROOT.parent / "shared" / "models").glob("*/model.onnx"))


def inputs_of(folder: Path, names: list[str]) -> dict[str, Any]:
    """The arrays of input_K.pb: by name, or K is the position."""
    feed = {}
    for position, name in enumerate(names):
        tensor = onnx.load_tensor(str(folder / f"input_{position}.pb"))
        feed[tensor.name if tensor.name in names else name] = numpy_helper.to_array(tensor)
    return feed


@pytest.mark.skipif(not MODELS, reason="no models beside the checkout")
@pytest.mark.parametrize("model", MODELS, ids=lambda path: path.name)
def test_same_bytes_as_the_program_in_cpp(model: Path, run_cases: str, tmp_path: Path) -> None:
    """run_cases compares its results with those of Python, and allows no difference."""
    options = retort.SessionOptions()
    options.intra_op_num_threads = 1
    session = retort.InferenceSession(model / "model.onnx", options)
    feed = inputs_of(model, [argument.name for argument in session.get_inputs()])
    case = tmp_path / "case"
    case.mkdir()
    for file in model.glob("input_*.pb"):
        shutil.copy(file, case)
    results = session.run(None, feed)
    for position, (argument, result) in enumerate(zip(session.get_outputs(), results)):
        tensor = numpy_helper.from_array(result, argument.name)
        (case / f"output_{position}.pb").write_bytes(tensor.SerializeToString())
    manifest, rows = tmp_path / "manifest", tmp_path / "rows.tsv"
    manifest.write_text("\t".join([model.name, "close", "0", "0", str(model / "model.onnx"), str(case)]) + "\n", encoding="utf-8")
    subprocess.run([run_cases, _native.library_path(), manifest, rows, "--threads", "1"], check=True, timeout=300)
    (row,) = rows.read_text(encoding="utf-8").splitlines()
    assert row.split("\t")[1] == "pass", row
    assert any(np.asarray(result).size for result in results)
