"""A case as files, and what both engines say of it."""
import os
import tempfile

import numpy as np

import compare
import judge
import numbers_of

EDGE = 40


def write(folder, case, made):
    """model.onnx, and inputs.npz with the inputs that are tensors (elements that numpy has no type for as int8 or float32)."""
    with open(os.path.join(folder, "model.onnx"), "wb") as f:
        f.write(made[0])
    arrays = {}
    for name, value in made[1]:
        for i, one in enumerate(value[1] if value[0] == "sequence" else [value]):
            if one[0] in ("tensor", "strings"):
                array = numbers_of.from_wire(one)
                plain = array.dtype.kind in "iubfc" and array.dtype.isbuiltin
                arrays[f"{name}.{i}" if value[0] == "sequence" else name] = array.astype(str) if array.dtype == object else array if plain else array.astype(np.float32)
    np.savez(os.path.join(folder, "inputs.npz"), **arrays)


def text(value):
    if value[0] in ("tensor", "strings"):
        return f"{compare.describe(value)} {np.array2string(numbers_of.from_wire(value), threshold=EDGE, precision=9)}"
    return str(value)


def show(fuzzer, made_case, folder):
    """Exit code: 1 if there is a finding."""
    case, made = made_case
    if not made:
        print("the recipe has no case for what was drawn")
        return 2
    folder = folder or tempfile.mkdtemp(prefix="fuzz-")
    os.makedirs(folder, exist_ok=True)
    write(folder, case, made)
    theirs, ours = fuzzer.outcomes([made_case])
    theirs, ours = theirs[case.number][0], ours[case.number]
    print(f"{case.id} in {folder}: opset {case.opset}, attributes {case.attributes}")
    for given in case.inputs:
        print("  input", f"{given.name} {'constant ' if given.constant else ''}{text(numbers_of.to_wire(given.value))}" if given else "omitted")
    told(f"{'oracle':22}", theirs)
    for configuration, outcome in zip(fuzzer.engines[1].configurations, ours):
        told(f"level {configuration[0]:2}, {configuration[1]} threads  ", outcome)
    found = judge.verdict(case, theirs, ours, fuzzer.engines[1].configurations)
    found.fault = judge.explained(case, found, theirs, fuzzer.faults) if found.kind else ""
    print(f"{found.state}; {found.kind or 'no finding'} {found.group} {found.detail} {found.fault}")
    return 1 if found.kind and not found.fault else 0


def told(name, outcome):
    print(f"  {name} {judge.told(outcome)}")
    if outcome[0] == "ok":
        for value in outcome[1]:
            print("    ", text(value))
