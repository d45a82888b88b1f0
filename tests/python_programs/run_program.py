#!/usr/bin/env python3
"""Runs one program and writes what it found: run_program.py NAME FILE. Exit code 77: a module that it needs is missing."""
import importlib
import importlib.metadata
import importlib.util
import json
import os
import sys

import results

MISSING = 77


def main():
    name, path = sys.argv[1:]
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:0] = [here, os.path.join(here, "programs")]
    # Found without being imported: importing one may need others.
    with open(os.path.join(here, "programs", name + ".py"), encoding="utf-8") as f:
        needs = results.needs_of(f.read())
    for module in needs:
        if importlib.util.find_spec(module) is None:
            print(f"skipped: no module {module}")
            return MISSING
    import onnxruntime
    found = importlib.import_module(name).results()
    results.save(path, found)
    print(json.dumps({"engine": importlib.metadata.version("onnxruntime"), "from": os.path.dirname(onnxruntime.__file__), "results": len(found)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
