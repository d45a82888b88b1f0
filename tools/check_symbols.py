#!/usr/bin/env python3
"""Check that shared libraries and programs load on old systems: glibc 2.28 with the libraries of gcc 8, unless options
choose others.

    check_symbols.py [--glibc 2.28] FILE|FOLDER ...

Each ELF file in the folders, except links and archives, counts as one test. A file fails if it needs a newer version of
a symbol, has relocations that an old loader does not know, or needs a symbol of a library that it does not name. Files
that cmake/compat.cmake links pass.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys

import elf_tables as elf
import glibc_stubs

# The newest versions in gcc 8, by the first part of a version's name.
GCC_8 = {"GLIBCXX": (3, 4, 25), "CXXABI": (1, 3, 11), "GCC": (7, 0, 0), "GOMP": (4, 5), "OMP": (4, 5)}
# All of their symbols have versions.
VERSIONED = r"(libc|libm|libpthread|libdl|librt|libgcc_s|libstdc\+\+|libgomp|ld-linux[\w-]*)\.so\.\d+"
ADVICE = "link it by retort_ship() of cmake/compat.cmake"


def too_new(version, limits):
    """Whether the oldest system lacks a version."""
    if version.startswith("GLIBC_") and elf.number(version) is None:
        return True  # GLIBC_PRIVATE, and GLIBC_ABI_*, which stands for features of newer loaders
    limit, number = limits.get(version.split("_")[0]), elf.number(version)
    return limit is not None and number is not None and number > limit


def named(symbols):
    return f"{', '.join(symbols[:4])}{' and others' if len(symbols) > 4 else ''}"


def versions(path, symbols, limits):
    for needed in elf.needed_versions(path):
        if too_new(needed.version, limits):
            users = sorted(s.name for s in symbols if s.version == needed.version and not s.defined)
            what = f"{named(users)} of version {needed.version}" if users else f"version {needed.version}"
            yield f"asks {needed.file} for {what}: {ADVICE}, or add the missing function to compat/"


def apart(symbols, libraries):
    for library, names in glibc_stubs.MOVED.items():
        users = sorted(s.name for s in symbols if not s.defined and s.version.startswith("GLIBC_") and re.fullmatch(names, s.name))
        if library and users and library not in libraries:
            yield f"asks for {named(users)} without naming {library}, where it was before glibc 2.34: {ADVICE}"


def place_of(library):
    """The path of the library of that name on this system; "" if it has none."""
    program = shutil.which("ldconfig") or "/sbin/ldconfig"
    listed = subprocess.run([program, "-p"], capture_output=True, encoding="utf-8", check=True).stdout if os.path.exists(program) else ""
    found = re.search(rf"^\s*{re.escape(library)} \(.*=> (\S+)$", listed, re.M)
    return found.group(1) if found else ""


def without_version(symbols, libraries):
    """Complaints about symbols without a version that no named library defines."""
    wanted = {s.name for s in symbols if not s.defined and not s.version and s.binding != "WEAK"}
    others = [name for name in libraries if not re.fullmatch(VERSIONED, name)]
    for name in others if wanted else []:
        place = place_of(name)
        if not place:
            yield f"asks for {named(sorted(wanted))}, and {name}, which might have them, is not on this system: install it, or link with an installed library"
            return
        wanted -= {s.name for s in elf.symbols(place) if s.defined}
    if wanted:
        yield f"asks for {named(sorted(wanted))} without a version, which no library that it names ({', '.join(libraries) or 'none'}) has: link it with -Wl,-z,defs"


def relocations(tags):
    if "RELR" in tags:
        yield "has packed relocations, which glibc reads since 2.36: link it without -z pack-relative-relocs"


def problems(path, glibc):
    limits = {**GCC_8, "GLIBC": glibc}
    symbols, tags = elf.symbols(path), elf.tags(path)
    libraries = tags["NEEDED"]
    found = [*versions(path, symbols, limits), *apart(symbols, libraries), *without_version(symbols, libraries)]
    return found + (list(relocations(tags)) if glibc < (2, 36) else [])


def files_of(paths):
    for path in paths:
        if os.path.isdir(path):
            for folder, _, names in sorted(os.walk(path)):
                yield from (p for name in sorted(names) if elf.is_elf(p := os.path.join(folder, name)))
        else:
            yield path


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--glibc", default="2.28", help="the oldest that files must load on")
    ap.add_argument("paths", nargs="+", metavar="FILE|FOLDER")
    a = ap.parse_args()
    glibc = elf.number("GLIBC_" + a.glibc)
    if glibc is None:
        ap.error(f"--glibc {a.glibc}: a version of glibc is two numbers, as in 2.28")
    passed = failed = 0
    for path in files_of(a.paths):
        found = problems(path, glibc)
        for problem in found:
            print(f"FAIL {path} {problem}")
        passed, failed = passed + (not found), failed + bool(found)
    if not passed + failed:
        print(f"FAIL no shared library or program in {', '.join(a.paths)}")
        failed = 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
