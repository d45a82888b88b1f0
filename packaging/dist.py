#!/usr/bin/env python3
"""Makes release archives and Debian packages from the installed files of a build.

    dist.py archive --build DIR --prefix DIR --arch x86_64|aarch64 --to DIR [--strip TOOL]
    dist.py deb     --build DIR --prefix DIR --to DIR
    dist.py sums    --to DIR       SHA256SUMS of all archives and packages in DIR

Version: PROJECT_VERSION of the build. Times: SOURCE_DATE_EPOCH, or the commit's.
"""
import argparse
import hashlib
import os
import re
import subprocess
import sys

import archive
import deb
import linked


def cached(build, name):
    """The value of a variable of CMake's cache; empty if there is none."""
    with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as f:
        found = re.search(rf"^{name}:\w+=(.*)$", f.read(), re.M)
    return found.group(1) if found else ""


def version_of(build):
    return cached(build, "CMAKE_PROJECT_VERSION")


def epoch():
    if given := os.environ.get("SOURCE_DATE_EPOCH"):
        return int(given)
    return int(subprocess.run(["git", "-C", linked.ROOT, "log", "-1", "--format=%ct"], check=True, capture_output=True, encoding="utf-8").stdout)


def make_archive(a):
    version = version_of(a.build)
    if a.arch == "x86_64":
        archive.check_providers(a.prefix)
    name = f"retort-{version}-linux-{a.arch}"
    staged = os.path.join(a.work, name)
    glibc = cached(a.build, "RETORT_GLIBC")
    if not glibc:
        raise archive.Wrong(f"{a.build} links with the C library of this machine (RETORT_GLIBC is empty); a release names the oldest one")
    archive.stage(a.build, a.prefix, version, a.arch, glibc, staged, a.strip)
    path = os.path.join(a.to, name + ".tar.xz")
    archive.pack(staged, path, epoch(), a.level)
    return [path]


def make_debs(a):
    archive.check_providers(a.prefix)
    return deb.build(a.build, a.prefix, a.work, version_of(a.build), epoch(), a.level, a.to)


def sums(a):
    """Writes the sums of all archives and packages in the folder, in the form of sha256sum."""
    path = os.path.join(a.to, "SHA256SUMS")
    with open(path, "w", encoding="utf-8") as f:
        for name in sorted(n for n in os.listdir(a.to) if n.endswith((".tar.xz", ".deb"))):
            with open(os.path.join(a.to, name), "rb") as file:
                f.write(f"{hashlib.file_digest(file, 'sha256').hexdigest()}  {name}\n")
    return [path]


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("what", choices=("archive", "deb", "sums"))
    ap.add_argument("--build", default="build/release")
    ap.add_argument("--prefix", default="out", help="the folder into which the build was installed")
    ap.add_argument("--arch", default="x86_64", choices=sorted(archive.MACHINES))
    ap.add_argument("--to", default="out/dist")
    ap.add_argument("--work", default="", help="where they are put together (default: dist in the build)")
    ap.add_argument("--strip", default="strip", help="the program of that name for the processor")
    ap.add_argument("--level", type=int, default=9, choices=range(10), metavar="0-9", help="the compression level of xz")
    a = ap.parse_args()
    a.build, a.prefix, a.to, a.work = (os.path.abspath(p) for p in (a.build, a.prefix, a.to, a.work or os.path.join(a.build, "dist")))
    os.makedirs(a.to, exist_ok=True)
    try:
        made = {"archive": make_archive, "deb": make_debs, "sums": sums}[a.what](a)
    except (linked.Unknown, archive.Wrong) as e:
        sys.exit(f"dist.py: {e}")
    except subprocess.CalledProcessError as e:
        sys.exit(f"dist.py: {' '.join(map(str, e.cmd))} ended with {e.returncode}\n{e.stdout or ''}{e.stderr or ''}")
    for path in made:
        print(f"{os.path.getsize(path):>11,} bytes  {os.path.relpath(path)}")


if __name__ == "__main__":
    main()
