"""Shared by the tests of the stage `dist`: archive and packages made from out/, once per process."""
import functools
import os
import shutil
import subprocess
import sys
import tarfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "packaging"))
BUILD, OUT, WORK = (os.path.abspath(os.environ.get(name, os.path.join(ROOT, default)))
                    for name, default in (("RETORT_BUILD", "build/release"), ("RETORT_OUT", "out"), ("RETORT_WORK", "build/test/dist")))
DIGITS = os.path.join(ROOT, "examples", "digits", "digits.onnx")
ARCH = os.uname().machine
FAST = "1"  # a level of xz; make dist compresses more


def run(*command, **options):
    """The output of a command, both streams; an error shows all of it."""
    # Other locales may be missing, which Perl's programs report.
    options.setdefault("env", {**os.environ, "LC_ALL": "C.UTF-8"})
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", check=False, **options)
    if done.returncode:
        raise AssertionError(f"{' '.join(map(str, command))} ended with {done.returncode}\n{done.stdout}")
    return done.stdout


def bare(**more):
    """An environment without a hint at this checkout."""
    return {"PATH": os.environ["PATH"], "HOME": WORK, "LC_ALL": "C.UTF-8", **more}


def missing():
    """Why nothing can be made here; empty if it can."""
    tools = {"dpkg": "licence texts are taken from Debian's packages", "dh": "tools/setup.sh dist installs it", "dpkg-shlibdeps": "tools/setup.sh dist installs it"}
    return next((f"no {tool}: {why}" for tool, why in tools.items() if not shutil.which(tool)), "")


class DistTest(unittest.TestCase):
    def setUp(self):
        if missing():
            self.skipTest(missing())


def fresh(name):
    folder = os.path.join(WORK, name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    return folder


def make(what, name, **options):
    """Runs packaging/dist.py with a fresh output folder of that name; returns the paths of the written files."""
    to = fresh(name)
    run(sys.executable, os.path.join(ROOT, "packaging", "dist.py"), what, "--build", BUILD, "--prefix", OUT, "--to", to, "--work", fresh(name + ".work"),
        "--arch", ARCH, "--level", FAST, **options)
    return [os.path.join(to, n) for n in sorted(os.listdir(to))]


def make_again(what):
    """The files that it makes for another user in another folder."""
    return make(what, what + ".again", umask=0o077, env={**os.environ, "TZ": "Pacific/Auckland", "LC_ALL": "C", "HOME": "/nonexistent"})


@functools.cache
def archive():
    return make("archive", "archive")[0]


@functools.cache
def unpacked():
    """The archive, unpacked into a folder whose name has a space."""
    folder = fresh("un packed")
    with tarfile.open(archive()) as tar:
        tar.extractall(folder)
    return os.path.join(folder, os.listdir(folder)[0])


def bytes_of(path):
    with open(path, "rb") as f:
        return f.read()


@functools.cache
def debs():
    """{"libretort1": path, "libretort-dev": path}"""
    return {os.path.basename(p).split("_")[0]: p for p in make("deb", "deb")}
