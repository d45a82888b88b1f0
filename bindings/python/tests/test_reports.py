"""inspect, profile, diff, convert and bench, and the command-line tool that they start."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import pytest
import retort
from models import add, model
from onnx import helper
from retort import _native, _tool


@pytest.fixture(autouse=True)
def tool() -> str:
    try:
        return _tool.path()
    except FileNotFoundError as error:
        pytest.skip(str(error))


def test_inspect_describes_a_model(digits: pathlib.Path) -> None:
    found = retort.inspect(digits, shapes={"image": [2, 1, 8, 8]})
    values = found["graph"]["values"]
    assert values[found["graph"]["inputs"][0]]["name"] == "image"
    assert {node["op"] for node in found["graph"]["nodes"]} >= {"Conv", "Gemm"}
    assert found["memory"]["weights"] > 0
    assert repr(found).startswith("<Inspection of 'digits': image float32[")
    assert found.page is not None and found.page.lstrip().startswith("<!")
    assert "<iframe srcdoc=" in found._repr_html_()


def test_models_are_paths_bytes_and_protos(digits: pathlib.Path, tmp_path: pathlib.Path) -> None:
    by_path = retort.inspect(str(digits))
    assert retort.inspect(digits.read_bytes())["graph"] == by_path["graph"]
    assert retort.inspect(onnx.load(str(digits)))["graph"] == by_path["graph"]
    with pytest.raises(TypeError, match="got int, expected a path"):
        retort.inspect(3)
    by_path.save_html(tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size > 10000


def test_profile_tells_where_time_goes(digits: pathlib.Path, tmp_path: pathlib.Path) -> None:
    image = np.zeros((4, 1, 8, 8), np.float32)
    found = retort.profile(digits, {"image": image}, repeat=5, trace=tmp_path / "trace.json")
    assert found["median_ms"] > 0
    convolutions = [node["op"] for node in found["nodes"] if node["op"].startswith("Conv")]
    # Both engines run the activation inside the convolution. The official one calls that Conv.
    assert convolutions == ["Conv+Relu" if _native.is_retort() else "Conv"] * 2
    assert found["nodes"][0]["share"] >= found["nodes"][-1]["share"]
    assert (tmp_path / "trace.json").exists()
    assert found.page is not None
    assert repr(found).startswith("<Profile: ")


def test_diff_needs_something_to_compare_with() -> None:
    with pytest.raises(ValueError, match="give against, against_model or plugins"):
        retort.diff(add())


def test_diff_finds_the_node_that_differs() -> None:
    def scaled(factor: float) -> bytes:
        weight = helper.make_tensor("w", 1, [1], [factor])
        nodes = [
            helper.make_node("Neg", ["x"], ["a"], "first"),
            helper.make_node("Mul", ["a", "w"], ["b"], "second"),
            helper.make_node("Exp", ["b"], ["y"], "third"),
        ]
        return model(nodes, {"x": [4]}, {"y": [4]}, weights=[weight])

    same = retort.diff(scaled(0.5), against_model=scaled(0.5))
    assert same["agree"] is True
    assert repr(same).startswith("<Difference: none")
    other = retort.diff(scaled(0.5), {"x": np.ones(4, np.float32)}, against_model=scaled(0.75))
    assert other["agree"] is False
    assert "second" in str(dict(other))
    assert "<table>" in other._repr_html_()
    with pytest.raises(TypeError, match="against: got bytes, expected the path of a library; .* as against_model"):
        retort.diff(scaled(0.5), against=scaled(0.75))  # type: ignore[arg-type]


def test_convert_writes_and_reports(digits: pathlib.Path, tmp_path: pathlib.Path) -> None:
    report = retort.convert(digits)
    assert {row["name"] for row in report["operators"]} >= {"Conv", "Gemm"}
    target = tmp_path / "model.ort"
    written = retort.convert(digits, target)
    assert written["bytes"] == target.stat().st_size
    image = np.ones((1, 1, 8, 8), np.float32)
    # The official engine changes the layout of tensors at the highest level, but not in models in ORT format, and
    # its convolutions sum in another order then.
    options = retort.SessionOptions()
    options.graph_optimization_level = retort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    expected = retort.InferenceSession(digits, options).run(None, {"image": image})[0]
    assert np.array_equal(retort.InferenceSession(target, options).run(None, {"image": image})[0], expected)
    retort.convert(digits, tmp_path / "outside.onnx", external="weights.bin", threshold=16)
    assert (tmp_path / "weights.bin").stat().st_size > 0


def test_bench_measures() -> None:
    found = retort.bench(add(), shapes={"x": [4], "y": [4]}, seconds=0.1, starts=1, threads=[1, 2])
    assert [row["threads"] for row in found["rows"]] == [1, 2]
    assert found["rows"][0]["sides"][0]["median_ms"] > 0
    assert repr(found).startswith("<Benchmark: 1 threads: ")
    assert "median_ms" in found._repr_html_()


def test_errors_of_the_tool_are_exceptions() -> None:
    with pytest.raises(retort.errors.NoSuchFile, match="no/such/model.onnx"):
        retort.inspect("/no/such/model.onnx")
    with pytest.raises(ValueError, match="format"):
        retort.convert(add(), "out.onnx", format="pickle")


def test_the_module_is_the_tool() -> None:
    done = subprocess.run([sys.executable, "-m", "retort", "--version"], capture_output=True, check=True)
    assert done.stdout.startswith(b"retort ") or b"." in done.stdout


def test_a_missing_tool_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RETORT_TOOL", os.path.join("no", "such", "tool"))
    with pytest.raises(FileNotFoundError, match="no command-line tool: .*such.*RETORT_TOOL"):
        retort.inspect(add())
