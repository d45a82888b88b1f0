#!/usr/bin/env python3
"""Tests that surroundings.py gives tests the same environment wherever they are started."""
import os
import subprocess
import sys
import tempfile
import unittest

import surroundings


class Surroundings(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_variables_that_name_another_library_go(self):
        given = {"RETORT_LIBRARY": "x", "ORT_DYLIB_PATH": "x", "ONNXRUNTIME_DIR": "x", "GTEST_FILTER": "x", "PYTHONPATH": "x"}
        stay = {"RETORT_ISA": "v2", "RETORT_ORACLE": "x", "LC_ALL": "C", "TZ": "UTC", "PATH": "x", "SORT": "x"}
        self.assertEqual(surroundings.kept({**given, **stay}), stay)

    def test_folders_of_other_engines_go(self):
        with open(os.path.join(self.folder, "libonnxruntime.so.1"), "w", encoding="utf-8"):
            pass
        self.assertEqual(surroundings.kept({"LD_LIBRARY_PATH": f"/a:{self.folder}::/nowhere"}), {"LD_LIBRARY_PATH": "/a:/nowhere"})

    def test_a_home_that_can_be_written_to(self):
        self.assertEqual(surroundings.home_of({"HOME": self.folder}, "work"), {"HOME": self.folder})
        made = surroundings.home_of({"HOME": "/nowhere"}, os.path.join(self.folder, "with space"))
        self.assertEqual(made["HOME"], os.path.join(self.folder, "with space", "home"))
        self.assertEqual(made["JDK_JAVA_OPTIONS"], f'-Duser.home="{made["HOME"]}"')
        self.assertTrue(os.path.isdir(made["HOME"]))

    def test_everything_is_as_before_behind_it(self):
        before, mask = dict(os.environ), os.umask(0o077)
        self.addCleanup(os.umask, mask)
        with surroundings.settled(self.folder):
            folder = os.environ["TMPDIR"]
            self.assertEqual((tempfile.gettempdir(), os.environ["TEST_TMPDIR"], os.environ["PYTHONUTF8"]), (folder, folder + "/", "1"))
            with open(os.path.join(folder, "left"), "w", encoding="utf-8") as f:
                self.assertEqual(os.fstat(f.fileno()).st_mode & 0o777, 0o644)
        self.assertFalse(os.path.exists(folder))
        self.assertEqual((dict(os.environ), os.umask(0o077)), (before, 0o077))

    def test_without_standard_input(self):
        script = "import os, surroundings\nwith surroundings.settled('.'): print(os.readlink('/proc/self/fd/0'))"
        done = subprocess.run(f'"{sys.executable}" -c "{script}" <&-', shell=True, cwd=self.folder, capture_output=True, encoding="utf-8",
                              env={**os.environ, "PYTHONPATH": os.path.dirname(os.path.abspath(surroundings.__file__))})
        self.assertEqual((done.stdout, done.stderr), ("/dev/null\n", ""))


if __name__ == "__main__":
    unittest.main()
