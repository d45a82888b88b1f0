#!/usr/bin/env python3
"""The engine's error messages, case by case, beside ONNX Runtime's.

    check_errors.py --library LIB [--oracle LIB] [--update] [--only REGEX]

Each case is a small program on the C ABI that must fail. It runs in a separate process and folder, on the library
and on the oracle (official ONNX Runtime). A case fails if the program succeeds, crashes or hangs; if the message
lacks what the case demands or does not end with what to do ("…; give …"); if the code differs from the oracle's and
other_codes.tsv has no reason; or if ../../docs/errors.md has another text, which --update rewrites. Without an
oracle, its column is taken from the page. The last line is "N passed, N failed".
"""
import argparse
import csv
import ctypes
import difflib
import json
import os
import re
import select
import signal
import sys
import tempfile

import cases_files  # noqa: F401 - modules of cases fill CASES, in the order of the page
import cases_models  # noqa: F401
import cases_packages  # noqa: F401
import cases_calls  # noqa: F401
import cases_runs  # noqa: F401
import cases_compile  # noqa: F401
from case import CASES
from page import cell, code_of, page, read_oracle, unescape
from program import Program

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
from c_api import ApiError, read_table  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(HERE, os.pardir, os.pardir, "docs", "errors.md")
CODES = {int(row["value"]): row["name"][len("ORT_"):] for row in read_table("enums.tsv") if row["enum"] == "OrtErrorCode"}
TIME_S = 60
# The verbs with which a message may tell its reader what to do.
VERBS = set("add ask bind call cast check choose clear compare convert copy correct declare download export free give leave let make move name put "
            "register remove rename reshape save set take use write".split())


def perform(program, case, folder):
    """In the child: (code, message) of the step that fails."""
    os.chdir(folder)
    try:
        if case.starts:
            program.start()
        case.body(program)
    except ApiError as e:
        return CODES[e.code], str(e)
    return "OK", ""


def child(program, case, folder, write_end):
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    try:
        answer = perform(program, case, folder)
    except BaseException as e:  # the parent's code must not run in the child
        answer = "BROKEN CASE", repr(e)
    os.write(write_end, json.dumps(answer).encode())
    os._exit(0)


def answer_of(program, case):
    """(code, message) of the case in a separate process; for a crash, the code is the name of its signal."""
    read_end, write_end = os.pipe()
    with tempfile.TemporaryDirectory() as around:
        folder = os.path.join(os.path.realpath(around), "models")
        os.mkdir(folder)
        pid = os.fork()
        if pid == 0:
            child(program, case, folder, write_end)
        os.close(write_end)
        hangs = not select.select([read_end], [], [], TIME_S)[0]
        if hangs:
            os.kill(pid, signal.SIGKILL)
        with os.fdopen(read_end, "rb") as f:
            data = f.read()
        status = os.waitpid(pid, 0)[1]
        if hangs or not data:
            return "hangs" if hangs else signal.Signals(os.WTERMSIG(status)).name, ""
        code, text = json.loads(data)
        return code, text.replace(os.path.realpath(around), "").strip()


def read_reasons(path):
    """{(chapter, title or '*', our code, the oracle's code): reason}"""
    with open(path, encoding="utf-8", newline="") as f:
        rows = list(csv.reader(f, delimiter="\t", quoting=csv.QUOTE_NONE))[1:]
    return {tuple(row[:4]): row[4] for row in rows}


def lacks(case, text):
    """The texts that the message of a case lacks."""
    wrong = [f"does not say {piece}" for piece in case.says if piece not in text]
    step = text.rpartition("; ")[2] if "; " in text else ""
    if step.split(" ")[0] not in VERBS:
        wrong.append("does not end with what to do")
    return wrong


def complaints(answers, reasons):
    """[(case, complaint)]; `answers`: {case: (our code, our text, the oracle's cell)}"""
    wrong, used = [], set()
    for case, (code, text, theirs) in answers.items():
        other = code_of(theirs)
        keys = [(case.chapter, t, code, other) for t in (case.title, "*")]
        used.update(k for k in keys if k in reasons)
        if code not in CODES.values():
            wrong.append((case, f"ends with {code} {text}"))
        elif theirs and code != other and not any(k in reasons for k in keys):
            wrong.append((case, f"gives {code}, the oracle {other}, and other_codes.tsv no reason"))
        elif code != "OK":
            wrong += [(case, f"{what}: {text}") for what in lacks(case, text)]
        elif not any(k in reasons for k in keys):
            wrong.append((case, "goes through"))
    return wrong, sorted(set(reasons) - used)


def ask(program, cases):
    return {c: answer_of(program, c) for c in cases}


def version_of(library):
    base = library.OrtGetApiBase()
    return ctypes.CFUNCTYPE(ctypes.c_char_p)(base[1])().decode()


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--library", required=True)
    ap.add_argument("--oracle", default="")
    ap.add_argument("--update", action="store_true")
    ap.add_argument("--only", default="", help="regular expression on 'chapter: title'; shows what both say")
    a = ap.parse_args()
    cases = [c for c in CASES if re.search(a.only, f"{c.chapter}: {c.title}")]
    with open(PAGE, encoding="utf-8") as f:
        committed = f.read()
    cells, version = read_oracle(committed)
    if a.oracle:
        oracle = Program(a.oracle)
        version = version_of(oracle.library)
        cells = {(c.chapter, c.title): cell(answer) for c, answer in ask(oracle, cases).items()}
    ours = ask(Program(a.library), cases)
    answers = {c: (*answer, cells.get((c.chapter, c.title), "")) for c, answer in ours.items()}
    wrong, stale = complaints(answers, read_reasons(os.path.join(HERE, "other_codes.tsv")))
    for case, what in wrong:
        print(f"FAIL {case.chapter}: {case.title}: {what}")
    if a.only:
        for c, (code, text, theirs) in answers.items():
            print(f"{c.chapter}: {c.title}\n    {code}: {text}\n    {unescape(theirs)}")
        return 1 if wrong else 0
    return finish(answers, version, committed, a.update, len({c for c, _ in wrong}), stale)


def finish(answers, version, committed, update, failed, stale):
    for row in stale:
        print("FAIL other_codes.tsv: no case has this difference any more:", *row)
    text = page({(c.chapter, c.title): ((code, ours), theirs) for c, (code, ours, theirs) in answers.items()}, version)
    if update:
        with open(PAGE, "w", encoding="utf-8") as f:
            f.write(text)
    elif text != committed:
        print("FAIL docs/errors.md differs from the library's messages; run check_errors.py --update")
        print("".join(difflib.unified_diff(committed.splitlines(True), text.splitlines(True), "docs/errors.md", "now", n=0)))
    good_page = update or text == committed
    passed, failed = len(answers) - failed + good_page, failed + len(stale) + (not good_page)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
