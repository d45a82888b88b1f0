#!/usr/bin/env python3
"""Tests that check_layers.py finds each kind of error."""
import os
import subprocess
import tempfile
import unittest

import check_layers as cl

ROOMS = "retort_room(base)\nretort_room(tensor USES base)\nretort_room(onnx USES tensor base)\nretort_room(abi LOADS TOGETHER 2 USES onnx tensor base)\n"
LONG_FUNCTION = "int f() {\n" + "  g();\n" * cl.MAX_FUNCTION + "}\n"


class CheckLayers(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp()
        subprocess.run(["git", "init", "-q", self.root], check=True)
        self.write("CMakeLists.txt", ROOMS)
        for room, uses in cl.rooms.read_rooms(ROOMS).items():
            self.write(f"src/{room}/README.md", "# room\n")
            self.write(f"src/{room}/uses.cc", "".join(f'#include "{other}/{other}.h"\n' for other in sorted(uses)))

    def write(self, path, text):
        full = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as f:
            f.write(text)

    def errors(self, path=None, text="", **kw):
        if path:
            self.write(path, text)
        return cl.check(self.root, **kw)[1]

    def finds(self, path, text, words):
        errors = self.errors(path, text)
        self.assertEqual(len(errors), 1, errors)
        self.assertIn(words, errors[0])

    def test_no_way_around_by_parent_folders(self):
        self.finds("src/tensor/a.cc", '#include "../onnx/reader.h"\n', "from the root of its room")
        self.finds("src/tensor/a.cc", '#include "base/../../onnx/reader.h"\n', "from the root of its room")

    def test_a_clean_tree_is_clean(self):
        self.assertEqual(self.errors("src/tensor/a.cc", '#include "base/error.h"\n#include "tensor/a.h"\n#include <vector>\n'), [])

    def test_a_room_may_not_look_up(self):
        self.finds("src/base/a.cc", '#include "tensor/shape.h"\n', "room base may not use room tensor")

    def test_spacing_of_the_directive_does_not_hide_it(self):
        self.finds("src/base/a.h", '  #  include   "tensor/shape.h"\n', "room base may not use room tensor")

    def test_products_have_a_cost(self):
        self.write("CMakeLists.txt", ROOMS + "retort_room(kernels)\nretort_room(ops USES kernels)\n")
        self.write("src/ops/README.md", "# ops\n")
        self.write("src/ops/uses.cc", '#include "kernels/pool/pool.h"\n')
        operator = '#include "ops/nn/common/matrix.h"\nstruct Op {%s};\nconst OpDef op_a = define<Op>({});\n'
        self.write("src/ops/nn/common/matrix.cc", '#include "kernels/gemm/gemm.h"\n')
        self.write("src/ops/nn/common/matrix.h", "")
        self.finds("src/ops/nn/a.cc", operator % "", "src/ops/nn/a.cc uses a kernel for matrix products; define cost()")
        self.assertEqual(self.errors("src/ops/nn/a.cc", operator % " Cost cost(const CostContext&) const; "), [])
        self.write("src/ops/nn/common/matrix.cc", "")
        self.assertEqual(self.errors("src/ops/nn/a.cc", operator % ""), [])

    def test_owned_headers(self):
        self.finds("src/abi/a.cc", "#include <protozero/pbf_reader.hpp>\n", "only onnx may")

    def test_fmt_comes_through_base(self):
        self.finds("src/onnx/a.cc", "#include <fmt/core.h>\n", "only base may")

    def test_c_headers_belong_to_the_edge(self):
        self.finds("src/onnx/a.cc", '#include "retort/onnxruntime_c_api.h"\n', "only abi may")

    def test_the_edge_may(self):
        self.assertEqual(self.errors("src/abi/a.cc", '#include "retort/onnxruntime_c_api.h"\n'), [])

    def test_programs_see_the_c_interface_only(self):
        self.finds("apps/a.cc", '#include "tensor/shape.h"\n', "only through include/retort")

    def test_a_room_introduces_itself(self):
        os.remove(os.path.join(self.root, "src/tensor/README.md"))
        self.finds("src/tensor/a.cc", "", "no README.md")

    def test_a_folder_that_is_no_room(self):
        self.write("src/attic/README.md", "# attic\n")
        self.finds("src/attic/a.cc", "", "is not a room of CMakeLists.txt")

    def test_long_files(self):
        self.finds("src/base/a.h", "\n" * (cl.MAX_FILE + 1), "has 601 lines")

    def test_long_functions(self):
        self.finds("src/base/a.cc", "namespace a {\n" + LONG_FUNCTION + "}\n", "function f has 82 lines")

    def test_long_members(self):
        self.finds("src/base/a.h", "struct S {\n" + LONG_FUNCTION + "};\n", "function f has 82 lines")

    def test_long_python_functions(self):
        self.finds("tools/a.py", "def f():\n" + "    g()\n" * cl.MAX_FUNCTION + "x = 1\n", "function f has 81 lines")

    def test_braces_in_text_do_not_count(self):
        text = 'int f() {\n  g("}", \'}\', R"(})");  // }\n' + "  h();\n" * cl.MAX_FUNCTION + "}\n"
        self.finds("src/base/a.cc", text, "function f has 83 lines")

    def test_a_class_is_no_function(self):
        self.assertEqual(self.errors("src/base/a.h", "class A {\n  int f();\n" + "\n" * cl.MAX_FUNCTION + "};\n"), [])

    def test_large_classes(self):
        table = cl.class_sizes.EXCEPTIONS
        self.finds("src/base/a.h", "class A {\n" + "  int f();\n" * 31 + "};\n", "A has 31 member functions, more than 30")
        self.write(table, "# why\nsrc/base/a.h\tA\tit is generated\n")
        self.assertEqual(self.errors(), [])
        self.finds("src/base/a.h", "class A {};\n", "take the row out")
        self.assertEqual(self.errors(update=True), [])

    def test_a_record_of_java_is_no_function(self):
        body = "  int f();\n" * cl.MAX_FUNCTION
        self.assertEqual(self.errors("bindings/java/A.java", "record A(int b, List<String> c) {\n" + body + "}\n"), [])
        self.assertEqual(self.errors("bindings/java/B.java", "public record B<T>(\n    T b) implements C {\n" + body + "}\n"), [])
        self.finds("bindings/java/D.java", "class D {\n" + LONG_FUNCTION.replace("f(", "record(") + "}\n", "function record has 82 lines")

    def test_exceptions_hold_to_the_line_and_only_shrink(self):
        self.write(cl.EXCEPTIONS, "src/base/a.cc\tf\t90\n")
        self.finds("src/base/a.cc", LONG_FUNCTION, "lower it")
        self.assertEqual(self.errors(update=True), [])
        self.finds("src/base/a.cc", LONG_FUNCTION.replace("}", "  g();\n}"), "more than 82")
        self.assertEqual(len(self.errors(update=True)), 1)  # --update does not raise it
        self.finds("src/base/a.cc", "int f();\n", "take it out")
        self.assertEqual(self.errors(update=True), [])

    def test_upward_references_need_a_row_with_a_reason(self):
        table = cl.rooms.REFERENCES
        self.write("src/onnx/reader.h", "class Reader {\n};\n")
        self.finds("src/base/a.h", "class Reader;\n", "declares Reader of room onnx, which room base may not use")
        self.write(table, "# why\nbase\tReader\tonnx\n")
        self.assertIn("a row says room, type", self.errors()[0])
        self.write(table, "# why\nbase\tReader\tonnx\tit is passed on\nbase\tWriter\tonnx\tit is passed on\n")
        self.finds("src/base/a.h", "class Reader;\n", "take the row out")
        self.assertEqual(self.errors(update=True), [])
        with open(os.path.join(self.root, table), encoding="utf-8") as f:
            self.assertEqual(f.read(), "# why\nbase\tReader\tonnx\tit is passed on\n")

    def test_a_room_names_no_room_that_it_does_not_use(self):
        self.finds("src/onnx/uses.cc", '#include "base/base.h"\n', "room onnx names room tensor")

    def test_pages_name_what_exists(self):
        table = cl.pages.ABSENT
        self.finds("docs/page.md", "# Page\nSee `src/base/none.cc` and `src/base/uses.cc`.\n", "docs/page.md names src/base/none.cc, which does not exist")
        self.write(table, "# why\nsrc/base/none.cc\n")
        self.assertIn("a row says path and why", self.errors()[0])
        self.write(table, "# why\nsrc/base/none.cc\tgenerated\n")
        self.assertEqual(self.errors(), [])
        self.finds("docs/page.md", "# Page\n", "no page names src/base/none.cc")
        self.assertEqual(self.errors(update=True), [])
        self.finds("docs/page.md", "# Page\n[a](none.md)\n", "leads nowhere")

    def test_generated_files_are_left_alone(self):
        self.assertEqual(self.errors("src/base/a.h", "// Generated by x.py\n" + "\n" * 700), [])


if __name__ == "__main__":
    unittest.main()
