"""Installed packages in an environment of their own: what they contain, and that nothing of a build is needed.

They come from the wheels of make wheel, or from `pip install ./bindings/python`, which installs retort only.
"""
import importlib.metadata
import os
import pathlib
import shutil
import subprocess
import sys

import pytest
import retort

PACKAGES = os.environ.get("RETORT_INSTALLED", "").split()
pytestmark = pytest.mark.skipif(not PACKAGES, reason="the package was not installed (RETORT_INSTALLED)")
both = pytest.mark.skipif("onnxruntime" not in PACKAGES, reason="RETORT_INSTALLED does not name onnxruntime")
ROOT = pathlib.Path(__file__).resolve().parents[3]
SITE = pathlib.Path(retort.__file__).parents[1]


def python(code, *arguments):
    """What a new process prints, without variables that name a library or a folder of packages."""
    env = {name: value for name, value in os.environ.items() if name not in ("RETORT_LIBRARY", "PYTHONPATH")}
    done = subprocess.run([sys.executable, "-c", code, *map(str, arguments)], capture_output=True, encoding="utf-8", env=env, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def program(*command):
    env = {name: value for name, value in os.environ.items() if name != "RETORT_LIBRARY"}
    return subprocess.run(list(map(str, command)), capture_output=True, encoding="utf-8", env=env, check=False)


@pytest.mark.parametrize("package", PACKAGES)
def test_one_engine(package):
    files = [path for path in (SITE / package).rglob("*") if path.is_file()]
    libraries = {path.name: path.stat().st_size for path in files if ".so" in path.name}
    assert sum(path.name == "libretort.so.1" for path in files) == 1
    forwards = libraries.pop("libonnxruntime.so.1.32.0", 0)
    assert (forwards > 0) == (package == "onnxruntime") and forwards < 20_000
    assert len(libraries) == 2, "the engine and the extension"


# Opens the library as onnxruntime-genai does, and tells its version, that of the interface, and the engines of the process.
OPEN = """
import ctypes, glob, os, sys
if len(sys.argv) > 2:
    import onnxruntime
    onnxruntime.get_available_providers()
path, = glob.glob(sys.argv[1] + "/capi/libonnxruntime.so*")
library = ctypes.CDLL(path)
class Base(ctypes.Structure):
    _fields_ = [("get_api", ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)), ("version", ctypes.CFUNCTYPE(ctypes.c_char_p))]
library.OrtGetApiBase.restype = ctypes.POINTER(Base)
base = library.OrtGetApiBase().contents
assert base.get_api(27)
with open("/proc/self/maps", encoding="utf-8") as maps:
    engines = {line.split(maxsplit=5)[5].strip() for line in maps if "libretort.so" in line}
print(base.version().decode(), *sorted(engines))
"""


@both
@pytest.mark.parametrize("imports", [[], ["imported"]])
def test_a_library_that_opens_the_file_of_the_official_wheel(imports):
    package = SITE / "onnxruntime"
    assert python(OPEN, package, *imports).split() == ["1.32.0", str(package / "libretort.so.1")]


@both
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_a_program_that_is_linked_to_the_file_of_the_official_wheel(tmp_path):
    source = tmp_path / "version.c"
    source.write_text(
        "#include <stdio.h>\n"
        "typedef struct { const void* (*get_api)(unsigned); const char* (*version)(void); } Base;\n"
        "const Base* OrtGetApiBase(void);\n"
        "int main(void) { return puts(OrtGetApiBase()->version()) < 0; }\n", encoding="utf-8")
    library = SITE / "onnxruntime" / "capi" / "libonnxruntime.so.1.32.0"
    # The file's name for the loader is libonnxruntime.so.1, as that of the official library.
    (tmp_path / "libonnxruntime.so.1").symlink_to(library)
    made = program("cc", source, library, f"-Wl,-rpath,{tmp_path}", "-o", tmp_path / "version")
    assert made.returncode == 0, made.stderr
    done = program(tmp_path / "version")
    assert (done.returncode, done.stdout) == (0, "1.32.0\n"), done.stderr


@pytest.mark.parametrize("package", PACKAGES)
def test_nothing_of_the_build_is_opened(package, digits):
    opened = python(
        "import sys, importlib, numpy\n"
        "package = importlib.import_module(sys.argv[1])\n"
        "package.InferenceSession(sys.argv[2]).run(None, {'image': numpy.zeros((1, 1, 8, 8), numpy.float32)})\n"
        "print(open('/proc/self/maps', encoding='utf-8').read())", package, digits)
    assert f"{SITE}/{package}/libretort.so.1" in opened
    assert f"{ROOT}/" not in opened


@both
def test_both_packages_in_one_process(digits):
    said = python(
        "import sys, numpy, retort, onnxruntime\n"
        "assert retort._native is not onnxruntime._native\n"
        "feed = {'image': numpy.random.default_rng(0).random((2, 1, 8, 8), numpy.float32)}\n"
        "first, second = (p.InferenceSession(sys.argv[1]).run(None, feed)[0] for p in (retort, onnxruntime))\n"
        "assert first.tobytes() == second.tobytes()\n"
        "try:\n"
        "    onnxruntime.InferenceSession('missing.onnx')\n"
        "except onnxruntime.capi.onnxruntime_pybind11_state.NoSuchFile as error:\n"
        "    assert not isinstance(error, retort.capi.onnxruntime_pybind11_state.NoSuchFile)\n"
        "print(onnxruntime.__version__)", digits)
    assert said.startswith("1.32.0")


@both
def test_versions():
    from packaging.requirements import Requirement
    version = importlib.metadata.version("onnxruntime")
    assert version == "1.32.0+retort"
    for wanted in ("onnxruntime", "onnxruntime>=1.16", "onnxruntime>=1.20,<2", "onnxruntime==1.32.0"):
        assert Requirement(wanted).specifier.contains(version)


def test_tool_as_a_module_and_as_a_program(digits):
    beside = pathlib.Path(sys.executable).with_name("retort")
    for command in ((sys.executable, "-m", "retort"), (beside,)):
        shown = program(*command, "inspect", digits)
        assert shown.returncode == 0, shown.stderr
        assert "probabilities" in shown.stdout
    assert program(beside, "no-such-command").returncode != 0


def test_tool_uses_the_library_of_the_package():
    shown = program(sys.executable, "-m", "retort", "--version")
    assert shown.returncode == 0, shown.stderr
    assert importlib.metadata.version("retort") in shown.stdout


@pytest.mark.parametrize("package", PACKAGES)
def test_licences_and_types(package):
    installed = importlib.metadata.files(package)
    files = {str(path) for path in installed}
    assert f"{package}/py.typed" in files
    if any("dir_info" in path.read_text(encoding="utf-8") for path in installed if path.name == "direct_url.json"):
        pytest.skip("built by pip from the checkout; make wheel adds the texts of licences")
    assert [path for path in files if path.endswith("licenses/README.md")]
