#!/usr/bin/env python3
"""Tests that rooms.py finds references that the table of rooms does not allow and edges that no room needs, and nothing
else."""
import unittest

import rooms

ROOMS = rooms.read_rooms("retort_room(base)\nretort_room(ir LOADS TOGETHER 8 USES base)\nretort_room(ops SMALL USES ir base)\n")


class Rooms(unittest.TestCase):
    def references(self, **files):
        """Upward references of files given as room_name=text; names that end in _cc are sources."""
        codes = {}
        for name, text in files.items():
            room, _, rest = name.partition("_")
            codes[f"src/{room}/{rest.removesuffix('_cc')}.{'cc' if name.endswith('_cc') else 'h'}"] = rooms.code_of(text)
        return rooms.upward_references(codes, ROOMS)

    def edges(self, **files):
        texts = {f"src/{room}/a.h": text for room, text in files.items()}
        return list(rooms.edge_errors(texts, {path: rooms.code_of(text) for path, text in texts.items()}, ROOMS))

    def test_the_table(self):
        self.assertEqual(ROOMS, {"base": {"base"}, "ir": {"ir", "base"}, "ops": {"ops", "ir", "base"}})

    def test_a_declaration_of_a_type_above(self):
        for definition in ("struct OpDef {\n  int a;\n};\n", "class OpDef final : public Base<int> {\n};\n", "template <typename T>\nclass OpDef {\n};\n",
                           "namespace retort { struct OpDef {}; }\n", "enum class OpDef : uint8_t { a };\n", "class OpDef\n    : public Base {\n};\n"):
            for declaration in ("struct OpDef;\n", "template <typename T>\nclass OpDef;\n", "class A {\n  friend class OpDef;\n};\n",
                                "namespace retort { class OpDef; }\n", "enum class OpDef : uint8_t;\n", "void f(const struct OpDef& op);\n"):
                self.assertEqual(self.references(ops_op=definition, ir_graph=declaration), {("ir", "OpDef", "ops"): "src/ir/graph.h"}, definition + declaration)

    def test_what_is_not_above(self):
        for files in ({"ir_graph": "class Graph {\n};\n", "ops_op": "class Graph;\n"},  # a lower room
                      {"ir_graph": "class Graph {\n};\n", "ir_use": "class Graph;\n"},  # the same room
                      {"ops_op": "struct Plan {\n};\n", "ir_graph": "class A {\n  struct Plan;\n};\n"},  # a member of its own
                      {"ops_op": "class A {\n  struct Plan {\n  };\n};\n", "ir_graph": "struct Plan;\n"},  # a member of another class
                      {"ops_op": "struct OpDef {\n};\n", "ir_graph": "// struct OpDef;\n/*\nstruct OpDef;\n*/\n"},  # words
                      {"ops_op": "struct OpDef {\n};\n", "ir_graph": "struct Other;\nstruct stat s;\n"},
                      {"ops_op_cc": "struct Part {\n};\n", "ir_graph": "struct Part {\n};\n", "base_x_cc": ""}):
            self.assertEqual(self.references(**files), {}, files)

    def test_headers_say_where_a_type_is_at_home(self):
        found = self.references(ir_graph="struct Graph {\n};\n", ops_local_cc="struct Graph {\n};\n", ir_use="struct Graph;\n", base_use="struct Graph;\n")
        self.assertEqual(found, {("base", "Graph", "ir"): "src/base/use.h"})
        self.assertEqual(self.references(ops_impl_cc="struct Impl {\n};\n", base_use="struct Impl;\n"), {("base", "Impl", "ops"): "src/base/use.h"})

    def test_the_table_of_references_only_shrinks(self):
        found = {("ir", "OpDef", "ops"): "src/ir/graph.h"}
        self.assertEqual(list(rooms.reference_errors(found, {("ir", "OpDef", "ops")})), [])
        self.assertIn("src/ir/graph.h declares OpDef of room ops", *rooms.reference_errors(found, set()))
        self.assertIn("take the row out", *rooms.reference_errors({}, {("ir", "OpDef", "ops")}))

    def test_edges_that_nobody_uses(self):
        used = {"ir": '#include "base/error.h"\n', "ops": '#include "ir/graph.h"\n#include <base/error.h>\n'}
        self.assertEqual(self.edges(**used), [])
        for name in ("", "// Error\n", 'const char* a = "Error";\n', "class A {\n  struct Error {};\n};\n"):
            self.assertIn("room ops names room base", *self.edges(**{**used, "ops": '#include "ir/graph.h"\n' + name, "base": "class Error {\n};\n"}))

    def test_a_type_that_comes_with_another_header_is_a_use(self):
        for base in ("class Error {\n};\n", "using Error = int;\n"):
            self.assertEqual(self.edges(base=base, ir='#include "base/error.h"\n', ops='#include "ir/graph.h"\nvoid f(Error e);\n'), [])


if __name__ == "__main__":
    unittest.main()
