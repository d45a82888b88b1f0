"""The release archive: an installation, stripped, with a README and licence texts, packed so that the same input gives
the same bytes."""
import glob
import lzma
import os
import shutil
import subprocess
import sys
import tarfile

import licences
import linked

README = os.path.join(linked.ROOT, "packaging", "archive_readme.md.in")
MACHINES = {"x86_64": "Advanced Micro Devices X86-64", "aarch64": "AArch64"}

PROVIDERS = ("onednn", "xnnpack", "cuda")
RELEASES = {"dist", "wheels"}  # folders of an installation that `make dist` and `make wheel` fill


class Wrong(Exception):
    pass


def strip(tool, prefix):
    """Removes debug information and names that are not needed. The static archive keeps the names that linking
    needs."""
    for path in binaries(prefix):
        subprocess.run([tool, "--strip-debug" if path.endswith(".a") else "--strip-unneeded", path], check=True)


def binaries(prefix):
    found = [os.path.join(prefix, "bin", "retort"), *glob.glob(os.path.join(prefix, "lib", "**", "*"), recursive=True)]
    return sorted(p for p in found if os.path.isfile(p) and not os.path.islink(p) and (p.endswith((".a", ".so", ".so.1")) or "/bin/" in p))


def check_machine(path, arch):
    machine = subprocess.run(["readelf", "-h", path], check=True, capture_output=True, encoding="utf-8").stdout
    if MACHINES[arch] not in machine:
        raise Wrong(f"{path} is not for {arch}: readelf -h names another machine; build for {arch} first")


def check_symbols(prefix, glibc):
    """Checks that every file loads on the oldest systems that the build supports."""
    done = subprocess.run([sys.executable, os.path.join(linked.ROOT, "tools", "check_symbols.py"), "--glibc", glibc, prefix],
                          capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        raise Wrong(f"files of {prefix} do not load on glibc {glibc}:\n{done.stdout}{done.stderr}")


def check_providers(prefix):
    """Checks that a release for this machine has all providers: CMake leaves out a provider whose library it does not
    find."""
    for name in PROVIDERS:
        path = os.path.join(prefix, "lib", "providers", f"libretort_{name}.so")
        if not os.path.exists(path):
            raise Wrong(f"there is no {path}; install what `tools/setup.sh build` names and build again")


def readme(version, arch, providers):
    with open(README, encoding="utf-8") as f:
        text = f.read()
    kept, inside = [], True  # parts between {providers and providers} belong to archives that have them
    for line in text.splitlines(keepends=True):
        if line.strip() in ("{providers", "providers}"):
            inside = providers or line.strip() == "providers}"
        elif inside:
            kept.append(line)
    return "".join(kept).replace("@VERSION@", version).replace("@ARCH@", arch)


def copy_installation(prefix, to):
    """Replaces the folder `to` by a copy of the installation, without releases that were made of it."""
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(prefix, to, symlinks=True, ignore=lambda at, names: RELEASES & set(names) if at == prefix else ())


def stage(build, prefix, version, arch, glibc, to, strip_tool):
    """Makes the folder `to` with the content of the archive, from the installation in prefix."""
    check_machine(os.path.join(prefix, "lib", "libretort.so.1"), arch)
    copy_installation(prefix, to)
    strip(strip_tool, to)
    check_symbols(to, glibc)
    licences.collect(build, os.path.join(to, "licences"))
    shutil.copyfile(os.path.join(linked.ROOT, "LICENSE"), os.path.join(to, "LICENSE"))
    with open(os.path.join(to, "README.md"), "w", encoding="utf-8") as f:
        f.write(readme(version, arch, os.path.isdir(os.path.join(to, "lib", "providers"))))


def pack(folder, path, epoch, level):
    """Packs the folder into the file `path` (.tar.xz): sorted names, one owner, one time, modes that depend only on
    executability."""
    def plain(entry):
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = "root"
        entry.mtime = epoch
        entry.mode = 0o777 if entry.issym() else 0o755 if entry.isdir() or entry.mode & 0o100 and "/bin/" in entry.name else 0o644
        return entry

    top = os.path.dirname(folder)
    names = [folder] + [os.path.join(at, n) for at, folders, files in os.walk(folder) for n in folders + files]
    with lzma.open(path, "wb", preset=level) as packed, tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name in sorted(names):
            tar.add(name, os.path.relpath(name, top), recursive=False, filter=plain)
