"""session.bind(): inputs and outputs that stay bound, results by name, the ledger of copies."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
import retort
from models import add, decoder, model
from onnx import TensorProto, helper


def session() -> retort.InferenceSession:
    return retort.InferenceSession(add())


def test_arrays_are_read_and_written_in_place() -> None:
    x, y, z = np.arange(3, dtype=np.float32), np.ones(3, np.float32), np.zeros(3, np.float32)
    binding = session().bind(x=x, y=y, z=z)
    results = binding.run()
    assert results["z"] is z
    assert z.tolist() == [1, 2, 3]
    x += 10
    binding.run()
    assert z.tolist() == [11, 12, 13]


def test_results_that_the_engine_allocates_stay_as_they_are() -> None:
    binding = session().bind(x=np.zeros(2, np.float32), y=np.ones(2, np.float32))
    first = binding.run()["z"]
    second = binding.run(x=np.full(2, 5, np.float32))["z"]
    assert first.tolist() == [1, 1]
    assert second.tolist() == [6, 6]


def test_shapes_may_change_from_run_to_run() -> None:
    binding = session().bind()
    for length in (1, 5, 3):
        ones = np.ones(length, np.float32)
        assert binding.run(x=ones, y=ones)["z"].tolist() == [2.0] * length


def test_results_are_a_mapping_in_the_order_of_the_model() -> None:
    results = session().bind(x=np.zeros(2, np.float32), y=np.ones(2, np.float32)).run()
    assert list(results) == ["z"]
    assert len(results) == 1
    assert "z" in results
    value = results.value("z")
    assert isinstance(value, retort.OrtValue)
    assert value.shape() == [2]
    with pytest.raises(KeyError, match="no output 'q'; outputs: z"):
        results["q"]


def test_a_result_is_an_input_of_the_next_run_without_a_copy() -> None:
    binding = session().bind(x=np.ones(4, np.float32), y=np.ones(4, np.float32))
    results = binding.run()
    for expected in (3, 4, 5):
        results = binding.run(x=results.value("z"))
        assert results["z"].tolist() == [expected] * 4


def test_names_that_are_no_identifiers_are_given_in_a_dict() -> None:
    binding = session().bind({"x": np.zeros(1, np.float32)}, y=np.ones(1, np.float32))
    assert binding.run({"x": np.ones(1, np.float32)})["z"].tolist() == [2]


def test_lists_and_numbers_get_the_type_of_the_input() -> None:
    assert session().bind(x=[1, 2], y=[3.5, 4]).run()["z"].tolist() == [4.5, 6.0]


def unaligned(values: list[float]) -> np.ndarray:
    array = np.ndarray((len(values),), np.float32, bytearray(4 * len(values) + 1), 1)
    array[:] = values
    return array


@pytest.mark.parametrize(
    ("array", "reason"),
    [(unaligned([1, 2]), "is not aligned"), (np.array([1, 2], np.dtype(np.float32).newbyteorder()), "is in another byte order")],
    ids=["unaligned", "swapped"],
)
def test_arrays_that_no_run_could_read_or_write_are_refused(array: np.ndarray, reason: str) -> None:
    ones = np.ones(2, np.float32)
    binding = session().bind(x=ones, y=ones)
    for name in ("x", "z"):
        with pytest.raises(ValueError, match=f"'{name}': the array {reason}"):
            binding.bind({name: array})
    assert binding.run(x=array)["z"].tolist() == [2, 3]  # one run reads a copy


@pytest.mark.retort_only("official ONNX Runtime has no Identity of int4")
def test_elements_that_share_bytes_and_strings_are_no_targets() -> None:
    four = np.array([1, 2, 3], ml_dtypes.int4)
    same = [helper.make_node("Identity", ["x"], ["y"])]
    small = retort.InferenceSession(model(same, {"x": (TensorProto.INT4, ["n"])}, {"y": (TensorProto.INT4, ["n"])}))
    with pytest.raises(ValueError, match="'y': the array has a whole byte for each int4"):
        small.bind(y=np.zeros(3, ml_dtypes.int4))
    with pytest.raises(ValueError, match="'x': the array has a whole byte for each int4"):
        small.bind(x=four)
    assert small.bind().run(x=four)["y"].tolist() == [1, 2, 3]
    words = retort.InferenceSession(model(same, {"x": (TensorProto.STRING, ["n"])}, {"y": (TensorProto.STRING, ["n"])}))
    with pytest.raises(ValueError, match="'y': the array has strings"):
        words.bind(y=np.array(["", ""], object))
    assert words.bind(x=np.array(["a", "b"])).run()["y"].tolist() == ["a", "b"]


def test_mistakes_are_named() -> None:
    ones = np.ones((2, 2), np.float32)
    binding = session().bind()
    with pytest.raises(KeyError, match="no input or output 'q'; inputs: x, y; outputs: z"):
        binding.bind(q=ones)
    with pytest.raises(ValueError, match="no value for input x, y"):
        binding.run()
    with pytest.raises(ValueError, match="'x': the array has strides"):
        binding.bind(x=ones[:, 0])
    with pytest.raises(ValueError, match="'z': the array has strides"):
        binding.bind(z=ones[:, 0])
    with pytest.raises(TypeError, match="'z': got int"):
        binding.bind(z=3)
    with pytest.raises(TypeError, match="'x': got None"):
        binding.bind(x=None)
    fixed = np.zeros(2, np.float32)
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="'z': the array is read-only"):
        binding.bind(z=fixed)


def test_run_copies_arrays_that_are_not_contiguous() -> None:
    grid = np.arange(6, dtype=np.float32).reshape(3, 2)
    assert session().bind(y=np.zeros(3, np.float32)).run(x=grid[:, 1])["z"].tolist() == [1, 3, 5]


def test_a_decoder_whose_cache_is_written_in_place() -> None:
    rooms = 6
    cache = np.zeros((1, rooms, 4), np.float32)
    step = retort.InferenceSession(decoder(rooms)).bind(past=cache, present=cache)
    total = np.zeros(4, np.float32)
    for position in range(rooms):
        row = np.full((1, 1, 4), position + 1, np.float32)
        total += position + 1
        result = step.run(row=row, position=np.array([position], np.int64))
        assert result["sum"][0].tolist() == total.tolist()
        assert result["present"] is cache
    assert cache[0, :, 0].tolist() == [1, 2, 3, 4, 5, 6]


def test_bindings_show_what_is_bound() -> None:
    binding = session().bind(x=np.zeros((2,), np.float32))
    assert repr(binding) == "<Binding: x float32[2], z OrtDevice(cpu:0), y unbound>"
    results = binding.run(y=np.zeros(2, np.float32))
    assert repr(results) == "<Results: z tensor(float) [2] on cpu>"


@pytest.mark.retort_only
def test_the_ledger_lists_copies() -> None:
    one = retort.InferenceSession(add())
    assert len(one.copies()) == 0
    assert one.copies().total_bytes == 0
    memory = np.zeros(17, np.uint8)
    x = memory[1:].view(np.float32)  # not aligned: the engine has to copy it
    one.bind(y=np.ones(4, np.float32)).run(x=x)
    ledger = one.copies()
    assert isinstance(ledger, retort.CopyLedger)
    assert repr(ledger) == "<CopyLedger: 16 bytes in 1 copies>"
    assert list(ledger) == [retort.Copy("x", "array", "host_to_host", "the CPU", "the CPU", 16, 1)]
    assert "<table>" in ledger._repr_html_()
    grid = np.ones((4, 2), np.float32)
    for array in (grid[:, 1], np.ones(4, ">f4"), np.ones(4, np.float32), [1, 1, 1, 1]):
        one.run(None, {"x": np.ones(4, np.float32), "y": array})
    assert [(copy.tensor, copy.bytes, copy.times) for copy in one.copies()] == [("x", 16, 1), ("y", 32, 2)]
    assert one.copies().total_bytes == 48


@pytest.mark.retort_only
def test_copies_can_be_forbidden() -> None:
    options = retort.SessionOptions()
    assert options.disallow_implicit_copies is False
    options.disallow_implicit_copies = True
    assert options.get_session_config_entry("session.disallow_implicit_copies") == "1"
    assert options.disallow_implicit_copies is True
    strict = retort.InferenceSession(add(), options)
    ones = np.ones(4, np.float32)
    for array in (np.ones((4, 2), np.float32)[:, 1], np.ones(4, ">f4")):
        with pytest.raises(retort.errors.InvalidArgument, match="input 'y': the array is not contiguous.*forbids"):
            strict.run(None, {"x": ones, "y": array})
        with pytest.raises(retort.errors.InvalidArgument, match="forbids"):
            strict.io_binding().bind_cpu_input("y", array)
        with pytest.raises(retort.errors.InvalidArgument, match="forbids"):
            strict.bind(x=ones).run(y=array)
    assert strict.run(None, {"x": ones, "y": ones})[0].tolist() == [2] * 4
    assert len(strict.copies()) == 0
    # An output over a part of an input that is still needed cannot be written in place.
    memory = np.arange(5, dtype=np.float32)
    binding = strict.bind(x=memory[:4], y=np.ones(4, np.float32), z=memory[1:])
    with pytest.raises(Exception, match="cop"):
        binding.run()
    free = retort.InferenceSession(add())
    free.bind(x=memory[:4], y=np.ones(4, np.float32), z=memory[1:]).run()
    assert memory.tolist() == [0, 1, 2, 3, 4]
    (copy,) = free.copies()
    assert copy.tensor == "z"
    assert (copy.cause, copy.times, copy.bytes) == ("alias", 1, 16)
