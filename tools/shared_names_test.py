#!/usr/bin/env python3
"""Tests that shared_names.py finds names that two files of a folder share, and nothing else."""
import unittest

import shared_names

CMAKE = "retort_room(base)\nretort_room(ops TOGETHER 20 TESTS_ALONE USES base)\nretort_room(passes LOADS TOGETHER 12 USES base)\n"


def unnamed(*lines):
    return "namespace retort {\nnamespace {\n" + "\n".join(lines) + "\n}  // namespace\n}  // namespace retort\n"


class SharedNames(unittest.TestCase):
    def found(self, a, b, folder="src/passes"):
        return list(shared_names.complaints({f"{folder}/a.cc": unnamed(a), f"{folder}/rules/b.cc": unnamed(b)}, CMAKE))

    def test_what_the_compiler_would_refuse(self):
        for a, b in (("struct A { int x; };", "class A final {};"),
                     ("constexpr int kA = 1;", "constexpr size_t kA[] = {1, 2};"),
                     ("constexpr int kA = f(1, 2), kB = 2;", "const int kB = 3;"),
                     ("int f(const Graph& g, size_t n = 3) { return n; }", "bool f(const Graph& graph, size_t i) noexcept {\n  return i;\n}"),
                     ("template <typename T>\nT f(std::pair<int, T> x) { return x; }", "template <typename T> T f(std::pair<int, T> value) { return value; }"),
                     ("void f() {}", "struct B { void g() { if (true) {} } };\nvoid f() {}"),
                     ("#define M(x) \\\n  void x() {\nvoid f() {}", "void f() {}")):
            errors = self.found(a, b)
            self.assertEqual(len(errors), 1, (a, b, errors))
            self.assertIn("src/passes/rules/b.cc and src/passes/a.cc both define", errors[0])

    def test_what_may_be(self):
        for a, b in (("int f(int x) { return x; }", "int f(double x) { return 1; }"), ("struct A;", "struct A {};"), ("using J = json;", "using J = json;"),
                     ("void f(int);", "void f(int) {}"), ("struct A { void f() {} };", "void f() {}"), ("// void f() {}", "void f() {}"),
                     ("template <A T> void f(T x) {}", "template <B T> void f(T x) {}")):
            self.assertEqual(self.found(a, b), [], (a, b))

    def test_files_that_are_compiled_alone(self):
        self.assertEqual(self.found("void f() {}", "void f() {}", "src/base"), [])
        self.assertEqual(list(shared_names.complaints({"src/passes/a_test.cc": unnamed("void f() {}"), "src/passes/b.cc": unnamed("void f() {}")}, CMAKE)), [])
        self.assertEqual(len(self.found("void f() {}", "void f() {}", "apps/retort")), 1)

    def test_tests_of_a_room(self):
        for room, errors in (("base", 1), ("passes", 1), ("ops", 0)):
            tests = {f"src/{room}/{name}_test.cc": unnamed("void f() {}") for name in "ab"}
            self.assertEqual(len(list(shared_names.complaints(tests, CMAKE))), errors, room)

    def test_names_outside_are_none_of_its(self):
        outside = "namespace retort {\nvoid f() {}\n}\n"
        self.assertEqual(list(shared_names.complaints({"src/passes/a.cc": outside, "src/passes/b.cc": outside}, CMAKE)), [])


if __name__ == "__main__":
    unittest.main()
