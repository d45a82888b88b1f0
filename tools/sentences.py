"""Finds the prose in source files: comments, and strings that contain a space. prose.py searches it for phrases.

sentences() returns a text of the same length and with the same lines, in which everything else is NUL characters. Marks
of comments (//, *, #) and quotes are spaces, so that a sentence that continues in the next line or in the next part of
a string stays one sentence.

- C, C++, Java, Rust: comments and strings.
- Python: comments and strings, docstrings among them.
- CMake, make, shell: lines that begin with #, the rest of a line after a # outside quotes, and quoted strings that end
  in the same line. Here-documents are not recognised.
"""
import io
import os
import re
import tokenize

BRACES = {".c", ".cc", ".cpp", ".h", ".hpp", ".java", ".rs"}
HASHES = {".sh", ".cmake"}
HASH_NAMES = {"CMakeLists.txt", "Makefile", "new_op", "new_provider", "rules", "run"}  # Python if the first line names it
COMMENT = r"//[^\n]*|/\*.*?\*/"
CHARACTER = r"(?<![0-9A-Za-z_])'(?:\\[^\n']+|[^'\\\n])'"
STRINGS = {  # by ending
    ".java": r'"""(?:\\.|[^\\])*?"""|"(?:\\.|[^"\\\n])*"',
    ".rs": r'\bb?r(?P<hashes>#*)".*?"(?P=hashes)|"(?:\\.|[^"\\])*"',
}
CPP_STRINGS = r'\b(?:u8|[uUL])?R"(?P<mark>[^\s()"]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"'
MARKS = re.compile(r"^[ \t]*(?://[/!]?<?|/\*[*!]?<?|\*(?!/))|\*/$", re.M)
QUOTES = re.compile(r"^\w*\"*'*|[\"']+#*$|\\[nrt]|\\(?=\n)")
ON_A_LINE = re.compile(r'"(?:\\.|[^"\\])*"|\'[^\']*\'')
HASH = re.compile(r"[ \t]*#|(?:[^\"'#]|\"(?:\\.|[^\"\\])*\"|'[^']*'|(?<!\s)#)*?\s#(?=\s)")


def blank(text, by="\0"):
    """The text with each character replaced, except line ends."""
    return re.sub(r"[^\n]", by, text)


def spaced(marks, text):
    """The text with spaces in place of marks."""
    return marks.sub(lambda m: blank(m.group(0), " "), text)


def of_string(text):
    """The text of a string; empty if it is not a sentence."""
    return spaced(QUOTES, text) if " " in text else blank(text)


def assembled(text, parts):
    """A text with the same lines that consists of `parts`, (begin, end, text). White space between two parts stays."""
    out, at = [], 0
    for begin, end, part in parts:
        between = text[at:begin]
        out += [between if between.isspace() else blank(between), part]
        at = end
    return "".join([*out, blank(text[at:])])


def of_braces(text, ending):
    """The parts of C, C++, Java or Rust."""
    token = re.compile(f"(?P<comment>{COMMENT})|(?P<character>{CHARACTER})|{STRINGS.get(ending, CPP_STRINGS)}", re.S)
    for found in token.finditer(text):
        part = found.group(0)
        part = spaced(MARKS, part) if found.group("comment") else blank(part) if found.group("character") else of_string(part)
        yield found.start(), found.end(), part


def of_python(text):
    """The parts of a Python file."""
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    strings = (tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", None))
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        begin, end = (starts[line - 1] + column for line, column in (token.start, token.end))
        if token.type == tokenize.COMMENT:
            yield begin, end, " " + text[begin + 1:end]
        elif token.type in strings:
            yield begin, end, of_string(text[begin:end])


def of_hashes(text):
    """The parts of a shell script, a makefile or a CMake file."""
    at = 0
    for line in text.splitlines(keepends=True):
        found = HASH.match(line)
        code = found.end() - 1 if found else len(line)
        for string in ON_A_LINE.finditer(line, 0, code):
            yield at + string.start(), at + string.end(), of_string(string.group(0))
        if found:
            yield at + code, at + len(line), " " + line[found.end():]
        at += len(line)


def is_source(path):
    """Whether the language of a file is known."""
    name = os.path.basename(path)
    return os.path.splitext(name)[1] in BRACES | HASHES | {".py"} or name in HASH_NAMES


def sentences(path, text):
    """The prose of a source file, in its lines."""
    ending = os.path.splitext(path)[1]
    if ending in BRACES:
        parts = of_braces(text, ending)
    elif ending == ".py" or text.startswith("#!/usr/bin/env python3"):
        parts = of_python(text)
    else:
        parts = of_hashes(text)
    return assembled(text, parts)
