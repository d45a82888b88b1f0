"""Finds what makes sources or tests depend on the machine, its user or its locale; check_layers.py prints the
complaints.

- Python reads files and the output of programs with an explicit encoding, not with that of the locale.
- The engine and the shipped programs read environment variables in a few places only (ENVIRONMENT). docs/config.md
  documents each; a wrong value is an error.
- The engine and the providers convert numbers and letters as the locale "C" has them (src/base/c_locale.h).
- Temporary files have unique names: from mkdtemp(), mkstemp(), or with the number of the process.
"""
import ast
import re

SHIPPED = ("src/", "apps/", "providers/", "include/")
ENVIRONMENT = {"src/base/cpu.cc", "src/session/model_source.cc", "apps/retort/engine/engine.cc", "apps/retort/cli/terminal.cc", "include/retort/cxx/library.hpp",
               "src/abi/devices/cuda.cc", "providers/cuda/core/library.cc"}
TESTS = re.compile(r"_test\.cc$|_testing\.(?:cc|h)$|^tests/|^bindings/[^/]*/test|/tests?/")
LOCALE = re.compile(r"(?<![\w.])(?:std::)?(strto[dfl]|strtold|atof|stod|stof|stold|sscanf|isal(?:pha|num)|isspace|ispunct|isupper|islower|tolower|toupper|setlocale)\s*\(")
OF_LOCALE = "src/base/c_locale.h"
CALLS_WITH_TEXT = ("run", "Popen", "check_output", "check_call", "call")
TEMPORARY = re.compile(r'(?:(?:TempDir|temp_directory_path|temp_dir)\(\)\s*[/+.]|join\(tempfile\.gettempdir\(\))[^;\n]*(?:\n[^;\n]*)?"[^"]*"')
OWN_NAME = re.compile(r"XXXXXX|getpid|mkstemp|mkdtemp|std::process::id|pid\(\)")
IN_TMP = re.compile(r"""(?:open\(|mkdir(?:\s+-p)?\s+|>\s*|makedirs\(|touch\s+)["']?/tmp/(?!\S*(?:XXXXXX|\$\$))""")


def keywords(call):
    return {k.arg: k.value for k in call.keywords}


def opens_text(call, name, given):
    """Whether a call of open() or of NamedTemporaryFile() is for text."""
    position = 1 if name == "open" else 0
    mode = given.get("mode", call.args[position] if len(call.args) > position else None)
    standard = "r" if name == "open" else "w+b"
    text = standard if mode is None else mode.value if isinstance(mode, ast.Constant) else "?"
    return "b" not in str(text)


def python_complaints(path, text):
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call):
            continue
        full, given = ast.unparse(node.func), keywords(node)
        name = full.rpartition(".")[2]
        if "encoding" in given:
            continue
        if full in ("open", "io.open") or name == "NamedTemporaryFile":
            if opens_text(node, name, given):
                yield f"{path}:{node.lineno}: {full}() without encoding=: the locale would choose it"
        elif full.startswith("subprocess.") and name in CALLS_WITH_TEXT and {"text", "universal_newlines"} & set(given):
            yield f"{path}:{node.lineno}: {full}() with text= in place of encoding=: the locale would choose it"
        elif name in ("read_text", "write_text"):
            yield f"{path}:{node.lineno}: {name}() without encoding=: the locale would choose it"


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def shipped_complaints(path, text):
    if "getenv" in text and path not in ENVIRONMENT:
        yield f"{path} reads the environment; only {', '.join(sorted(ENVIRONMENT))} do"
    if path.startswith(("src/", "providers/")) and path != OF_LOCALE:
        for found in LOCALE.finditer(text):
            yield f"{path}:{line_of(text, found.start())}: {found.group(1)}() depends on the locale of the host; use src/base/c_locale.h"


def temporary_complaints(path, text):
    for found in TEMPORARY.finditer(text):
        if not OWN_NAME.search(text[found.start():found.end() + 120].split(";")[0]):
            yield f"{path}:{line_of(text, found.start())}: another process may use the same temporary file; use mkdtemp() or getpid()"
    for found in IN_TMP.finditer(text):
        yield f"{path}:{line_of(text, found.start())}: a fixed name in /tmp; use mktemp or TMPDIR"


def complaints(path, text):
    """The errors in a source, one sentence each."""
    if path.endswith(".py"):
        yield from python_complaints(path, text)
    elif path.startswith(SHIPPED) and path.endswith((".cc", ".h", ".hpp")) and not TESTS.search(path):
        yield from shipped_complaints(path, text)
    if path.endswith((".cc", ".h", ".hpp", ".py", ".sh", ".rs")) and not path.startswith("tools/portable"):
        yield from temporary_complaints(path, text)
