"""Rewrites a wheel: the name of the package, the platform, licence texts; the same input gives the same bytes."""
import base64
import dataclasses
import glob
import hashlib
import os
import re
import subprocess
import sys
import time
import zipfile

GLIBC = (2, 28)  # that of the stubs that shipped files are linked with


@dataclasses.dataclass
class Same:
    """The package as it was built."""
    name: str = ""

    def path(self, path):
        return path

    def content(self, _, data):
        return data

    def added(self):
        return {}


@dataclasses.dataclass
class Renamed:
    """The package under another name and version. `folder` has the extension that was linked for it, and the library for programs that do
    not import it. The package's imports are relative."""
    name: str
    version: str
    folder: str

    def path(self, path):
        first, _, rest = path.partition("/")
        return f"{first.replace('retort', self.name, 1)}/{rest}" if first == "retort" else path

    def content(self, path, data):
        if re.fullmatch(r"[^/]+/_native[^/]*\.so", path):
            return self.file("_native*.so")[1]
        if path.endswith(".dist-info/METADATA"):
            text = re.sub(r"^Name: .*$", f"Name: {self.name}", data.decode(), count=1, flags=re.M)
            return re.sub(r"^Version: .*$", f"Version: {self.version}", text, count=1, flags=re.M).encode()
        return data

    def added(self):
        """{path: (content, mode)} of files that the package does not have under its own name."""
        name, data = self.file("libonnxruntime.so.*")
        return {f"{self.name}/capi/{name}": (data, 0o755)}

    def file(self, pattern):
        path, = glob.glob(os.path.join(self.folder, pattern))
        with open(path, "rb") as f:
            return os.path.basename(path), f.read()


def platform():
    return f"manylinux_{GLIBC[0]}_{GLIBC[1]}_{os.uname().machine}"


def entries(raw, change, texts, info):
    """{path: (content, mode)} of the new wheel, without RECORD."""
    found = change.added()
    with zipfile.ZipFile(raw) as wheel:
        for member in wheel.infolist():
            if member.is_dir() or member.filename.endswith(".dist-info/RECORD"):
                continue
            old_info, _, rest = member.filename.partition(".dist-info/")
            # The program `retort` belongs to the distribution of that name only.
            if rest == "entry_points.txt" and change.name:
                continue
            path = f"{info}/{rest}" if rest else change.path(old_info)
            data = change.content(path, wheel.read(member))
            if rest == "WHEEL":
                data = re.sub(rb"^(Tag: \S+?-\S+?)-\S+$", rb"\1-" + platform().encode(), data, flags=re.M)
            found[path] = data, member.external_attr >> 16 or 0o644
    for at, _, names in os.walk(texts):
        for name in names:
            path = os.path.join(at, name)
            with open(path, "rb") as f:
                found[f"{info}/licenses/{os.path.relpath(path, texts)}"] = f.read(), 0o644
    return found


def record(found, path):
    lines = []
    for name, (data, _) in sorted(found.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(data)}\n")
    return "".join(lines) + f"{path},,\n"


def write(raw, folder, change, texts, epoch):
    """Writes the changed wheel into the folder, in place of older ones of its name and tag; returns its path."""
    name, version, python, abi, _ = os.path.basename(raw)[:-len(".whl")].split("-")
    name, version = (change.name, change.version) if change.name else (name, version)
    info, path = f"{name}-{version}.dist-info", os.path.join(folder, f"{name}-{version}-{python}-{abi}-{platform()}.whl")
    found = entries(raw, change, texts, info)
    found[f"{info}/RECORD"] = record(found, f"{info}/RECORD").encode(), 0o644
    stamp = time.gmtime(max(epoch, 315532800))[:6]  # a zip file knows no time before 1980
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for member, (data, mode) in sorted(found.items()):
            entry = zipfile.ZipInfo(member, stamp)
            entry.external_attr = (0o100000 | (mode & 0o777 | 0o644)) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data, compresslevel=9)
    shrink(path)
    return path


def shrink(wheel):
    """Compresses the files of a wheel once more, by libdeflate, which finds 3 % that zlib leaves."""
    try:
        subprocess.run(["advzip", "-z", "-2", "-q", wheel], check=True)
    except FileNotFoundError:
        sys.exit("a wheel is compressed by advzip; install Debian's package advancecomp")
