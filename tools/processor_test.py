#!/usr/bin/env python3
"""Tests of processor.py."""
import unittest

import processor

SECOND = "processor\t: 1\nmodel name\t: another\n"


class Processor(unittest.TestCase):
    def test_the_first_processor_is_described(self):
        text = "processor\t: 0\ncpu family\t: 26\nmodel\t\t: 2\nmodel name\t: AMD EPYC\nflags\t\t: fpu avx2 avx512f avx512_vnni avx512_bf16\n\n" + SECOND
        self.assertEqual(processor.described(text, "x86_64"), "AMD EPYC (family 26, model 2, AVX-512, VNNI, BF16)")

    def test_a_processor_without_avx_512(self):
        self.assertEqual(processor.described("model name\t: Some\nflags\t: sse avx2\n", "x86_64"), "Some (AVX2)")

    def test_other_systems(self):
        self.assertEqual(processor.described("", "aarch64"), "aarch64")
        self.assertEqual(processor.described("processor\t: 0\nBogoMIPS\t: 50\n", "aarch64"), "aarch64")

    def test_this_machine(self):
        self.assertRegex(processor.describe(), r"^\S.*, \d+ cores, \w+$")


if __name__ == "__main__":
    unittest.main()
