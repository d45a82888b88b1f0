"""The official cases of onnx, through retort.backend."""

from __future__ import annotations

import os
import re
import unittest
from typing import Any

import numpy as np
import onnx
import pytest
import retort.backend
from models import add, made
from onnx import helper
from onnx.backend.test import BackendTest
from onnx.backend.test.loader import load_model_tests
from retort import RunOptions
from retort.backend.backend import OnnxRuntimeBackend
from retort.backend.backend_rep import OnnxRuntimeBackendRep

# The thousand columns of this model's last product are equal, so that their order after rounding decides the result:
# it runs with session.strict, as in the tests of the C interface.
LAST_BITS = "squeezenet_old"
# Cases whose results are random: type and shape count.
RANDOM = r"test_(bernoulli|training_dropout(?!_zero))"


class AnyOpset(OnnxRuntimeBackend):
    """Cases of operator sets that are in development count as well."""

    allowReleasedOpsetsOnly = False

    @classmethod
    def prepare(cls, model: Any, device: str | None = None, **kwargs: Any) -> OnnxRuntimeBackendRep:
        if isinstance(model, onnx.ModelProto) and model.graph.name == LAST_BITS:
            options = retort.SessionOptions()
            options.add_session_config_entry("session.strict", "1")
            return OnnxRuntimeBackendRep(retort.InferenceSession(model.SerializeToString(), options))
        return super().prepare(model, device, **kwargs)


class Suite(BackendTest):
    """The suite of onnx, which cannot compare sequences that have scalars."""

    @classmethod
    def assert_similar_outputs(
        cls, ref_outputs: Any, outputs: Any, rtol: float, atol: float, model_dir: str | None = None
    ) -> None:
        if isinstance(outputs, np.ndarray):
            ref_outputs, outputs = [ref_outputs], [outputs]
        super().assert_similar_outputs(ref_outputs, outputs, rtol, atol, model_dir)


def cases() -> dict[str, type[unittest.TestCase]]:
    suite = Suite(AnyOpset, __name__)
    suite.exclude(r"_cuda$")
    suite.exclude(RANDOM)
    return dict(suite.test_cases)


@pytest.mark.slow
@pytest.mark.retort_only("official ONNX Runtime passes fewer of the cases")
@pytest.mark.parametrize("name", sorted(cases()))
def test_cases_of_onnx(name: str) -> None:
    """All cases of a kind: those of one node, of small models, of models that PyTorch exported, of known networks."""
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(cases()[name]).run(result)
    wrong = [f"{test}: {text.strip().splitlines()[-1]}" for test, text in result.failures + result.errors]
    assert wrong == []
    least = {"OnnxBackendNodeModelTest": 1800, "OnnxBackendRealModelTest": 9, "OnnxBackendPyTorchOperatorModelTest": 30}
    assert result.testsRun - len(result.skipped) >= least.get(name, 20)


@pytest.mark.retort_only("official ONNX Runtime does not run all of them")
def test_random_cases_have_the_right_form() -> None:
    found = [case for case in load_model_tests(kind="node") if re.match(RANDOM, case.name)]
    assert len(found) >= 10
    for case in found:
        for inputs, outputs in case.data_sets:
            results = AnyOpset.run_model(case.model, list(inputs))
            assert [(each.dtype, each.shape) for each in results] == [(each.dtype, each.shape) for each in outputs]


def test_prepare_takes_every_form_of_a_model(tmp_path: Any) -> None:
    ones = np.ones(2, np.float32)
    path = tmp_path / "model.onnx"
    path.write_bytes(add())
    session = retort.InferenceSession(add())
    for model in (add(), str(path), onnx.load_from_string(add()), session):
        prepared = retort.backend.prepare(model, "CPU", intra_op_num_threads=1)
        assert retort.backend.prepare(prepared) is prepared
        assert prepared.run([ones, ones])[0].tolist() == [2, 2]
    assert retort.backend.run(add(), [ones, ones])[0].tolist() == [2, 2]


def test_a_single_value_is_the_only_input() -> None:
    model = made([helper.make_node("Neg", ["x"], ["y"])], {"x": []}, {"y": []})
    assert retort.backend.run(model, np.float32(3))[0] == -3
    assert retort.backend.run(model, [np.float32(3)])[0] == -3
    with pytest.raises(RuntimeError, match="the model has 2 inputs"):
        retort.backend.run(add(), np.ones(2, np.float32))


def test_devices() -> None:
    assert retort.backend.supports_device("CPU")
    assert not retort.backend.supports_device("TPU")
    assert retort.backend.is_compatible(add())
    with pytest.raises(RuntimeError, match="device 'TPU' is not in this build"):
        retort.backend.prepare(add(), "TPU")


def test_options_that_write_files_are_refused() -> None:
    with pytest.raises(RuntimeError, match=r"SessionOptions.optimized_model_filepath cannot be set"):
        retort.backend.prepare(add(), optimized_model_filepath="model.onnx")
    prepared = retort.backend.prepare(add())
    ones = np.ones(1, np.float32)
    with pytest.raises(RuntimeError, match=r"RunOptions.terminate cannot be set"):
        prepared.run([ones, ones], terminate=True)
    assert prepared.run([ones, ones], logid="x", unknown=3)[0] == 2
    assert isinstance(RunOptions().logid, str)


def test_operator_sets_that_are_not_released_are_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    model = made([helper.make_node("Neg", ["x"], ["y"])], {"x": [1]}, {"y": [1]}, opset=999)
    supported, message = OnnxRuntimeBackend.is_opset_supported(model)
    assert not supported and "999" in message
    monkeypatch.setattr(OnnxRuntimeBackend, "allowReleasedOpsetsOnly", False)
    assert OnnxRuntimeBackend.is_opset_supported(model) == (True, "")
    with pytest.raises(NotImplementedError, match="run_model"):
        OnnxRuntimeBackend.run_node(None, None)
    assert os.environ.get("ALLOW_RELEASED_ONNX_OPSET_ONLY", "1") == "1"
