#!/usr/bin/env python3
"""Run test stages in an unusual environment, with the files that were built here.

    elsewhere.py [--copies N] [--build DIR] [--out DIR] [--digits PROGRAM] [--work DIR] [STAGE ...]

A copy of the sources and of the built files lies in a folder whose name has a space and letters that are not ASCII.
There the stages run on one processor, as another user who has no home (only if root starts this), in a German locale
and the time zone ZONE, without standard input, and with umask 077. Before that, the build is configured there, and a
part of it is made. With N copies, the stages run in all of them at once, with one folder for temporary files and one
user.

The locale is made in WORK if localedef is installed; otherwise the system's locale "C" is used, without UTF-8.
The last line is "N passed, N failed", the sum over all copies.
"""
import argparse
import contextlib
import glob
import os
import pwd
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile

import made_locale

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ZONE, USER = "Pacific/Kiritimati", "nobody"
STAGES = "layers unit conformance saved ort_format runs robustness errors providers digits package cli extensions".split()
# CMakeCache.txt tells the stage `package` for which systems the files were built.
PROGRAMS = ("*.so*", "*_test", "abi_differential", "run_cases", "steady_runs", "plugin_uses", "examples/providers/loopback/*.so", "CMakeCache.txt")
# One target of each kind: a program, generated files, a target that calls git.
PARTS = ("base_test", "retort_abi_sources", "retort_commit", "retort_ort_schema", "generated/cli/web_files.h", "run_cases")
COUNTS = re.compile(r"^(\d+) passed, (\d+) failed$", re.M)


def copy_files(paths, source, target):
    for path in paths:
        if os.path.isfile(os.path.join(source, path)):
            os.makedirs(os.path.dirname(os.path.join(target, path)), exist_ok=True)
            shutil.copy2(os.path.join(source, path), os.path.join(target, path), follow_symlinks=False)


def copy(a, target):
    """Copies the files that git lists, and the parts of the build that the stages need."""
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"], capture_output=True, encoding="utf-8", check=True)
    copy_files(listed.stdout.split("\0")[:-1], ROOT, target)
    subprocess.run("git init -q . && git add -A", shell=True, cwd=target, check=True)
    shutil.copytree(a.out, os.path.join(target, "out"), symlinks=True)
    programs = [os.path.relpath(p, a.build) for pattern in PROGRAMS for p in glob.glob(os.path.join(a.build, pattern))]
    copy_files(programs, a.build, os.path.join(target, "build", "release"))
    copy_files([os.path.basename(a.digits)], os.path.dirname(a.digits), os.path.join(target, "build", "digits"))


def list_unit_tests(a, folder, python):
    """Writes the list of unit tests for ctest, with the paths of the copy and its interpreter."""
    with open(os.path.join(a.build, "CTestTestfile.cmake"), encoding="utf-8") as f:
        text = "".join(line for line in f if line.startswith("add_test(") or "SKIP_RETURN_CODE" in line)
    text = re.sub(r' _BACKTRACE_TRIPLES "[^"]*"', "", text)
    text = re.sub(r'"[^"]*/python[\d.]*"', f'"{python}"', text)
    text = text.replace(a.build + "/", os.path.join(folder, "build", "release", "")).replace(ROOT + "/", folder + "/")
    with open(os.path.join(folder, "build", "release", "CTestTestfile.cmake"), "w", encoding="utf-8") as f:
        f.write(text)


def locale_of(folder):
    """Variables of the locale, made in a folder."""
    made = made_locale.made_locale(folder)
    if not made:
        print(f"no locale {made_locale.NAME} (Debian: locales); C is used instead", flush=True)
        return {"LC_ALL": "C"}
    return {"LC_ALL": made_locale.NAME, "LOCPATH": made}


