#!/usr/bin/env python3
"""Tests that docs/config.md agrees with abi/config_keys.tsv, and that the table agrees with the sources."""
import glob
import os
import re
import unittest

import config_page as cp

READ = re.compile(r'\b(?:config_entry\(|config_on\(|config_number\(|config\.find\(|entry\((?:[\w.>-]*config|options),)\s*(?:"([^"]+)"|(k[A-Z]\w*)\))')
NAMED = re.compile(r'constexpr (?:const char\*|std::string_view|char) (k\w+)(?:\[\])?\s*(?:=\s*|\{)"([^"]+)"')
LITERAL = re.compile(r'"([a-z0-9_]+(?:\.[a-z0-9_]+)+)"')
NO_READERS = "src/package/"  # names keys that packages may not set
LITERAL = re.compile(r'"([a-z0-9_]+(?:\.[a-z0-9_]+)+)"')


def engine_sources():
    """{path: text} of the engine without its tests and comments."""
    found = {}
    for path in glob.glob(os.path.join(cp.ROOT, "src", "**", "*.*"), recursive=True):
        name = os.path.relpath(path, cp.ROOT)
        if re.search(r"\.(cc|h)$", name) and not re.search(r"_test(ing)?\.(cc|h)$", name) and not name.startswith(NO_READERS):
            with open(path, encoding="utf-8") as f:
                found[name] = re.sub(r"//[^\n]*", "", f.read())
    return found


def owners(rows):
    """The first parts of keys with a dot. A text that begins with one of them is a key."""
    return {r["key"].split(".")[0] for r in rows if r["scope"] in cp.SCOPES and "." in r["key"]}


def keys_read(text):
    """Keys in calls that read entries, as text or by the name of a constant of the same file."""
    named = dict(NAMED.findall(text))
    return {key or named.get(name) for key, name in READ.findall(text)} - {None}


def keys_in(text, begins):
    """Keys that are read, and other texts that look like keys."""
    return keys_read(text) | {k for k in LITERAL.findall(text) if k.split(".")[0] in begins}


def row(key, deed="honoured", scope="session", otherwise="warning"):
    return {"scope": scope, "key": key, "values": "0|1", "default": "empty", "form": "0|1", "otherwise": otherwise,
            "deed": deed, "what": "nothing to do", "of": "onnxruntime"}


class ConfigPage(unittest.TestCase):
    def setUp(self):
        self.rows = cp.read_facts()

    def test_the_committed_page(self):
        with open(cp.PAGE, encoding="utf-8") as f:
            self.assertEqual(f.read(), cp.page(self.rows), "run tools/config_page.py --update")

    def test_rows_are_whole(self):
        keys = [r["key"] for r in self.rows]
        self.assertEqual(len(keys), len(set(keys)), "a key has two rows")
        for r in self.rows:
            self.assertIn(r["scope"], {**cp.SCOPES, **cp.METADATA}, r["key"])
            self.assertIn(r["deed"], cp.DEEDS if r["scope"] in cp.SCOPES else ("metadata",), r["key"])
            self.assertTrue(r["what"] and r["values"] and r["default"], r["key"])
            self.assertTrue(r["otherwise"] or not r["form"], f"{r['key']}: the effect of other values is missing")

    def test_what_the_sources_read_is_in_the_table(self):
        deeds = {r["key"]: r["deed"] for r in self.rows}
        for path, text in engine_sources().items():
            for key in keys_in(text, owners(self.rows)):
                self.assertTrue(key in deeds, f"{path} has the key {key}; add it to abi/config_keys.tsv")
            for key in keys_read(text):
                self.assertEqual(deeds[key], "honoured", f"{path} reads {key}; say in abi/config_keys.tsv what it does")

    def test_what_is_honoured_is_read(self):
        read = set().union(*(keys_in(text, owners(self.rows)) for text in engine_sources().values()))
        for r in self.rows:
            if r["deed"] == "honoured" and not cp.is_pattern(r["key"]):
                self.assertTrue(r["key"] in read, f"abi/config_keys.tsv says that {r['key']} is honoured, but nothing in src reads it")

    def test_keys_are_found_however_they_are_read(self):
        text = 'o.config_on("plain") config.find("b") constexpr char kKey[] = "session.c"; f("other.thing", "session.{}")\n'
        text += 'constexpr const char* kFile = "file"; entry(options, kFile) entry(o.config, "d") config_on(kOfAHeader)'
        self.assertEqual(keys_in(text, {"session"}), {"plain", "b", "session.c", "file", "d"})

    def test_the_engine_has_what_programs_set(self):
        text = cp.engine_table([row("b.x"), row("a", "no effect", "run"), row("m", "metadata", "model_metadata"), row("ep.<n>")])
        self.assertLess(text.index('{"a", ConfigScope::run, ConfigDeed::no_effect, "0|1", "",'), text.index('{"b.x"'))
        self.assertEqual(text.count("nothing to do"), 1)
        self.assertNotIn('"m"', text)
        self.assertNotIn("ep.<n>", text)
        self.assertIn("ErrorCode::invalid_graph", cp.engine_table([row("a", otherwise="INVALID_GRAPH")]))

    def test_nothing_breaks_a_table(self):
        self.assertEqual(cp.cell("a|b `c|<d>` *"), "a&#124;b `c\\|<d>` &#42;")


if __name__ == "__main__":
    unittest.main()
