#!/usr/bin/env python3
"""How commands end in the middle: signals, pipes that end early, files that cannot be written."""
import contextlib
import ctypes
import errno
import json
import os
import platform
import resource
import shutil
import signal
import stat
import struct
import subprocess
import sys
import threading
import time
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tool import DIGITS, TOOL, ToolTest, catches, children, maps, retort, until

ELEMENTS = 32 << 20  # of the large model: 128 MiB
CALLS = {"linkat": {"x86_64": 265, "aarch64": 37}}  # numbers of system calls


def short_files():
    """For preexec_fn: files of more than 1000 bytes cannot be written."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))


def denied(call):
    """What makes a process get EPERM from a system call, for preexec_fn; None if the system cannot."""
    number = CALLS[call].get(platform.machine())
    libc = ctypes.CDLL(None, use_errno=True)
    set_no_new_privileges, set_filter, filter_mode = 38, 22, 2
    load, equal, give = 0x20, 0x15, 0x06  # a word of the call's description, a comparison, the answer
    if number is None or libc.prctl(set_filter, filter_mode, None) == 0 or ctypes.get_errno() not in (errno.EFAULT, errno.EACCES):
        return None
    code = b"".join(struct.pack("=HBBI", *step) for step in ((load, 0, 0, 0), (equal, 0, 1, number), (give, 0, 0, 0x50000 | errno.EPERM), (give, 0, 0, 0x7FFF0000)))
    steps = ctypes.create_string_buffer(code)
    program = struct.pack("=H6xQ", len(code) // 8, ctypes.addressof(steps))

    def deny():
        assert steps and libc.prctl(set_no_new_privileges, 1, 0, 0, 0) == 0 and libc.prctl(set_filter, filter_mode, program) == 0
    return deny


class Endings(ToolTest):
    def large(self):
        value = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [ELEMENTS]) for n in "xy"]
        graph = helper.make_graph([helper.make_node("Add", ["x", "w"], ["y"])], "g", value[:1], value[1:], [numpy_helper.from_array(np.zeros(ELEMENTS, np.float32), "w")])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), self.path("large.onnx"))
        return self.path("large.onnx")

    def start(self, *words, **settings):
        return subprocess.Popen([TOOL, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", **settings)

    def has_nameless_files(self):
        try:
            os.close(os.open(self.folder, os.O_WRONLY | os.O_TMPFILE))
        except OSError:
            return False
        return True

    def written(self, process):
        """Bytes in files of this folder that have no name yet; -1: the process has none."""
        most = -1
        with contextlib.suppress(OSError):  # it ended, or closed a file
            for file in os.scandir(f"/proc/{process}/fd"):
                place = os.readlink(file.path)
                if place.startswith(self.folder) and place.endswith(" (deleted)"):
                    most = max(most, os.stat(file.path).st_size)
        return most

    def test_nothing_is_left_of_a_killed_conversion(self):
        if not self.has_nameless_files():
            self.skipTest("the file system has no files without a name")
        model = self.large()
        ended = set()
        for words in (["convert", model, self.path("out.onnx"), "--external", "w.bin"], ["run", model, "--save", self.path("out.npz")]):
            for size in (0, 1, 2 * ELEMENTS, 4 * ELEMENTS):  # from before the first byte to after the last one
                for sent in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
                    for f in set(os.listdir(self.folder)) - {"large.onnx"}:  # a file that replaces another has a second name for a moment
                        os.remove(self.path(f))
                    running = self.start(*words)
                    until(lambda running=running, size=size: self.written(running.pid) >= size, running)
                    running.send_signal(sent)
                    running.communicate(timeout=60)
                    ended.add(running.returncode)
                    self.assertEqual([f for f in os.listdir(self.folder) if f.endswith(".part")], [])
                    for f in set(os.listdir(self.folder)) - {"large.onnx"}:
                        self.assertGreaterEqual(os.path.getsize(self.path(f)), 4 * ELEMENTS if f != "out.onnx" else 1)
                        os.remove(self.path(f))
        self.assertLess(min(ended), 0)

    def test_one_run_ends_at_once(self):
        running = self.start("run", self.large(), "--threads", "1")
        until(lambda: maps(running.pid, "large.onnx"), running)
        running.send_signal(signal.SIGINT)
        begin = time.monotonic()
        running.communicate(timeout=60)
        self.assertEqual(running.returncode, -signal.SIGINT)
        self.assertLess(time.monotonic() - begin, 1)

    def test_a_signal_for_the_suite_alone_ends_its_scenario(self):
        os.mkdir(self.path("suite"))
        for n in "ab":
            shutil.copy(DIGITS, self.path(f"suite/{n}.onnx"))
        running = self.start("bench", "--suite", self.path("suite"), "--seconds", "30", "--report", self.path("r.json"))
        self.assertTrue(until(lambda: children(running.pid), running))
        running.send_signal(signal.SIGTERM)
        _, err = running.communicate(timeout=20)
        self.assertEqual(running.returncode, 128 + signal.SIGTERM, err)
        self.assertTrue(os.path.exists(self.path("r.json")))

    def test_a_closed_terminal_leaves_no_folder(self):
        os.mkdir(self.path("temporary"))
        running = self.start("profile", DIGITS, "--repeat", "100000", "--html", self.path("p.html"), env={**os.environ, "TMPDIR": self.path("temporary")})
        self.assertTrue(until(lambda: os.listdir(self.path("temporary")) and catches(running.pid, signal.SIGHUP), running))
        running.send_signal(signal.SIGHUP)
        _, err = running.communicate(timeout=60)
        self.assertEqual(running.returncode, 128 + signal.SIGHUP, err)
        self.assertEqual(os.listdir(self.path("temporary")), [])
        self.assertTrue(os.path.exists(self.path("p.html")))

    def test_ignored_signals_stay_ignored(self):
        running = self.start("bench", DIGITS, "--seconds", "1", "--starts", "1", preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
        self.assertTrue(until(lambda: catches(running.pid, signal.SIGTERM), running))
        self.assertFalse(catches(running.pid, signal.SIGINT))
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=60)
        self.assertEqual(running.returncode, 0, err)

    def feed(self, name, content):
        """A pipe of that name into which a thread writes this once."""
        os.mkfifo(self.path(name))

        def write():
            with open(self.path(name), "wb") as f:
                f.write(content)
        threading.Thread(target=write, daemon=True).start()
        return self.path(name)

    def test_inputs_from_pipes(self):
        image = self.npy("image.npy", self.image)
        with open(image, "rb") as f:
            whole = f.read()
        code, out, err = retort("run", DIGITS, "-i", self.feed("pipe.npy", whole), "--json")
        self.assertEqual(code, 0, err)
        self.assertEqual(json.loads(out)["outputs"], json.loads(retort("run", DIGITS, "-i", image, "--json")[1])["outputs"])
        for i, size in enumerate((0, 3, 11, 40, len(whole) - 1)):
            code, out, err = retort("run", DIGITS, "-i", self.feed(f"short{i}.npy", whole[:size]))
            self.assertEqual((code, out), (1, ""))
            self.assertRegex(err, r"short\d\.npy: (not an \.npy file|the \.npy (header|data) is cut off)")

    def test_other_inputs_from_pipes(self):
        tensor = self.pb("image.pb", self.image)
        with open(tensor, "rb") as f:
            whole = f.read()
        self.assertEqual(retort("run", DIGITS, "-i", self.feed("pipe.pb", whole))[0], 0)
        self.fails(1, ["run", DIGITS, "-i", self.feed("cut.pb", whole[:-1])], "cut.pb: malformed TensorProto: the file is cut off or damaged")
        self.fails(1, ["run", DIGITS, "-i", self.feed("pipe.npz", b"PK")], "pipe.npz: an .npz file cannot come from a pipe")

    def test_a_large_array_is_in_memory_once(self):
        graph = helper.make_graph([helper.make_node("ReduceMax", ["x"], ["y"], keepdims=0)], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n"])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, [])])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), self.path("m.onnx"))
        peaks = []
        for elements in (1, ELEMENTS):
            running = self.start("run", self.path("m.onnx"), "-i", self.npy("x.npy", np.zeros(elements, np.float32)))
            _, status, usage = os.wait4(running.pid, 0)
            running.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual(running.returncode, 0, running.communicate()[1])
            peaks.append(usage.ru_maxrss << 10)
        self.assertLess(peaks[1] - peaks[0], 1.3 * 4 * ELEMENTS)

    def test_models_from_pipes(self):
        with open(DIGITS, "rb") as f:
            whole = f.read()
        for size, right in ((len(whole), 0), (len(whole) - 1, 1), (100, 1), (0, 1)):
            for command in ("inspect", "ops"):
                done = subprocess.run([TOOL, command, "-"], input=whole[:size], capture_output=True)
                self.assertEqual(done.returncode, right, done.stderr)
                self.assertEqual(b"standard input" in done.stderr, bool(right), done.stderr)
                self.assertNotIn(b"/proc/", done.stderr + done.stdout)
            pipe = self.feed(f"pipe{size}.onnx", whole[:size])
            code, _, err = retort("run", pipe)
            self.assertEqual(code, right, err)
            self.assertEqual(pipe in err, bool(right), err)

    def test_a_file_that_cannot_be_written_whole_keeps_the_old_one(self):
        for words, name in ((["run", DIGITS, "--shape", "batch=100", "--save"], "out.npz"), (["run", DIGITS, "--shape", "batch=100", "--save"], "out.csv"),
                            (["inspect", DIGITS, "--html"], "out.html"), (["convert", DIGITS], "out.onnx")):
            with open(self.path(name), "wb") as f:
                f.write(b"old")
            running = self.start(*words, self.path(name), preexec_fn=short_files)
            _, err = running.communicate(timeout=60)
            self.assertEqual(running.returncode, 1, err)
            self.assertIn("cannot write", err)
            with open(self.path(name), "rb") as f:
                self.assertEqual(f.read(), b"old", name)
        self.assertEqual([f for f in os.listdir(self.folder) if f.endswith(".part")], [])

    def test_nothing_is_left_of_what_cannot_be_written(self):
        os.mkdir(self.path("models"))
        shutil.copy(DIGITS, self.path("models"))
        os.mkdir(self.path("new"))
        batch = ["run", DIGITS, "--shape", "batch=100"]
        suite = ["bench", "--suite", self.path("models"), "--seconds", "0.01", "--starts", "1"]
        for words in ([*batch, "--save", "a/b"], [*batch, "--save", "a.npz"], [*batch, "--save", "a.csv"], ["run", DIGITS, "--profile", "p"],
                      ["profile", DIGITS, "--trace", "t.json"], ["profile", DIGITS, "--html", "p.html"], ["inspect", DIGITS, "--html", "i.html"],
                      ["convert", DIGITS, "o.onnx"], ["convert", DIGITS, "o.ort"], ["convert", DIGITS, "o.onnx", "--external", "w"],
                      ["convert", DIGITS, "o.onnx", "--optimize", "all"], [*suite, "--report", "r.json"], [*suite, "--html", "r.html"]):
            running = self.start(*words, preexec_fn=short_files, cwd=self.path("new"))
            _, err = running.communicate(timeout=60)
            self.assertEqual(running.returncode, 1, (words, err))
            self.assertRegex(err, r"^retort: .*cannot write .*: File too large", words)
            self.assertEqual(err.count("\n"), 1, err)
            self.assertEqual(os.listdir(self.path("new")), [], words)

    @unittest.skipUnless(os.environ.get("RETORT_ORACLE"), "RETORT_ORACLE names no engine that writes half of a profile")
    def test_a_profile_of_another_engine_that_is_cut_off(self):
        running = self.start("profile", DIGITS, "--library", os.environ["RETORT_ORACLE"], preexec_fn=short_files)
        _, err = running.communicate(timeout=60)
        self.assertEqual(running.returncode, 1, err)
        self.assertRegex(err, r"^retort: .* is not a whole profile; is there space in its folder\?\n$")

    @unittest.skipUnless(os.geteuid() == 0, "needs a second user")
    def test_a_folder_of_another_user(self):
        os.chmod(self.folder, 0o755)
        model = "digits.onnx"  # a relative path: the folders above may be closed to other users
        shutil.copy(DIGITS, self.path(model))
        os.chmod(self.path(model), 0o644)
        for command, *words in (["run", "--save", "a"], ["run", "--save", "a.npz"], ["run", "--profile", "p"], ["inspect", "--html", "i.html"],
                                ["profile", "--trace", "t.json"], ["convert", "o.onnx"], ["convert", "o.onnx", "--optimize", "all"]):
            try:
                running = self.start(command, model, *words, cwd=self.folder, user=65534, group=65534, extra_groups=[])
            except PermissionError:
                self.skipTest("other users cannot run " + TOOL)
            _, err = running.communicate(timeout=60)
            self.assertEqual(running.returncode, 1, (words, err))
            self.assertRegex(err, r"^retort: .*cannot write .*Permission denied.*\n$", words)
            self.assertEqual(os.listdir(self.folder), [model], words)

    @unittest.skipUnless(os.geteuid() == 0, "needs a second user")
    def test_files_that_only_another_user_reads(self):
        os.chmod(self.folder, 0o755)
        shutil.copy(DIGITS, self.path("digits.onnx"))
        os.chmod(self.path("digits.onnx"), 0o644)
        os.mkdir(self.path("closed"), 0o700)
        with open(os.open(self.path("text"), os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="utf-8") as f:
            f.write("a\n")
        for code, *words in ((1, "run", "digits.onnx", "--list", "text"), (1, "run", "digits.onnx", "--top", "1", "--labels", "text"), (1, "bench", "--from", "text"),
                             (1, "bench", "--suite", "closed"), (2, "inspect", "closed/a.onnx")):
            try:
                running = self.start(*words, cwd=self.folder, user=65534, group=65534, extra_groups=[])
            except PermissionError:
                self.skipTest("other users cannot run " + TOOL)
            out, err = running.communicate(timeout=60)
            self.assertEqual((running.returncode, out), (code, ""), (words, err))
            self.assertRegex(err, r"^retort.*'(text|closed/\S+)': Permission denied\n", words)

    def test_a_file_system_that_gives_no_names(self):
        """Files without a name that cannot get one are copied to one that has it."""
        filtered = denied("linkat")
        if not filtered:
            self.skipTest("the system filters no calls")
        for words, name in ((["inspect", DIGITS, "--html"], "out.html"), (["run", DIGITS, "--save"], "out.npz"), (["convert", DIGITS], "out.onnx"),
                            (["convert", DIGITS, "--format", "ort"], "out.ort")):
            running = self.start(*words, self.path(name), preexec_fn=filtered)
            _, err = running.communicate(timeout=60)
            self.assertEqual(running.returncode, 0, err)
            self.assertGreater(os.path.getsize(self.path(name)), 200)
        self.assertEqual(retort("convert", DIGITS, self.path("right"))[0], 0)
        with open(self.path("out.onnx"), "rb") as f, open(self.path("right"), "rb") as right:
            self.assertEqual(f.read(), right.read())
        self.assertEqual([f for f in os.listdir(self.folder) if f.endswith(".part")], [])

    def test_what_is_replaced(self):
        """Links stay links, modes stay, and what is no file is written to."""
        os.mkdir(self.path("far"))
        os.symlink("far/page.html", self.path("link.html"))
        with open(self.path("far/page.html"), "w", encoding="utf-8") as f:
            f.write("old")
        os.chmod(self.path("far/page.html"), 0o640)
        groups = [g for g in os.getgroups() if g != os.getegid()] + ([100] if os.geteuid() == 0 else [])
        group = groups[0] if groups else os.getegid()
        os.chown(self.path("far/page.html"), -1, group)
        self.assertEqual(retort("inspect", DIGITS, "--html", self.path("link.html"))[0], 0)
        self.assertEqual(os.stat(self.path("far/page.html")).st_gid, group)
        self.assertTrue(os.path.islink(self.path("link.html")))
        self.assertEqual(stat.S_IMODE(os.stat(self.path("far/page.html")).st_mode), 0o640)
        with open(self.path("far/page.html"), encoding="utf-8") as f:
            page = f.read()
        self.assertIn("<html", page)
        self.assertEqual(retort("inspect", DIGITS, "--html", "/dev/null")[0], 0)
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/null").st_mode))
        code, _, err = retort("inspect", DIGITS, "--html", "/dev/full")
        self.assertEqual(code, 1)
        self.assertIn("cannot write '/dev/full': No space left on device", err)

    def test_pipes(self):
        """Also those that a shell or a program names by a link in /proc."""
        for file in (">(cat)", "/proc/self/fd/1", "/dev/fd/1"):
            done = subprocess.run(["bash", "-c", f"'{TOOL}' inspect '{DIGITS}' --html {file} | cat"], capture_output=True, encoding="utf-8")
            self.assertNotIn("cannot", done.stderr)
            self.assertIn("</html>", done.stdout)

    def test_closed_standard_output(self):
        """A file that the command writes must not become its standard output."""
        for words, name in ((["run", DIGITS, "--save"], "out.npz"), (["inspect", DIGITS, "--html"], "out.html")):
            subprocess.run(f"'{TOOL}' {' '.join(words)} '{self.path(name)}' >&- 2>&-", shell=True)
            _, out, _ = retort(*words, self.path("again_" + name))
            ends = []
            for path in (self.path(name), self.path("again_" + name)):
                with open(path, "rb") as f:
                    written = f.read()
                self.assertNotIn(out.splitlines()[0].encode(), written)
                ends.append((written[:100], written[-20:]))
            self.assertEqual(ends[0], ends[1])


if __name__ == "__main__":
    sys.exit(unittest.main())
