"""The environment of the tests, so that they pass on any machine and for any user.

The user's locale, time zone, processors and RETORT_ISA stay, because results must not depend on them. Variables that
name another library are removed, and temporary files get a folder that no other suite uses.
"""
import contextlib
import fcntl
import os
import pwd
import tempfile

# Variables that refer to other files than those of the build under test; names that end in "*" are prefixes.
DROPPED = ("RETORT_LIBRARY", "RETORT_OUT", "RETORT_LOOPBACK", "RETORT_CLI", "RETORT_DIGITS", "RETORT_CPP", "RETORT_ABI", "ORT_*", "ONNXRUNTIME_*",
           "PYTHONPATH", "PYTHONHOME", "GTEST_*", "CTEST_*", "NO_COLOR", "ONEDNN_VERBOSE", "DNNL_VERBOSE")
ENGINES = ("libretort.so", "libonnxruntime.so")  # a library path with one of these would replace the library that programs were linked with


def is_dropped(name):
    return any(name.startswith(d[:-1]) if d.endswith("*") else name == d for d in DROPPED)


def has_engine(folder):
    try:
        return any(name.startswith(ENGINES) for name in os.listdir(folder or "."))
    except OSError:
        return False


def kept(variables):
    """The variables that stay, with the folders of LD_LIBRARY_PATH that contain no engine."""
    left = {name: value for name, value in variables.items() if not is_dropped(name)}
    if "LD_LIBRARY_PATH" in left:
        left["LD_LIBRARY_PATH"] = ":".join(f for f in left["LD_LIBRARY_PATH"].split(":") if f and not has_engine(f))
    return left


def home_of(variables, work):
    """Variables of the home folder: the user's, or one in `work` for compilers and package clients if the user's is not
    writable."""
    home = variables.get("HOME", "")
    if not home:
        with contextlib.suppress(KeyError):  # a user without a name, as in containers
            home = pwd.getpwuid(os.getuid()).pw_dir
    if home and os.access(home, os.W_OK | os.X_OK):
        return {"HOME": home}
    home = os.path.join(os.path.abspath(work), "home")
    os.makedirs(home, exist_ok=True)
    java = f'{variables.get("JDK_JAVA_OPTIONS", "")} -Duser.home="{home}"'.strip()  # Maven asks the system, not HOME
    return {"HOME": home, "JDK_JAVA_OPTIONS": java}


@contextlib.contextmanager
def settled(work):
    """Gives this process the environment that tests need, as long as the context lasts."""
    try:
        os.fstat(0)
    except OSError:
        os.open(os.devnull, os.O_RDONLY)  # otherwise the next opened file would become standard input
    before = dict(os.environ)
    variables = kept(before)
    variables.update(home_of(variables, work))
    variables["PYTHONUTF8"] = "1"  # sources and logs are UTF-8 in every locale
    mask = os.umask(0o022)
    # The path is short, because names of sockets have a limit; each suite has its own folder, because several may run
    # at once.
    with tempfile.TemporaryDirectory(prefix="retort-", ignore_cleanup_errors=True) as folder:
        variables["TMPDIR"] = folder
        variables["TEST_TMPDIR"] = folder + os.sep  # googletest's name for it
        os.environ.clear()
        os.environ.update(variables)
        tempfile.tempdir = None  # makes tempfile read TMPDIR again
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)
            tempfile.tempdir = None
            os.umask(mask)


@contextlib.contextmanager
def maven_alone():
    """Lets one suite of this user at a time start Maven, which does not lock its store of downloads."""
    store = os.path.join(os.environ["HOME"], ".m2")
    os.makedirs(store, exist_ok=True)
    with open(os.path.join(store, ".retort-tests.lock"), "w", encoding="utf-8") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        yield


def processors():
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
