"""Shared by the tests of the command-line tool; RETORT_CLI names the program."""
import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import numpy as np
import onnx
from onnx import numpy_helper

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.path.abspath(os.environ.get("RETORT_CLI", os.path.join(ROOT, "out", "bin", "retort")))
DIGITS = os.path.join(ROOT, "examples", "digits", "digits.onnx")
# A shell in the background starts programs that ignore SIGINT, and nohup those that ignore SIGHUP: the tool would inherit
# that.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


def retort(*words):
    """Runs the tool; returns (exit code, stdout, stderr)."""
    done = subprocess.run([TOOL, *map(str, words)], capture_output=True, encoding="utf-8")
    return done.returncode, done.stdout, done.stderr


def until(what, running, seconds=120):
    """Waits until `what()` is true; False if the process ended before."""
    deadline = time.monotonic() + seconds
    while not what():
        if running.poll() is not None:
            return False
        assert time.monotonic() < deadline, "nothing came"
        time.sleep(0.0005)
    return True


def catches(process, number):
    """Whether the process has a handler for the signal."""
    with open(f"/proc/{process}/status", encoding="utf-8") as f:
        masks = dict(line.split(":", 1) for line in f)
    return bool(int(masks["SigCgt"], 16) >> (number - 1) & 1)


def maps(process, name):
    """Whether the process has a file of that name in its memory."""
    with contextlib.suppress(OSError), open(f"/proc/{process}/maps", encoding="utf-8") as f:
        return name in f.read()
    return False


def processor_seconds(process):
    """Processor time of the process itself."""
    with open(f"/proc/{process}/stat", encoding="utf-8") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def children(process):
    found = []
    for other in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{other}/stat", encoding="utf-8", errors="replace") as f:
            if int(f.read().rsplit(")", 1)[1].split()[1]) == process:
                found.append(int(other))
    return found


class ToolTest(unittest.TestCase):
    def browse(self, page, fragment=""):
        """The document of a page after its scripts ran, in headless Chromium."""
        browser = shutil.which("chromium")
        if not browser:
            self.skipTest("no chromium")
        command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--user-data-dir=" + self.path("browser"),
                   "--virtual-time-budget=60000", "--dump-dom", f"file://{page}#{fragment}"]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=120)
        if done.returncode and not done.stdout:
            self.skipTest("chromium does not run here: " + done.stderr[-200:])
        head = done.stdout[done.stdout.index("<body"):][:200]
        self.assertIn('data-ready="1"', head, done.stderr[-2000:])
        self.assertNotIn("data-error", head)
        return done.stdout[:done.stdout.index("<script>")]

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.image = np.random.default_rng(1).random((2, 1, 8, 8), np.float32)

    def official(self):
        """The path of the official library."""
        library = os.environ.get("RETORT_ORACLE")
        if not library:
            self.skipTest("no official ONNX Runtime")
        return library

    def path(self, name):
        return os.path.join(self.folder, name)

    def npy(self, name, array):
        np.save(self.path(name), array)
        return self.path(name)

    def pb(self, name, array):
        with open(self.path(name), "wb") as f:
            f.write(numpy_helper.from_array(array).SerializeToString())
        return self.path(name)

    def model(self, nodes, inputs, outputs):
        graph = onnx.helper.make_graph(nodes, "g", inputs, outputs)
        onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)], ir_version=10), self.path("m.onnx"))
        return self.path("m.onnx")

    def fails(self, code, words, *parts):
        """Checks wrong usage or input: nothing on standard output, and a message with these parts."""
        got, out, err = retort(*words)
        self.assertEqual((got, out), (code, ""), err)
        for part in parts:
            self.assertIn(part, err)
