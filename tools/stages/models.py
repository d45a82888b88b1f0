"""Stages that load and run models: official cases, real models, mutated and mistaken ones."""
import glob
import os
import sys
import tempfile

from stages.context import ROOT, Count, in_python, run_cases, skip

# Rule and tolerances of run_cases for real models. ONNX Runtime computes models of 16-bit floats in 32 bits throughout,
# as we do.
MODEL, HALF_MODEL = ("scale", "1e-3", "0"), ("close", "2e-3", "2e-4")
ORT_LEVELS = ("0", "1")  # no optimisation, and only operators that every engine has
LEVELS = ("99", "0")  # full optimisation, and none
UNCHECKED = "official ONNX Runtime is not compiled for ThreadSanitizer"
# The emulated system has no libraries that decode images.
EMULATED = r"^(?!node/test_image_decoder_decode_(?!bmp|pnm))"


def conformance(c):
    total = Count()
    only = ["--only", EMULATED] if c.emulator else []
    for level in LEVELS:
        name = f"conformance.{level}"
        total += c.counted(name, [sys.executable, "tests/conformance/run_cases.py", "--library", c.library, "--tool", run_cases(c),
                                  "--cases", os.path.join(c.work, "cases"), "--tsv", os.path.join(c.work, name + ".tsv"),
                                  *c.cases, *only, "--level", level])
    if c.emulator or c.sanitizer or not os.environ["RETORT_ORACLE"]:
        return total + skip("the rows of docs/differences.md run in a plain build, beside official ONNX Runtime")
    rows = [sys.executable, "tests/conformance/difference_rows.py", c.library, os.environ["RETORT_ORACLE"]]
    return total + c.counted("conformance.differences", rows, LC_ALL="C")


def saved(c):
    total = Count()
    for name, library in ("saved.here", c.library), ("saved.official", os.environ["RETORT_ORACLE"]):
        if not library:
            total += skip("no official ONNX Runtime")
            continue
        if name == "saved.official" and c.sanitizer == "tsan":
            total += skip(UNCHECKED)
            continue
        # ONNX Runtime reads factors of its function bodies as the locale writes numbers: HardSwish gives 0 where that
        # is a comma.
        official = name == "saved.official"
        numbers = {"LC_ALL": "C"} if official else {}
        listed = ["--expected", "tests/conformance/saved_failures.tsv"] if official else []
        total += c.counted(name, [sys.executable, "tests/conformance/run_cases.py", "--library", library, "--tool", run_cases(c),
                                  "--cases", os.path.join(c.work, "cases"), "--tsv", os.path.join(c.work, name + ".tsv"),
                                  *c.cases, *listed, "--saved-by", c.library],
                           **numbers)
    return total


def ort_format(c):
    """Runs models that this library and official ONNX Runtime saved in ORT format."""
    total = Count()
    for saver, level in [(c.library, "99")] + [(os.environ["RETORT_ORACLE"], level) for level in ORT_LEVELS]:
        if not saver:
            return total + skip("no official ONNX Runtime")
        if saver != c.library and c.sanitizer == "tsan":
            return total + skip(UNCHECKED)
        name = f"ort_format.{'own' if saver == c.library else level}"
        total += c.counted(name, [sys.executable, "tests/conformance/run_cases.py", "--library", c.library, "--tool", run_cases(c),
                                  "--cases", os.path.join(c.work, "cases"), "--tsv", os.path.join(c.work, name + ".tsv"), *c.cases,
                                  "--level", level, "--saved-by", saver, "--saved-as", "ORT"])
    return total


def runs(c):
    return c.counted("runs", [sys.executable, "tests/runs/check_runs.py", c.library, "--tool", os.path.join(c.build, "steady_runs"),
                              "--work", os.path.join(c.work, "runs"), *c.runs])


def robustness(c):
    limits = ["--count", "400", "--mem-mib", "0", "--time-s", "60"] if c.sanitizer else ["--count", "2000"]
    return c.counted("robustness", [sys.executable, "tests/robustness/mutate_models.py", "--library", c.library, "--cases", os.path.join(c.work, "cases"),
                                    "--keep", os.path.join(c.work, "mutants"), *limits], **in_python(c))


def errors(c):
    oracle_library = "" if c.sanitizer else os.environ["RETORT_ORACLE"]
    if not oracle_library:
        print("    no official ONNX Runtime: its messages are taken from docs/errors.md")
    return c.counted("errors", [sys.executable, "tests/errors/check_errors.py", "--library", c.library, "--oracle", oracle_library], **in_python(c))


def models(c):
    """Runs the models of tests/exported, those that the zoo makes in code, and those of ../shared/models if they are beside the checkout."""
    shared = os.path.join(os.path.dirname(ROOT), "shared", "models")
    paths = [p for folder in (os.path.join(ROOT, "tests", "exported"), shared) for p in glob.glob(os.path.join(folder, "*", "model.onnx"))]
    places = {os.path.basename(os.path.dirname(p)): os.path.dirname(p) for p in sorted(paths)}
    with open(os.path.join(ROOT, "tests", "models_expected_failures.tsv"), encoding="utf-8") as f:
        known = {line.split("\t")[0] for line in f.read().splitlines()[1:]} & set(places)
    total = Count()
    for level in LEVELS:
        total += models_at(c, level, places, known)
    total += made_models(c)
    return total if os.path.isdir(shared) else total + skip("no ../shared/models beside the checkout")


def made_models(c):
    """Runs the models of bench/zoo/made.py here and on official ONNX Runtime."""
    if c.sanitizer or c.emulator or not os.environ["RETORT_ORACLE"]:
        return skip("the models of bench/zoo/made.py run at full speed only, beside official ONNX Runtime")
    programs = os.path.join(ROOT, "bench", "zoo")
    with tempfile.TemporaryDirectory(dir=c.work) as zoo:
        if c.start("models.made", [sys.executable, os.path.join(programs, "build_zoo.py"), zoo, "--made"])[0]:
            return Count(failed=1)
        return c.counted("models.zoo", [sys.executable, os.path.join(programs, "agree.py"), c.library, "--zoo", zoo, "--tool", run_cases(c), "--repeat", "1"])


def models_at(c, level, places, known):
    """Runs models, {name: folder}, at a level of optimisation."""
    manifest, results = (os.path.join(c.work, f"models.{level}.{end}") for end in ("manifest", "tsv"))
    with open(manifest, "w", encoding="utf-8") as f:
        for name, at in sorted(places.items()):
            rule = HALF_MODEL if name.endswith("fp16") else MODEL
            f.write("\t".join([name, *rule, os.path.join(at, "model.onnx"), at]) + "\n")
    if c.start(f"models.{level}", [run_cases(c), c.library, manifest, results, *c.cases, "--level", level])[0]:
        return Count(failed=len(places))
    with open(results, encoding="utf-8", errors="replace") as f:
        rows = [line.rstrip("\n").split("\t") for line in f]
    failing = {r[0]: r for r in rows if r[1] != "pass"}
    wrong = [f"FAIL {r[0]} at level {level}: {r[2]}: {r[6]}" for n, r in failing.items() if n not in known]
    wrong += [f"FAIL {n} passes: remove it from tests/models_expected_failures.tsv" for n in sorted(known - set(failing))]
    for line in wrong:
        print("    " + line)
    return Count(len(rows) - len(failing), len(wrong), len(known & set(failing)))
