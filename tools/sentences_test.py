#!/usr/bin/env python3
"""Tests that sentences.py finds comments and strings, and nothing else, and that every line stays where it was."""
import textwrap
import unittest

import sentences


class Sentences(unittest.TestCase):
    def found(self, path, text):
        """The words that are left, line by line."""
        left = sentences.sentences(path, text)
        self.assertEqual(len(left), len(text))
        self.assertEqual(left.count("\n"), text.count("\n"))
        return [" ".join(line.replace("\0", " ").split()) for line in left.split("\n")]

    def test_cpp_comments(self):
        text = "/// Says one\n/// thing.\nint a = b / c;  ///< of a\n/* of\n * b */ int b;\n"
        self.assertEqual(self.found("a.cc", text), ["Says one", "thing.", "of a", "of", "b", ""])

    def test_a_sentence_goes_on_in_the_next_line(self):
        for path, text in (("a.h", "  // one\n  // two\n"), ("A.java", "/**\n * one\n * two\n */\n"), ("a.rs", "//! one\n//! two\n"),
                           ("a.cc", 'f("it is one "\n  "two parts");\n'), ("a.py", "# one\n# two\n"), ("a.sh", "# one\n# two\n")):
            self.assertRegex(sentences.sentences(path, text), r"one\s+two", path)

    def test_code_parts_sentences(self):
        for path, text in (("a.cc", "int a;  // one\nint b;  // two\n"), ("a.cc", 'f("is one", "two is");\n'), ("a.py", "a = 1  # one\nb = 2  # two\n"),
                           ("a.sh", "a=1 # one\nb=2 # two\n")):
            self.assertRegex(sentences.sentences(path, text), r"(?s)one.*two", path)
            self.assertNotRegex(sentences.sentences(path, text), r"one\s+two", path)

    def test_strings(self):
        self.assertEqual(self.found("a.cc", r'f("no \"input\" here", "word", u8"eight bits");'), [r'no \"input\" here eight bits'])
        self.assertEqual(self.found("a.cc", 'R"(a // raw one)"; int b; R"x(ends )" later)x"'), ['(a // raw one) x(ends )" later)x'])
        self.assertEqual(self.found("a.cc", '"http://host/path and more"; int a;'), ["http://host/path and more"])
        self.assertEqual(self.found("a.cc", 'a("two\\nlines are here");'), ["two lines are here"])
        self.assertEqual(self.found("A.java", 'a("""\n  a text block\n  """);'), ["", "a text block", ""])
        self.assertEqual(self.found("a.rs", 'a("goes on \\\n   here", r#"has a "quote" inside"#, b"x y");'), ["goes on", 'here #"has a "quote" inside x y'])

    def test_characters_and_lifetimes(self):
        self.assertEqual(self.found("a.cc", "char q = '\"', r = '\\'', s = '/';  // a 'b' c\nint n = 1'000'000;  // d\n"), ["a 'b' c", "d", ""])
        self.assertEqual(self.found("a.rs", "fn f<'a>(x: &'a str) {}  // of 'a\nlet q = '\"';  // b\n"), ["of 'a", "b", ""])

    def test_python(self):
        text = textwrap.dedent('''\
            #!/usr/bin/env python3
            """Of the module."""
            A = {"key": "not a word"}  # of a
            def f():
                """Of f,
                on two lines."""
                return r"a \\s pattern"
            ''')
        wanted = ["!/usr/bin/env python3", "Of the module.", "not a word of a", "", "Of f,", "on two lines.", "a \\s pattern", ""]
        self.assertEqual(self.found("a.py", text), wanted)
        self.assertEqual(self.found("tools/new_op", text), wanted)

    def test_shell_cmake_make(self):
        text = "# first\necho \"says it is\" # last\nx=${#y} z=a#b '# no'\necho \"# not this\"\nif(A)  # of A\n"
        self.assertEqual(self.found("a.sh", text), ["first", "says it is last", "# no", "# not this", "of A", ""])
        for path in ("CMakeLists.txt", "cmake/a.cmake", "Makefile"):
            self.assertEqual(self.found(path, "# one\nset(x)\n"), ["one", "", ""])

    def test_languages(self):
        for path in ("a.cc", "a.h", "a.c", "A.java", "a.rs", "a.py", "a.sh", "a.cmake", "x/CMakeLists.txt", "Makefile", "tools/new_op"):
            self.assertTrue(sentences.is_source(path), path)
        for path in ("a.md", "a.tsv", "a.onnx", "LICENSE"):
            self.assertFalse(sentences.is_source(path), path)


if __name__ == "__main__":
    unittest.main()
