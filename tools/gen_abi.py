#!/usr/bin/env python3
"""Generates everything that follows from the ABI tables in abi/.

  gen_abi.py headers DIR    onnxruntime_c_api.h and onnxruntime_ep_c_api.h
  gen_abi.py keys DIR       onnxruntime_session_options_config_keys.h and the like, at build time
  gen_abi.py sources DIR    slots.h, tables.cc, stubs.cc and the generated tests
  gen_abi.py check          exit 1 unless the committed headers equal the generated ones and the ledger names real slots

A file is rewritten only when its text changes, so builds stay incremental.
"""
import os
import sys

import gen_abi_header
import gen_abi_keys
import gen_abi_sources
from gen_abi_facts import ROOT, Facts


def write(folder, name, text):
    path = os.path.join(folder, name)
    if os.path.exists(path):
        with open(path, encoding="utf-8") as f:
            if f.read() == text:
                return
    os.makedirs(folder, exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def headers(facts):
    return {"onnxruntime_c_api.h": gen_abi_header.c_api(facts), "onnxruntime_ep_c_api.h": gen_abi_header.ep_c_api(facts)}


def sources(facts):
    make = gen_abi_sources
    return {"slots.h": make.slots_header(facts), "tables.cc": make.tables(facts), "stubs.cc": make.stubs(facts),
            "layout_test.cc": make.layout_test(facts), "slots_test.cc": make.slots_test(facts),
            "null_calls.inc": make.null_calls(facts)}


def main(arguments):
    facts = Facts()
    errors = facts.ledger_errors() + gen_abi_keys.errors()
    made = {"headers": headers, "keys": lambda _: gen_abi_keys.headers(), "sources": sources}
    if arguments[:1] == ["check"]:
        for name, text in headers(facts).items():
            with open(os.path.join(ROOT, "include", "retort", name), encoding="utf-8") as f:
                if f.read() != text:
                    errors.append(name + " is not what tools/gen_abi.py generates: run it again")
    elif len(arguments) == 2 and arguments[0] in made:
        for name, text in made[arguments[0]](facts).items():
            write(arguments[1], name, text)
    else:
        return __doc__
    return "\n".join(errors) or None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
