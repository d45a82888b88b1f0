"""Finds the interpreters that wheels are made for: 3.10, 3.11, one of 3.12 or newer (for all of these), a free-threaded one."""
import glob
import os
import shutil
import subprocess

NAMES = ("python3.10", "python3.11", "python3.12", "python3.13", "python3.14", "python3.13t", "python3.14t")
TAG = "import sys, sysconfig; print('cp%d%d%s' % (*sys.version_info[:2], 't' * bool(sysconfig.get_config_var('Py_GIL_DISABLED'))))"


def tag_of(python):
    """cp311, or cp313t for a free-threaded interpreter; empty if it cannot be started, such as a program of pyenv without its version."""
    try:
        done = subprocess.run([python, "-c", TAG], capture_output=True, encoding="utf-8", stdin=subprocess.DEVNULL, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def candidates(folder):
    """Interpreters that tools/pythons.sh fetched into the folder, then those on PATH and of pyenv."""
    yield from sorted(glob.glob(os.path.join(folder, "*", "bin", "python3")))
    yield from filter(None, map(shutil.which, NAMES))
    yield from sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.1*/bin/python3")))


def number(tag):
    return int(tag[3:].rstrip("t"))


def find(folder):
    """({tag: interpreter}, [what was not found])."""
    found = {}
    for python in candidates(folder):
        tag = tag_of(python)
        if tag:
            found.setdefault(tag, python)
    stable = sorted((t for t in found if not t.endswith("t") and number(t) >= 12), key=number)[:1]
    free = sorted(t for t in found if t.endswith("t"))
    chosen = {tag: found[tag] for tag in (*filter(found.get, ("cp310", "cp311")), *stable, *free)}
    missing = [f"3.{tag[3:]}" for tag in ("cp310", "cp311") if tag not in found]
    missing += ["3.12 or newer"] * (not stable) + ["a free-threaded Python"] * (not free)
    return chosen, missing
