#!/usr/bin/env python3
"""Shell completion and the manual page, as the shells and man show them."""
import json
import os
import pty
import shutil
import subprocess
import sys
import unittest

from tool import DIGITS, TOOL, ToolTest, retort


class Words(ToolTest):
    def script(self, shell):
        code, out, err = retort("completion", shell)
        self.assertEqual(code, 0, err)
        with open(self.path("script"), "w", encoding="utf-8") as f:
            f.write(out)
        return self.path("script")

    def need(self, program):
        if not shutil.which(program):
            self.skipTest("no " + program)

    def bash(self, *words):
        """The completions that bash offers for the last of these words."""
        listed = " ".join(f"'{w}'" for w in ("retort",) + words)
        text = f"source '{self.script('bash')}'; COMP_WORDS=({listed}); COMP_CWORD={len(words)}; _retort; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        done = subprocess.run(["bash", "-c", text], capture_output=True, encoding="utf-8", cwd=self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.split()

    def test_bash(self):
        self.assertEqual(self.bash("ins"), ["inspect"])
        self.assertEqual(self.bash("inspect", "--pas"), ["--passes"])
        self.assertEqual(self.bash("run", "m.onnx", "--layout", ""), ["nchw", "nhwc"])
        self.assertEqual(self.bash("run", "m.onnx", "--threads", ""), [])
        shutil.copy(DIGITS, self.path("some.onnx"))
        self.assertEqual(self.bash("run", "so"), ["some.onnx"])
        self.assertEqual(self.bash("completion", ""), ["bash", "zsh", "fish"])
        os.mkdir(self.path("somewhere"))
        self.assertEqual(self.bash("run", "m.onnx", "--inputs", "so"), ["somewhere"])

    def test_shells(self):
        self.fails(2, ["completion"], "SHELL is required")
        self.fails(2, ["completion", "--shell", "bash"], "--shell")
        self.fails(2, ["completion", "csh"], "csh", "bash")

    def test_fish(self):
        self.need("fish")
        text = f"source '{self.script('fish')}'; complete -C 'retort inspect --pa'"
        done = subprocess.run(["fish", "-c", text], capture_output=True, encoding="utf-8", env={**os.environ, "HOME": self.folder})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"^--passes\t")

    def test_zsh(self):
        self.need("zsh")
        done = subprocess.run(["zsh", "-n", self.script("zsh")], capture_output=True, encoding="utf-8")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with open(self.script("zsh"), encoding="utf-8") as f:
            self.assertIn("'inspect:", f.read())

    def test_manual(self):
        code, out, err = retort("manual")
        self.assertEqual(code, 0, err)
        for command in ("run", "inspect", "bench", "profile", "diff", "convert", "ops", "devices", "completion"):
            self.assertIn(".SS retort " + command, out)
        self.need("man")
        with open(self.path("retort.1"), "w", encoding="utf-8") as f:
            f.write(out)
        done = subprocess.run(["man", "--warnings", "-l", self.path("retort.1")], capture_output=True, encoding="utf-8", env={**os.environ, "MANWIDTH": "120", "LC_ALL": "C.UTF-8"})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("--against-model FILE", done.stdout)

    def test_json(self):
        told = json.loads(retort("manual", "--json")[1])
        commands = {c["name"]: {n: o for o in c["options"] for n in o["names"]} for c in told["commands"]}
        for name, options in commands.items():
            self.assertIn("--json", options, name)
        self.assertEqual(commands["run"]["--layout"]["choices"], ["nchw", "nhwc"])
        self.assertEqual((commands["diff"]["--against"]["value"], commands["diff"]["--json"]["value"]), ("FILE", ""))
        self.assertEqual(json.loads(retort("completion", "bash", "--json")[1]), {"shell": "bash", "script": retort("completion", "bash")[1]})

    def test_every_command_explains_itself(self):
        for line in retort("--help")[1].split("Subcommands:")[1].split("Examples:")[0].strip().splitlines():
            if line.startswith("  ") and line[2] != " ":
                self.assertRegex(retort(line.split()[0], "--help")[1], "Examples?: ")

    def all_of(self, terminal):
        """Reads until the end; a single read returns only a part."""
        text = b""
        while True:
            try:
                text += os.read(terminal, 65536)
            except OSError:  # the other end is closed
                return text

    def test_colours(self):
        for no_colour, expected in (("", True), ("1", False)):
            seen, terminal = pty.openpty()
            subprocess.run([TOOL, "inspect", DIGITS], stdout=terminal, check=True, env={**os.environ, "NO_COLOR": no_colour})
            os.close(terminal)
            self.assertEqual(b"\033[" in self.all_of(seen), expected)
            os.close(seen)
        self.assertNotIn("\033[", retort("inspect", DIGITS)[1])


if __name__ == "__main__":
    sys.exit(unittest.main())
