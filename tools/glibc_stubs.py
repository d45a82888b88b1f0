#!/usr/bin/env python3
"""Make stub libraries: shipped files are linked with them in place of the C library of this machine.

    glibc_stubs.py --compiler CC --readelf PROGRAM --newest 2.28 --archive libretort_compat.a FOLDER

A stub has the names, versions and sizes of symbols, but no code: a linker reads nothing else from a shared library. For
each symbol of the compiler's own C library, it has the newest version up to --newest, so that linked files need that
one. It has no symbol that is newer: the archive (compat/) defines those, or the link fails and names them. libpthread,
libdl and librt, which are parts of libc.so.6 since glibc 2.34, are separate files again.
"""
import argparse
import os
import re
import subprocess
import sys

import elf_tables as elf

NEWEST_GCC = (7, 0, 0)  # of libgcc_s.so.1, in gcc 8
LIBRARIES = {"libc.so.6": "libc", "libm.so.6": "libm", "libpthread.so.0": "libpthread", "libdl.so.2": "libdl", "librt.so.1": "librt", "libgcc_s.so.1": "libgcc_s"}
# The libraries from which 2.34 moved functions into libc.so.6.
MOVED = {
    "libpthread.so.0": r"_{0,2}pthread_\w+|sem_\w+|mtx_\w+|cnd_\w+|thrd_\w+|tss_\w+|call_once",
    "libdl.so.2": r"dladdr1?|dlclose|dlerror|dlinfo|dlmopen|dlopen|dlv?sym",
    "librt.so.1": r"aio_\w+|lio_listio(64)?|(__)?mq_\w+|shm_\w+|timer_(create|delete|getoverrun|gettime|settime)",
    # These libraries get no stubs: a link that uses them fails with an error that names what is missing.
    None: r"openpty|forkpty|log(in|in_tty|out|wtmp)|getaddrinfo_a|gai_(cancel|error|suspend)|ns_name_\w+",
}
KINDS = {"FUNC": "function", "IFUNC": "function", "OBJECT": "object", "TLS": "tls_object"}


class Failure(Exception):
    pass


def print_file_name(compiler, name):
    path = subprocess.run([*compiler, "-print-file-name=" + name], capture_output=True, encoding="utf-8", check=True).stdout.strip()
    return os.path.realpath(path) if os.path.isabs(path) else ""


def chosen(symbols, newest):
    """{name: symbol}: the newest version of each name up to `newest`, also if later versions of glibc no longer link
    with it."""
    best = {}
    for s in symbols:
        version = elf.number(s.version)
        gcc = s.version.startswith("GCC_")
        limit = NEWEST_GCC if gcc else newest
        if gcc and s.old:  # gcc 8 does not link with it either
            continue
        # The new files that remain for old programs contain only placeholders.
        if not s.defined or version is None or version > limit or s.kind not in KINDS or "version_placeholder" in s.name:
            continue
        if s.name not in best or version > elf.number(best[s.name].version):
            best[s.name] = s
    return best


def home(name, file, moved):
    """Where a symbol of libc.so.6 was before it moved; None for libraries without stubs."""
    if file == "libc.so.6" and moved:
        for library, names in MOVED.items():
            if re.fullmatch(names, name):
                return library
    return file


def distributed(tables, newest):
    """{file: {name: symbol}} of the stubs, from {file: symbols} of the machine's libraries."""
    stubs = {file: {} for file in tables}
    for file, symbols in tables.items():
        moved = any(s.name == "pthread_create" for s in symbols)
        for name, symbol in chosen(symbols, newest).items():
            library = home(name, file, moved)
            if library:
                stubs.setdefault(library, {})[name] = symbol
    return stubs


def assembly(symbols):
    """Assembly of the symbols. Those that share an address keep sharing one: a program's copy of `environ` is also
    `__environ`."""
    text, places = [], {}
    for s in symbols.values():
        places.setdefault((s.kind == "TLS", s.kind in ("FUNC", "IFUNC"), s.value), []).append(s)
    for (tls, code, _), group in sorted(places.items(), key=lambda p: (p[0], p[1][0].name)):
        text.append(".text" if code else '.section .tbss,"awT",%nobits' if tls else ".bss")
        text.append(".balign 64" if not code else ".balign 4")
        for s in sorted(group):
            text += [f".{'weak' if s.binding == 'WEAK' else 'globl'} {s.name}", f".type {s.name}, %{KINDS[s.kind]}", f".size {s.name}, {s.size}", f"{s.name}:"]
        text.append(f".skip {4 if code else max(1, *(s.size for s in group), 1)}")
    return "\n".join([*text, '.section .note.GNU-stack,"",%progbits', ""])


