#!/usr/bin/env python3
"""Writes a C++ program that does not compile unless a header has the names of names.tsv with their signatures.

usage: names.py VERSION > names.cc    the names that official headers have since 1.VERSION at the latest

Columns: since (23: in 1.23 or before), class (empty: a function), kind, name, signature (without names of parameters).
"""
import csv
import os
import sys

PROLOGUE = """\
// Written by names.py.
#include <cpu_provider_factory.h>
#include <onnxruntime_cxx_api.h>

namespace Ort {

template <typename Class, typename Signature>
using Member = Signature Class::*;
template <typename Signature>
using Function = Signature*;

int used_names() {
  int count = 0;
"""

FORMS = {
    "method": "(void)static_cast<Member<{class}, {signature}>>(&{class}::{name});",
    "static": "(void)static_cast<Function<{signature}>>(&{class}::{name});",
    "function": "(void)static_cast<Function<{signature}>>(&{name});",
    "type": "(void)sizeof({name});",
    "constructor": "static_assert(std::is_constructible<{class}{arguments}>::value, \"{class}{signature}\");",
}


def lines(version):
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "names.tsv"), newline="", encoding="utf-8") as f:
        for row in csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE):
            if int(row["since"]) > version:
                continue
            arguments = row["signature"][1:-1] if row["kind"] == "constructor" else ""
            yield "  " + FORMS[row["kind"]].format(**row, arguments=", " + arguments if arguments else "") + "\n  ++count;\n"


def main(version):
    checks = list(lines(int(version)))
    sys.stdout.write(PROLOGUE + "".join(checks) + "  return count;\n}\n\n}  // namespace Ort\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
