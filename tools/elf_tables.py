"""Reads the dynamic tables of an ELF file for any processor, with readelf of binutils."""
import collections
import os
import re
import subprocess

# `name` has no version; `version` is "" for a symbol without one; `defined` tells whether the file defines or needs the
# symbol; `old` marks an old version, which exists for old programs only and which the linker does not use.
Symbol = collections.namedtuple("Symbol", "name version defined old kind binding value size")
Needed = collections.namedtuple("Needed", "file version")

VERSION_FILE = re.compile(r"^\s*\S+: Version: \d+\s+File: (\S+)\s+Cnt:")
VERSION_NAME = re.compile(r"^\s*\S+:\s+Name: (\S+)\s+Flags: .*Version: \d+")


def is_elf(path):
    if os.path.islink(path) or not os.path.isfile(path):
        return False
    with open(path, "rb") as f:
        return f.read(4) == b"\x7fELF"


def readelf(path, options, program="readelf"):
    # The patterns below match the output of readelf in the locale C only.
    return subprocess.run([program, "-W", *options, path], capture_output=True, encoding="utf-8", check=True, env={**os.environ, "LC_ALL": "C"}).stdout


def symbols(path, program="readelf"):
    """The symbols of the dynamic table, except local ones."""
    found = []
    for line in readelf(path, ["--dyn-syms"], program).splitlines():
        words = line.split()
        if len(words) < 8 or not words[0][:-1].isdigit() or words[4] == "LOCAL":
            continue
        value, size, kind, binding = words[1:5]
        # Between the words before a section and the section, AArch64 may have a note in brackets.
        where, name = (words[-3], words[-2]) if words[-1].startswith("(") else words[-2:]
        name, _, version = name.partition("@")
        if where != "ABS":
            defined, old = where != "UND", bool(version) and not version.startswith("@")
            found.append(Symbol(name, version.lstrip("@"), defined, defined and old, kind, binding, int(value, 16), int(size, 0)))
    return found


def tags(path, program="readelf"):
    """{tag: [values]} of the dynamic section; names of libraries without their brackets."""
    found = collections.defaultdict(list)
    for line in readelf(path, ["-d"], program).splitlines():
        tag = re.match(r"^\s*0x[0-9a-f]+ \((\w+)\)\s*(.*)$", line)
        if tag:
            named = re.search(r"\[(.*)\]", tag.group(2))
            found[tag.group(1)].append(named.group(1) if named else tag.group(2))
    return found


def needed_versions(path, program="readelf"):
    """The versions that the file needs from other files."""
    found, asks, file = [], False, ""
    for line in readelf(path, ["-V"], program).splitlines():
        if line.startswith("Version "):
            asks = line.startswith("Version needs")
        name = asks and VERSION_NAME.match(line)
        of = asks and VERSION_FILE.match(line)
        if of:
            file = of.group(1)
        elif name:
            found.append(Needed(file, name.group(1)))
    return found


def number(version):
    """(2, 28) for GLIBC_2.28; None for names like GLIBC_PRIVATE."""
    found = re.fullmatch(r"[A-Z]+_(\d+(?:\.\d+)*)", version)
    return tuple(map(int, found.group(1).split("."))) if found else None
