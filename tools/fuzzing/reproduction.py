"""Writes a case into files and prints the results of both engines."""
import os
import tempfile

import numpy as np

import compare
import judge
import numbers_of

SHOWN = 12  # elements of a value that are printed


def write(folder, case, made):
    """Writes model.onnx, and inputs.npz with the inputs that are tensors (as int8 or float32 if numpy lacks their element type)."""
    with open(os.path.join(folder, "model.onnx"), "wb") as f:
        f.write(made[0])
    arrays = {}
    for name, value in made[1]:
        for i, one in enumerate(value[1] if value[0] == "sequence" else [value]):
            if one[0] in ("tensor", "strings"):
                array = numbers_of.from_wire(one)
                plain = array.dtype.kind in "iubfc" and array.dtype.isbuiltin
                arrays[f"{name}.{i}" if value[0] == "sequence" else name] = array if plain else readable(array)
    np.savez(os.path.join(folder, "inputs.npz"), **arrays)


def readable(array):
    """The array, converted to a type that numpy can save."""
    if array.dtype != object:
        return array.astype(np.float32)
    return np.array([s.decode() for s in array.ravel()], str).reshape(array.shape)


def text(value):
    """One line about a value: type, shape and the first elements."""
    if value[0] not in ("tensor", "strings"):
        return str(value)
    elements = numbers_of.from_wire(value).ravel()
    return f"{compare.describe(value)} {' '.join(map(str, elements[:SHOWN]))}{' ...' if elements.size > SHOWN else ''}"


def show(fuzzer, made_case, folder):
    """Writes and prints a case. Returns the exit code: 1 for a finding, 2 if there is no case, otherwise 0."""
    case, made = made_case
    if not made:
        print("the recipe makes no case with the types and the version that were drawn")
        return 2
    folder = folder or tempfile.mkdtemp(prefix="fuzz-")
    os.makedirs(folder, exist_ok=True)
    write(folder, case, made)
    theirs, ours = fuzzer.outcomes([made_case])
    theirs, ours = theirs[case.number][0], ours[case.number]
    print(f"{case.id} in {folder}: opset {case.opset}, attributes {case.attributes}")
    for given in case.inputs:
        print("  input", f"{given.name} {'constant ' if given.constant else ''}{text(numbers_of.to_wire(given.value))}" if given else "omitted")
    told("oracle", theirs)
    configurations = fuzzer.engines[1].configurations
    for i, (configuration, outcome) in enumerate(zip(configurations, ours)):
        name = f"level {configuration[0]}, threads {configuration[1]}"
        if outcome in ours[:i]:
            print(f"  {name}: the same bits as above")
        else:
            told(name, outcome)
    found = judge.verdict(case, theirs, ours, configurations)
    found.fault = fuzzer.fault(case, found, theirs, ours[0]) if found.kind else ""
    print(f"{found.state}; {found.kind or 'no finding'} {found.group} {found.detail} {found.fault}")
    return 1 if found.kind and not found.fault else 0


def told(name, outcome):
    print(f"  {name}: {judge.told(outcome)}")
    if outcome[0] == "ok":
        for value in outcome[1]:
            print("     ", text(value))