def other_user():
    """Options of subprocess for the other user; none if this one is not root."""
    if os.geteuid() != 0:
        print("only root can start programs as another user; the stages run as this one", flush=True)
        return {}
    entry = pwd.getpwnam(USER)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def interpreter(folder, who):
    """A Python with the project's packages that the other user may start: this one, or the system's in a .venv of the
    copy."""
    def starts(program, *arguments):
        with contextlib.suppress(OSError):
            done = subprocess.run([program, *arguments, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, encoding="utf-8", cwd="/", **who)
            return done.stdout.split() == [str(n) for n in sys.version_info[:2]]
        return False
    if starts(sys.executable):
        return sys.executable
    system = "/usr/bin/python3"
    if not starts(system):
        sys.exit(f"user {USER} cannot start {sys.executable}, and {system} has another version; build .venv with a Python that all users may start")
    subprocess.run([system, "-m", "venv", "--without-pip", os.path.join(folder, ".venv")], check=True)
    packages = sysconfig.get_path("purelib")
    with open(os.path.join(folder, ".venv", os.path.relpath(packages, sys.prefix), "outer.pth"), "w", encoding="utf-8") as f:
        f.write(packages + "\n")
    return os.path.join(folder, ".venv", "bin", "python")


def on_one_processor():
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    os.close(0)


class Copy:
    def __init__(self, a, around, number, who, variables):
        self.folder, self.who, self.variables = os.path.join(around, f"Prüfstand +{number} älter"), who, variables
        copy(a, self.folder)
        self.python = interpreter(self.folder, who)
        list_unit_tests(a, self.folder, self.python)
        for folder, folders, files in os.walk(around) if who else ():
            for name in [folder, *(os.path.join(folder, f) for f in folders + files)]:
                os.chown(name, who["user"], who["group"], follow_symlinks=False)

    def start(self, command, log):
        return subprocess.Popen(command, cwd=self.folder, env=self.variables, stdout=log, stderr=subprocess.STDOUT, umask=0o077, preexec_fn=on_one_processor, **self.who)

    def build(self, log):
        """Configures the build there and makes a part of it. Returns whether that worked."""
        configure = ["cmake", "--preset", "release", "-B", "build/fresh", f"-DCMAKE_INSTALL_PREFIX={self.folder}/fresh out"]
        steps = [configure, ["cmake", "--build", "build/fresh", "--target", *PARTS], ["build/fresh/base_test", "--gtest_brief=1"]]
        return all(self.start(step, log).wait() == 0 for step in steps)


def show(work, number, name):
    with open(os.path.join(work, f"{number}.{name}.log"), encoding="utf-8", errors="replace") as f:
        text = f.read()
    print(f"=== copy {number}: {name}\n{text}", flush=True)
    return text


def build_copies(copies, work):
    """Builds in each copy and prints the log of each failure. Returns the number of failures."""
    failed = 0
    for number, c in enumerate(copies):
        with open(os.path.join(work, f"{number}.build.log"), "wb") as log:
            good = c.build(log)
        if not good:
            show(work, number, "build")
        failed += not good
    return failed


def run_copies(copies, stages, work):
    """(passed, failed) of the stages, at the same time in each copy."""
    running, total = [], [0, 0]
    with contextlib.ExitStack() as logs:
        for number, c in enumerate(copies):
            log = logs.enter_context(open(os.path.join(work, f"{number}.stages.log"), "wb"))
            running.append(c.start([c.python, "tools/run_tests.py", *stages], log))
        codes = [p.wait() for p in running]
    for number, code in enumerate(codes):
        found = COUNTS.findall(show(work, number, "stages"))
        passed, failed = map(int, found[-1]) if found else (0, 1)
        total = [total[0] + passed, total[1] + max(failed, int(code != 0))]
    return total


def options():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--copies", type=int, default=1)
    ap.add_argument("--build", default="build/release")
    ap.add_argument("--out", default="out")
    ap.add_argument("--digits", default="build/digits/digits")
    ap.add_argument("--work", default="build/elsewhere", help="logs")
    ap.add_argument("stages", nargs="*", metavar="STAGE")
    a = ap.parse_args()
    if a.copies < 1:
        ap.error(f"--copies {a.copies}: at least one is needed")
    return a


def main():
    a = options()
    a.build, a.out, a.digits = (os.path.abspath(path) for path in (a.build, a.out, a.digits))
    work, who = os.path.abspath(a.work), other_user()
    os.makedirs(work, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="retort elsewhere ") as around:
        os.chmod(around, 0o755)
        os.mkdir(os.path.join(around, "tmp"))
        os.mkdir(os.path.join(around, "locales"))
        dropped = {"HOME", "LANG", "LANGUAGE", "LC_ALL", "PYTHONUTF8", "USER", "LOGNAME", "XDG_CACHE_HOME"}
        variables = {**{k: v for k, v in os.environ.items() if k not in dropped}, "TZ": ZONE, "TMPDIR": os.path.join(around, "tmp"),
                     **locale_of(os.path.join(around, "locales"))}
        copies = [Copy(a, around, number, who, variables) for number in range(a.copies)]
        unbuilt = build_copies(copies, work)
        passed, failed = run_copies(copies, a.stages or STAGES, work)
    passed, failed = passed + len(copies) - unbuilt, failed + unbuilt
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