def version_script(symbols):
    nodes = {}
    for s in symbols.values():
        nodes.setdefault(s.version, []).append(s.name)
    return "".join(f"{version} {{ global: {' '.join(f'{n};' for n in sorted(names))} }};\n" for version, names in sorted(nodes.items())) or "{ local: *; };\n"


def changed(path, text):
    if os.path.exists(path):
        with open(path, encoding="utf-8") as f:
            if f.read() == text:
                return False
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return True


def make_stub(compiler, folder, file, symbols):
    """Makes FOLDER/<file>, and writes it only if its content changes, because everything that uses it is then linked
    again."""
    path = os.path.join(folder, file)
    sources = [changed(path + ".s", assembly(symbols)), changed(path + ".map", version_script(symbols))]
    if any(sources) or not os.path.exists(path):
        subprocess.run([*compiler, "-shared", "-nostdlib", "-Wl,-soname," + file, f"-Wl,--version-script={path}.map", "-o", path, path + ".s"], check=True)
    return path


def linker_scripts(compiler, paths, loader, archive):
    """The files that -lc, -lm and so on find: a linker script that names the stub, and for -lc all parts of a C
    library."""
    scripts = {name + ".so": f'INPUT("{paths[file]}")\n' for file, name in LIBRARIES.items() if file != "libc.so.6"}
    whole = [paths["libc.so.6"], archive, print_file_name(compiler, "libc_nonshared.a")]
    apart = [paths["libpthread.so.0"], paths["libdl.so.2"], paths["librt.so.1"], loader]
    together, needed = (" ".join(f'"{path}"' for path in group if path) for group in (whole, apart))
    scripts["libgcc_s.so"] = f'GROUP("{paths["libgcc_s.so.1"]}" -lgcc)\n'  # the only name that the compiler uses
    scripts["libc.so"] = f"GROUP({together} AS_NEEDED({needed}))\n"
    return scripts


def make(compiler, readelf, newest, archive, folder):
    own = {file: print_file_name(compiler, file) for file in LIBRARIES}
    if not own["libc.so.6"]:
        raise Failure("the compiler has no libc.so.6 of its own")
    loaders = [n for n in elf.tags(own["libc.so.6"], readelf)["NEEDED"] if n.startswith("ld-linux")]
    if not loaders:
        raise Failure("libc.so.6 names no ld-linux")
    own[loaders[0]] = print_file_name(compiler, loaders[0])
    missing = [file for file, path in own.items() if not path]
    if missing:
        raise Failure(f"the compiler does not find {', '.join(missing)}")
    stubs = distributed({file: elf.symbols(path, readelf) for file, path in own.items()}, newest)
    if "malloc" not in stubs["libc.so.6"]:
        raise Failure(f"its symbols up to {'.'.join(map(str, newest))} lack malloc: no C library for this processor is that old")
    os.makedirs(folder, exist_ok=True)
    paths = {file: make_stub(compiler, folder, file, symbols) for file, symbols in stubs.items()}
    for name, text in linker_scripts(compiler, paths, paths[loaders[0]], archive).items():
        changed(os.path.join(folder, name), text)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--compiler", required=True, help="command of the C compiler, words separated by ;")
    ap.add_argument("--readelf", default="readelf")
    ap.add_argument("--newest", required=True, help="version of glibc, for example 2.28")
    ap.add_argument("--archive", required=True, help="the archive with newer functions")
    ap.add_argument("folder")
    a = ap.parse_args()
    newest = elf.number("GLIBC_" + a.newest)
    if newest is None:
        ap.error(f"--newest {a.newest}: a version of glibc is two numbers, as in 2.28")
    try:
        make([w for w in a.compiler.split(";") if w], a.readelf, newest, os.path.abspath(a.archive), os.path.abspath(a.folder))
    except (Failure, subprocess.CalledProcessError) as e:
        print(f"glibc_stubs.py: {e}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
