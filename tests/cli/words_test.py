#!/usr/bin/env python3
"""Shell completion and the manual page, as the shells and man show them."""
import fcntl
import json
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import termios
import unicodedata
import unittest

from onnx import TensorProto, helper

from tool import DIGITS, ROOT, TOOL, ToolTest, catches, maps, retort, until


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
        self.fails(2, ["completion"], "SHELL is missing")
        self.fails(2, ["completion", "--shell", "bash"], "--shell")
        self.fails(2, ["completion", "csh"], "csh", "bash")

    def fish(self, line):
        """The completions that fish offers at the end of a line, without their descriptions."""
        text = f"source '{self.script('fish')}'; complete -C \"{line}\""
        done = subprocess.run(["fish", "-c", text], capture_output=True, encoding="utf-8", cwd=self.folder, env=self.home())
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return [offered.split("\t")[0] for offered in done.stdout.splitlines()]

    def home(self):
        """An environment without settings of the user, in which the program is found by its name."""
        return {**os.environ, "HOME": self.folder, "PATH": os.path.dirname(TOOL) + os.pathsep + os.environ["PATH"], "TERM": "xterm"}

    def test_fish(self):
        self.need("fish")
        shutil.copy(DIGITS, self.path("some.onnx"))
        os.mkdir(self.path("somewhere"))
        for line, offered in (("retort ins", ["inspect"]), ("retort inspect --pa", ["--passes"]), ("retort run m.onnx --layout ", ["nchw", "nhwc"]),
                              ("retort completion ", ["bash", "fish", "zsh"]), ("retort run m.onnx --config session.pres", ["session.preset="]),
                              ("retort run m.onnx --disable widen_h", ["widen_half"]), ("retort ops Softpl", ["Softplus"]), ("retort help pro", ["profile"]),
                              ("retort run som", ["some.onnx", "somewhere/"]), ("retort run m.onnx --inputs som", ["somewhere/"]),
                              ("retort run m.onnx --expected som", ["some.onnx", "somewhere/"]), ("retort run m.onnx --thr", ["--threads"])):
            self.assertEqual(sorted(self.fish(line)), offered, line)
        self.assertIn("--threads", self.fish("retort run --"))

    def zsh(self, *lines):
        """What zsh makes of each line when Tab is pressed at its end."""
        shutil.copy(self.script("zsh"), self.path("_retort"))
        controller, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 200, 0, 0))
        start = f"fpath=('{self.folder}' $fpath); autoload -Uz compinit; compinit -u -D; PS1=; unsetopt zle_bracketed_paste auto_remove_slash; cd '{self.folder}'\r"
        # The line is printed instead of being run: ^A goes to its begin.
        typed = start + "".join(f"{line}\t\x01print -r -- '<<'\x05'>>'\r" for line in lines) + "exit\r"
        shell = subprocess.Popen(["zsh", "-f", "-i", "-o", "emacs"], stdin=terminal, stdout=terminal, stderr=terminal, env=self.home(), start_new_session=True)
        os.close(terminal)
        text = b""
        for line in typed.split("\r"):
            os.write(controller, line.encode() + b"\r")
        text = self.all_of(controller).decode()
        self.assertEqual(shell.wait(60), 0, text)
        os.close(controller)
        return [made.strip() for made in re.findall(r"^<<(.*)>>\r?$", text, re.M)]

    def test_zsh(self):
        self.need("zsh")
        shutil.copy(DIGITS, self.path("some.onnx"))
        os.mkdir(self.path("somewhere"))
        cases = {"retort ins": "retort inspect", "retort inspect --pas": "retort inspect --passes", "retort run m.onnx --layout nc": "retort run m.onnx --layout nchw",
                 "retort completion f": "retort completion fish", "retort run m.onnx --config session.pres": "retort run m.onnx --config session.preset=",
                 "retort run m.onnx --disable widen_h": "retort run m.onnx --disable widen_half", "retort ops Softpl": "retort ops Softplus",
                 "retort help pro": "retort help profile", "retort run some.": "retort run some.onnx", "retort run m.onnx --inputs some": "retort run m.onnx --inputs somewhere/",
                 "retort run m.onnx --threads 2 --js": "retort run m.onnx --threads 2 --json", "retort convert some.onnx --format o": "retort convert some.onnx --format o"}
        self.assertEqual(self.zsh(*cases), list(cases.values()))

    def test_names_that_the_engine_knows(self):
        """Keys of --config, passes of --disable, operators of ops."""
        tool = os.path.dirname(TOOL)
        os.environ["PATH"] = tool + os.pathsep + os.environ["PATH"]
        self.assertIn("session.strict=", self.bash("run", "m.onnx", "--config", "session.str"))
        self.assertEqual(self.bash("run", "m.onnx", "--disable", "epilogues"), ["epilogues"])
        for before in ([], ["Gemm"], ["--json"]):
            self.assertIn("ConvTranspose", self.bash("ops", *before, "Conv"))
        self.assertEqual(self.bash("help", "pro"), ["profile"])
        for kind, name in (("keys", "session.strict="), ("passes", "epilogues"), ("operators", "Conv")):
            self.assertIn(name, retort("words", kind)[1].splitlines())
        for shell in ("zsh", "fish"):
            with open(self.script(shell), encoding="utf-8") as f:
                self.assertRegex(f.read(), r"words keys.*\n(.*\n)*.*words passes|words passes.*\n(.*\n)*.*words keys")

    def test_help_fits_the_terminal(self):
        told = json.loads(retort("manual", "--json")[1])
        for command in ["", *(c["name"] for c in told["commands"])]:
            for width in (40, 72, 100):
                seen, terminal = pty.openpty()
                fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
                environment = {k: v for k, v in os.environ.items() if k != "COLUMNS"}
                subprocess.run([TOOL, *filter(None, [command]), "--help"], stdout=terminal, check=True, env=environment)
                os.close(terminal)
                text = self.all_of(seen).decode()
                os.close(seen)
                for line in text.splitlines():
                    words = line.split()
                    self.assertTrue(len(line) <= width or len(words) <= 2, (command, width, line))  # a long word stays whole
            if command:
                self.assertEqual(retort("help", command)[1], retort(command, "--help")[1])
                self.assertIn(f"Usage: retort {command}", retort(command, "--help")[1])
        self.assertEqual(retort("help")[1], retort("--help")[1])

    def test_a_plain_terminal(self):
        for kind, plain in (("dumb", True), ("xterm", False)):
            seen, terminal = pty.openpty()
            subprocess.run([TOOL, "bench", DIGITS, "--runs", "5", "--starts", "1"], stdout=terminal, stderr=terminal, check=True, env={**os.environ, "TERM": kind, "NO_COLOR": ""})
            subprocess.run([TOOL, "inspect", DIGITS], stdout=terminal, check=True, env={**os.environ, "TERM": kind, "NO_COLOR": ""})
            os.close(terminal)
            text = self.all_of(seen)
            self.assertEqual(b"\033" not in text and b"%]" not in text, plain)
            os.close(seen)

    def test_long_names_do_not_break_tables(self):
        names = ["x" * 90, "y" * 70 + "_end"]
        ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2]) for n in names]
        model = self.model([helper.make_node("Relu", [names[0]], [names[1]], name="n" * 200)], ports[:1], ports[1:])
        for words in (["profile", model, "--repeat", "2"], ["inspect", model, "--weights"], ["run", model, "--layers"]):
            seen, terminal = pty.openpty()
            fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
            environment = {k: v for k, v in os.environ.items() if k != "COLUMNS"}
            subprocess.run([TOOL, *words], stdout=terminal, stderr=subprocess.DEVNULL, check=True, env={**environment, "NO_COLOR": "1"})
            os.close(terminal)
            rows = [line for line in self.all_of(seen).decode().splitlines() if "…" in line]
            os.close(seen)
            self.assertTrue(rows, words)
            self.assertTrue(all(len(line) <= 100 for line in rows), rows)
        self.assertIn(names[1], retort("run", model, "--layers")[1])  # complete if it is not a terminal

    def test_names_of_any_script_do_not_break_tables(self):
        """A terminal gives two columns to a letter of East Asia, and none to a mark over the one before."""
        names = ["入力テンソル" * 6, "中間", "e\u0301" * 60, "\u200bz"]
        ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2]) for n in (names[0], names[-1])]
        nodes = [helper.make_node("Relu", [a], [b], name=b) for a, b in zip(names, names[1:])]
        model = self.model(nodes, ports[:1], ports[1:])
        seen, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 90, 0, 0))
        environment = {k: v for k, v in os.environ.items() if k != "COLUMNS"}
        subprocess.run([TOOL, "run", model, "--layers"], stdout=terminal, stderr=subprocess.DEVNULL, check=True, env={**environment, "NO_COLOR": "1"})
        os.close(terminal)
        rows = self.all_of(seen).decode().splitlines()[:4]
        os.close(seen)

        def columns(text):
            return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
        begins = {columns(row[:re.search("operator|Relu", row).start()]) for row in rows}
        self.assertEqual(len(begins), 1, rows)
        self.assertTrue(all(columns(row) <= 90 for row in rows), rows)
        self.assertIn(r"\u200bz", rows[-1])

    def test_ctrl_c_keeps_what_is_there(self):
        """From when they catch signals, run and profile finish at least one run; bench does once it has opened the engine itself."""
        for words, part in ((["run", DIGITS, "--repeat", "10000000"], "median"), (["bench", DIGITS, "--seconds", "60", "--starts", "1"], "Retort"),
                            (["profile", DIGITS, "--shape", "batch=1024", "--repeat", "100000"], "slowest nodes")):
            for sent in (signal.SIGINT, signal.SIGTERM):
                running = subprocess.Popen([TOOL, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
                caught = until(lambda running=running, sent=sent: catches(running.pid, sent), running)
                opened = words[0] != "bench" or until(lambda running=running: maps(running.pid, "/libretort.so"), running)
                self.assertTrue(caught and opened, words)
                running.send_signal(sent)
                out, err = running.communicate(timeout=60)
                self.assertEqual(running.returncode, 128 + sent, err)
                self.assertIn(part, out)
                self.assertIn("retort: interrupted", err)

    def test_the_page_names_every_option(self):
        with open(os.path.join(ROOT, "docs", "command_line.md"), encoding="utf-8") as f:
            page = f.read()
        for command in json.loads(retort("manual", "--json")[1])["commands"]:
            self.assertIn(f"`{command['name']}", page)
            for option in command["options"]:
                for name in option["names"]:
                    self.assertIn(name, page, command["name"])

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
        for line in retort("--help")[1].split("Commands:")[1].split("Examples:")[0].strip().splitlines():
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
