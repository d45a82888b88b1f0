"""What programs find: dictionaries of arrays and lists of texts, written, read and compared."""
import ast
import json

import numpy as np

# Floats: the largest difference, relative to the largest value of the array. Engines add in different orders.
TOLERANCE = 2e-3


def needs_of(source):
    """The value of NEEDS in the source of a program."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "NEEDS":
            return ast.literal_eval(node.value)
    raise ValueError("the program has no NEEDS")


def save(path, found):
    texts = {name: value for name, value in found.items() if not isinstance(value, np.ndarray)}
    arrays = {name: value for name, value in found.items() if isinstance(value, np.ndarray)}
    np.savez(path, **{"texts": np.frombuffer(json.dumps(texts).encode(), np.uint8)}, **{"array " + name: value for name, value in arrays.items()})


def load(path):
    with np.load(path) as file:
        found = json.loads(file["texts"].tobytes())
        return found | {name[6:]: file[name] for name in file.files if name.startswith("array ")}


def difference(expected, actual):
    """A text that says how two results differ; empty if they agree."""
    if not isinstance(expected, np.ndarray):
        return "" if expected == actual else f"{actual!r} in place of {expected!r}"
    if expected.shape != actual.shape or expected.dtype != actual.dtype:
        return f"{actual.dtype} of shape {actual.shape} in place of {expected.dtype} of shape {expected.shape}"
    if expected.dtype.kind != "f":
        count = int((expected != actual).sum())
        return f"{count} of {expected.size} elements differ" if count else ""
    if not np.array_equal(np.isnan(expected), np.isnan(actual)):
        return "NaN in other places"
    scale = max(1e-6, float(np.nanmax(np.abs(expected), initial=0.0)))
    largest = float(np.nanmax(np.abs(expected - actual), initial=0.0)) / scale
    return f"differs by {largest:.2g} of the largest value; allowed: {TOLERANCE:g}" if largest > TOLERANCE else ""


def compare(expected, actual):
    """[text] for each result that differs or is in one dictionary only."""
    lines = [f"{name}: only one of the engines gave it" for name in sorted(set(expected) ^ set(actual))]
    for name in sorted(set(expected) & set(actual)):
        if text := difference(expected[name], actual[name]):
            lines.append(f"{name}: {text}")
    return lines
