#!/usr/bin/env python3
"""Tests that portable.py finds code that depends on the machine, and nothing else."""
import unittest

import portable


class Portable(unittest.TestCase):
    def found(self, path, text):
        return list(portable.complaints(path, text))

    def test_encodings(self):
        for bad in ("open('a')", "open('a', 'w')", "open('a', mode='a')", "subprocess.run(['x'], text=True)", "tempfile.NamedTemporaryFile('w')", "p.read_text()"):
            self.assertEqual(len(self.found("tools/x.py", bad)), 1, bad)
            self.assertIn("the locale would choose it", self.found("tools/x.py", bad)[0])
        for good in ("open('a', 'rb')", "open('a', encoding='utf-8')", "subprocess.run(['x'])", "subprocess.run(['x'], encoding='utf-8')", "tempfile.NamedTemporaryFile()",
                     "os.open('a', os.O_RDONLY)"):
            self.assertEqual(self.found("tools/x.py", good), [], good)

    def test_the_environment_is_read_in_few_places(self):
        self.assertIn("reads the environment", self.found("src/run/x.cc", 'std::getenv("X")')[0])
        for path in ("src/base/cpu.cc", "src/run/x_test.cc", "tests/abi/x.cc"):
            self.assertEqual(self.found(path, 'std::getenv("X")'), [])

    def test_locales(self):
        for bad in ("std::strtod(p, &e)", "tolower(c)", "std::stof(s)", "std::isalnum(c)"):
            self.assertIn("depends on the locale", self.found("src/ops/x.cc", bad)[0])
        for path, text in (("src/ops/x.cc", "c_strtod(p, &e) + letters.tolower(c) + std::stoll(s)"), ("apps/retort/x.cc", "std::tolower(c)"), ("src/ops/x_test.cc", "std::stof(s)")):
            self.assertEqual(self.found(path, text), [])

    def test_temporary_files(self):
        for bad in ('p = testing::TempDir() + "a.onnx";', 'p = std::filesystem::temp_directory_path() /\n    "a.onnx";', 'p = std::env::temp_dir(); open("/tmp/x")'):
            self.assertEqual(len(self.found("src/run/x_test.cc", bad)), 1, bad)
        self.assertEqual(len(self.found("tests/x.sh", "sort a > /tmp/sorted")), 1)
        for good in ('p = testing::TempDir() + std::to_string(getpid()) + "a";', 'std::string p = temp_directory_path() / "a-XXXXXX";', 'refuses("/tmp/w.bin")'):
            self.assertEqual(self.found("src/run/x_test.cc", good), [], good)


if __name__ == "__main__":
    unittest.main()
