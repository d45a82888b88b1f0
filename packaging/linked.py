"""Finds the packages of the system that have code in the files of a build: headers that were compiled, archives that
were linked.

It reads ninja's own records, so that a library that is added to a link line cannot be missed.
"""
import glob
import os
import re
import subprocess

TARGETS = {"library": ["libretort.so", "libonnxruntime.so", "libretort.a"], "tool": ["retort"], "providers": ["libretort_onednn.so", "libretort_xnnpack.so", "libretort_cuda.so"]}


ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OWNERS = ".owners"  # package and path, for each file that was unpacked


class Unknown(Exception):
    pass


def run(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, encoding="utf-8", **options).stdout


def targets(build):
    """The entries of TARGETS that this build has, by part."""
    names = {line.split(":")[0] for line in run("ninja", "-C", build, "-t", "targets", "all").splitlines()}
    return {part: found for part, wanted in TARGETS.items() if (found := [t for t in wanted if t in names])}


def headers_of_objects(build):
    """{object: the files that it was compiled from}, as the compiler reported them to ninja."""
    objects, current = {}, None
    for line in run("ninja", "-C", build, "-t", "deps").splitlines():
        if line.startswith(" "):
            current.append(line.strip())
        elif ": #deps" in line:
            current = objects.setdefault(line.split(": #deps")[0], [])
    return objects


def compiler_archives(build):
    """The compiler's own libraries, which no link line names, and those of the C library that it adds."""
    found, = glob.glob(os.path.join(build, "CMakeFiles", "*", "CMakeCXXCompiler.cmake"))  # the cache does not have the compiler of a toolchain file
    with open(found, encoding="utf-8") as f:
        compiler = re.search(r'^set\(CMAKE_CXX_COMPILER "(.*)"\)$', f.read(), re.M).group(1)
    for name in ("libgcc.a", "libstdc++.a", "libc_nonshared.a"):
        path = run(compiler, "-print-file-name=" + name).strip()
        if os.path.isabs(path):  # otherwise the compiler has no such file
            yield path


def unpacked_owners(paths):
    """{path: package} of files in a folder into which tools/setup.sh unpacked packages, which also lists their
    files."""
    lists, result = {}, {}
    for path in paths:
        folder = os.path.dirname(path)
        while folder != "/" and not os.path.exists(os.path.join(folder, OWNERS)):
            folder = os.path.dirname(folder)
        if folder != "/" and folder not in lists:
            with open(os.path.join(folder, OWNERS), encoding="utf-8") as f:
                lists[folder] = {file: package for package, file in (line.rstrip("\n").split("\t") for line in f)}
        if package := lists.get(folder, {}).get(os.path.relpath(path, folder)):
            result[path] = (package, folder)
    return result


def files(build):
    """{part: files from outside the project that are part of its objects and libraries}"""
    own = (ROOT + os.sep, os.path.abspath(build) + os.sep)
    objects, result = headers_of_objects(build), {}
    for part, names in targets(build).items():
        inputs = run("ninja", "-C", build, "-t", "inputs", *names).splitlines()
        used = {path for name in inputs for path in objects.get(name, ())} | {p for p in inputs if p.endswith(".a")}
        used |= set(compiler_archives(build))
        used = {os.path.abspath(os.path.join(build, path)) for path in used}
        foreign = unpacked_owners([p for p in used if p.startswith(own) and p.endswith(".a")])
        result[part] = {p for p in used if not p.startswith(own)} | set(foreign)
    return result


def owners(paths):
    """{package: the folder in which its usr/share/doc is} of packages that bring these files; each has to have one."""
    found = unpacked_owners(paths)
    rest = {p: os.path.realpath(p) for p in paths if p not in found}
    asked = sorted({*rest, *rest.values()})
    answer = subprocess.run(["dpkg", "-S", *asked], capture_output=True, encoding="utf-8", check=False).stdout if asked else ""
    installed = {}
    for line in answer.splitlines():
        packages, _, path = line.partition(": ")
        installed[path] = packages.split(",")[0].split(":")[0]
    for path, real in rest.items():
        package = installed.get(path) or installed.get(real)
        if not package:
            raise Unknown(f"no package brings {path}, so there is no licence text for it; install it from a package")
        found[path] = (package, "/")
    return dict(sorted(found.values()))
