#!/usr/bin/env python3
"""Tests that class_sizes.py counts what a class has, and nothing else."""
import os
import unittest

import check_layers
import class_sizes

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def one(members):
    """(member functions, data members) of a class with these members."""
    (name, functions, data), = class_sizes.classes("namespace a {\nclass C final : public B<int, D> {\n public:\n" + members + "\n};\n}\n")
    assert name == "C", name
    return functions, data


class Functions(unittest.TestCase):
    def test_declared_and_defined(self):
        self.assertEqual(one("int f();\nint g() const { int x = 3; return h(x); }\nvirtual void p() = 0;"), (3, 0))

    def test_every_overload_and_static_ones(self):
        self.assertEqual(one("void f(int);\nvoid f(double);\nstatic int g(int a = 2, int b = h(3));"), (3, 0))

    def test_constructors_with_their_initializers(self):
        self.assertEqual(one("C() : a_{1}, b_(f({2})) {}\nexplicit C(D d)\n    : B<int, D>{d}, a_(0) {\n  if (d) { run(); }\n}\n~C() override;\nint a_, b_;"), (3, 2))

    def test_defaulted_and_deleted_ones_do_not_count(self):
        self.assertEqual(one("C(const C&) = delete;\nC& operator=(const C&) = default;\nbool operator==(const C&) const = default;"), (0, 0))

    def test_operators(self):
        self.assertEqual(one("bool operator<(const C& o) const { return x < o.x; }\nint operator()(int i) const;\noperator bool() const;\nC& operator=(C o);\nint x;"), (4, 1))

    def test_templates(self):
        self.assertEqual(one("template <typename T, typename = std::enable_if_t<(sizeof(T) > 4)>>\nstd::span<const T> f(size_t i) const {\n  return {};\n}\n"
                             "template <std::same_as<float> T>\nrequires(!std::is_same_v<T, int>)\nvoid g(T t = {}) {}"), (2, 0))

    def test_braces_in_parameters(self):
        self.assertEqual(one("void f(D d = {}) const { g(d); }\nvoid g(D d = {});"), (2, 0))


class Data(unittest.TestCase):
    def test_every_declarator(self):
        self.assertEqual(one("size_t a = 0, b{1}, *c = f(1, 2);\nint d[3] = {1, 2, 3}, e : 4;"), (0, 5))

    def test_types_with_commas_and_parentheses(self):
        self.assertEqual(one("std::map<int, std::pair<int, int>> a, b;\nstd::function<void(int, int)> c = [](int x, int y) { g(x, y); };"), (0, 3))

    def test_pointers_to_functions(self):
        self.assertEqual(one("void (*input)(const A&, float* v) noexcept;\nint (*table[3])(int, int) = {};"), (0, 2))

    def test_attributes(self):
        self.assertEqual(one("alignas(64) float a[16];\n[[no_unique_address]] E e;\nmutable std::mutex m;"), (0, 3))

    def test_constants_types_and_friends_do_not_count(self):
        self.assertEqual(one("static constexpr int kA = f(1), kB = 2;\nusing T = int (*)(int);\nenum class E : int { a, b };\nfriend class D;\nfriend void f(C&) {}\nstruct Declared;"), (0, 0))

    def test_comments_and_strings_do_not_count(self):
        self.assertEqual(one("int a = 0;  // int b; void f();\nstd::string s = \"int c; }\";"), (0, 2))


class Classes(unittest.TestCase):
    def test_members_of_a_nested_class_are_its_own(self):
        text = "struct A {\n  struct B {\n    int x, y;\n    void f();\n  } b, c;\n  int z;\n  struct D {\n    int w;\n  };\n};\n"
        self.assertEqual(list(class_sizes.classes(text)), [("B", 1, 2), ("D", 0, 1), ("A", 0, 3)])

    def test_classes_in_functions_and_specializations(self):
        text = "void f() {\n  struct Local {\n    int x;\n  };\n}\ntemplate <>\nstruct S<int> : std::true_type {\n  int a;\n};\nenum class E { x, y };\n"
        self.assertEqual(list(class_sizes.classes(text)), [("Local", 0, 1), ("S", 0, 1)])

    def test_a_result_of_class_type_is_no_class(self):
        self.assertEqual(list(class_sizes.classes("struct A f() {\n  return {};\n}\nvoid g(struct B b) {}\n")), [])


class Complaints(unittest.TestCase):
    MANY = "struct A {\n" + "  int f();\n" * (class_sizes.MAX_FUNCTIONS + 1) + "};\n"
    WIDE = "struct A {\n" + "".join(f"  int m{i};\n" for i in range(class_sizes.MAX_DATA + 1)) + "};\n"

    def test_limits(self):
        for text, words in ((self.MANY, "31 member functions, more than 30"), (self.WIDE, "21 data members, more than 20")):
            error, = class_sizes.complaints({"src/a.h": text}, [])
            self.assertIn("src/a.h: A has " + words, error)
            smaller = text.replace("  int f();\n", "", 1).replace("  int m0;\n", "")
            self.assertEqual(list(class_sizes.complaints({"src/a.h": smaller}, [])), [])

    def test_exceptions_have_a_reason_and_are_needed(self):
        self.assertEqual(list(class_sizes.complaints({"src/a.h": self.WIDE}, [("src/a.h", "A", "a table")])), [])
        error, = class_sizes.complaints({"src/a.h": self.WIDE}, [("src/a.h", "A")])
        self.assertIn("a row says path, class, and why", error)
        error, = class_sizes.complaints({}, [("src/a.h", "A", "a table")])
        self.assertIn("take the row out", error)

    def test_the_tables_of_the_c_interface_have_a_row_for_each_function(self):
        self.assertEqual(list(class_sizes.complaints({"include/retort/onnxruntime_ep_c_api.h": self.MANY}, [])), [])

    def test_counts_of_real_classes(self):
        def count(path, wanted):
            text = check_layers.read(ROOT, path)
            return [(f, d) for name, f, d in class_sizes.classes(text) if name == wanted]
        self.assertEqual(count("src/kernels/pool/pool.h", "PoolAxis"), [(2, 7)])
        self.assertEqual(count("src/ops/step_values.h", "StepValues"), [(23, 2)])


if __name__ == "__main__":
    unittest.main()
