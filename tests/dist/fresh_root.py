"""A Debian system in a folder, made once and unpacked for each use, to install and remove packages."""
import hashlib
import os
import shutil
import subprocess

import made

SOURCES = "/etc/apt/sources.list.d/debian.sources"
# The packages that dpkg needs and those that ours depend on: a third of a usual system, made in a third of the time.
INCLUDE = "base-files,base-passwd,bash,coreutils,dash,debianutils,diffutils,dpkg,findutils,grep,libc-bin,sed,tar,libstdc++6,libgcc-s1"
# Files that dpkg and ldconfig keep for themselves.
THEIRS = ("var/lib/dpkg", "var/log", "var/cache/ldconfig", "etc/ld.so.cache")


class Missing(Exception):
    pass


def codename():
    with open("/etc/os-release", encoding="utf-8") as f:
        values = dict(line.rstrip("\n").split("=", 1) for line in f if "=" in line)
    return values.get("VERSION_CODENAME", "").strip('"')


def packed():
    """The system as a tar file. It has no documentation of its packages, which would take as long to write as
    everything else."""
    if os.geteuid() != 0:
        raise Missing("a system in a folder needs the rights of root")
    if not shutil.which("mmdebstrap"):
        raise Missing("no mmdebstrap; tools/setup.sh dist installs it")
    path = os.path.join(made.WORK, f"root.{codename()}.tar")
    if not os.path.exists(path):
        os.makedirs(made.WORK, exist_ok=True)
        part = path.removesuffix(".tar") + ".part.tar"
        docs = [f"--dpkgopt=path-exclude=/usr/share/{n}/*" for n in ("doc", "man", "locale", "info")]
        done = subprocess.run(["mmdebstrap", "--mode=root", "--variant=custom", "--include=" + INCLUDE, *docs, "--dpkgopt=force-unsafe-io",
                               '--aptopt=Acquire::Languages "none"', codename(), part, *([SOURCES] if os.path.exists(SOURCES) else [])],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", check=False)
        if done.returncode:
            raise Missing("mmdebstrap makes no system here: " + " | ".join(done.stdout.strip().splitlines()[-3:]))
        os.rename(part, path)
    return path


class Root:
    def __init__(self, name):
        self.folder = made.fresh(name)
        made.run("tar", "--numeric-owner", "-C", self.folder, "-xpf", packed())
        # Excludes files from the system.
        os.remove(os.path.join(self.folder, "etc", "dpkg", "dpkg.cfg.d", "99mmdebstrap"))

    def remove(self):
        shutil.rmtree(self.folder)

    def put(self, path):
        """Copies a file to its /tmp; returns the path there."""
        shutil.copy(path, os.path.join(self.folder, "tmp"))
        return "/tmp/" + os.path.basename(path)

    def command(self, words):
        return ["env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive", "chroot", self.folder, *words]

    def run(self, *words):
        return made.run(*self.command(words))

    def fails(self, *words):
        """The output of a command that fails."""
        done = subprocess.run(self.command(words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", check=False)
        if done.returncode == 0:
            raise AssertionError(f"{' '.join(words)} did not fail: {done.stdout}")
        return done.stdout

    def has(self, path):
        return os.path.exists(os.path.join(self.folder, path))

    def files(self):
        """{path: its content}, without the files of dpkg and ldconfig, and without /tmp."""
        found = {}
        for at, folders, names in os.walk(self.folder):
            for name in folders + names:
                path = os.path.join(at, name)
                short = os.path.relpath(path, self.folder)
                if short.startswith((*THEIRS, "tmp/")):
                    continue
                if os.path.islink(path):
                    found[short] = os.readlink(path)
                elif os.path.isfile(path):
                    found[short] = hashlib.sha256(made.bytes_of(path)).hexdigest()
                else:
                    found[short] = ""
        return found
