"""What the tests find around them, so that they pass wherever and by whomever they are started.

The user's locale, time zone, processors and RETORT_ISA stay: results must not depend on them. What would change the
question is taken away or replaced: variables that name another library, temporary files that two suites would share.
"""
import contextlib
import fcntl
import os
import pwd
import tempfile

# Names, or beginnings of names with a "*", of variables that point elsewhere than the build under test.
DROPPED = ("RETORT_LIBRARY", "RETORT_OUT", "RETORT_LOOPBACK", "RETORT_CLI", "RETORT_DIGITS", "RETORT_CPP", "RETORT_ABI", "ORT_*", "ONNXRUNTIME_*",
           "PYTHONPATH", "PYTHONHOME", "GTEST_*", "CTEST_*", "NO_COLOR", "ONEDNN_VERBOSE", "DNNL_VERBOSE")
ENGINES = ("libretort.so", "libonnxruntime.so")  # a folder of libraries that has one would win over what programs were linked with


def is_dropped(name):
    return any(name.startswith(d[:-1]) if d.endswith("*") else name == d for d in DROPPED)


def has_engine(folder):
    try:
        return any(name.startswith(ENGINES) for name in os.listdir(folder or "."))
    except OSError:
        return False


def kept(variables):
    """The variables that stay; of LD_LIBRARY_PATH the folders without an engine."""
    left = {name: value for name, value in variables.items() if not is_dropped(name)}
    if "LD_LIBRARY_PATH" in left:
        left["LD_LIBRARY_PATH"] = ":".join(f for f in left["LD_LIBRARY_PATH"].split(":") if f and not has_engine(f))
    return left


def home_of(variables, work):
    """Variables of a home in `work` for compilers and package clients, where the user has none that can be written to."""
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
    """The environment of this process, as tests want it, while the context lasts."""
    try:
        os.fstat(0)
    except OSError:
        os.open(os.devnull, os.O_RDONLY)  # or the next file would be taken for standard input
    before = dict(os.environ)
    variables = kept(before)
    variables.update(home_of(variables, work))
    variables["PYTHONUTF8"] = "1"  # sources and logs are UTF-8, whatever the locale says
    mask = os.umask(0o022)
    # Short, because names of sockets are bounded; of this suite alone, because others may run.
    with tempfile.TemporaryDirectory(prefix="retort-", ignore_cleanup_errors=True) as folder:
        variables["TMPDIR"] = folder
        variables["TEST_TMPDIR"] = folder + os.sep  # googletest's name for it
        os.environ.clear()
        os.environ.update(variables)
        tempfile.tempdir = None  # ask again
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)
            tempfile.tempdir = None
            os.umask(mask)


@contextlib.contextmanager
def maven_alone():
    """Of all suites of this user one lets Maven write to its store of downloads, which it does not lock itself."""
    store = os.path.join(os.environ["HOME"], ".m2")
    os.makedirs(store, exist_ok=True)
    with open(os.path.join(store, ".retort-tests.lock"), "w", encoding="utf-8") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        yield


def processors():
    """Of the machine those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
