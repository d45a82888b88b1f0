"""Counts the member functions and the data members of classes and structs in C++; check_layers.py prints the
complaints.

A class has at most 30 member functions and 20 data members. Every overload and every declarator counts (`int a, b;` has
two), and so do constructors. Functions that are defaulted or deleted, constants, types and friends do not count. The
members of a nested class are its own. tools/class_exceptions.tsv lists the exceptions (path, class, why). The list may
only shrink.
"""
import re

import rooms

MAX_FUNCTIONS, MAX_DATA = 30, 20
EXCEPTIONS = "tools/class_exceptions.tsv"
C_INTERFACE = "include/retort/onnxruntime_"  # its tables have a row for each function
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
OPERATOR = re.compile(r"\boperator\s*(?:\(\s*\)|[^\s\w(]+)")
LABEL = re.compile(r"^\s*(?:public|protected|private)\s*:(?!:)")
ATTRIBUTE = re.compile(r"\[\[.*?\]\]|\b(?:alignas|decltype)\s*\([^()]*(?:\([^()]*\)[^()]*)*\)", re.S)
CLASS = re.compile(r"(?<!enum )\b(?:class|struct|union)\s*([\w:]*)(?:\s+final)?\s*(?::(?!:)[^()]*)?$")
INITIALIZERS = re.compile(r"\)\s*(?:noexcept\s*)?:(?!:)")  # of a constructor
POINTER = re.compile(r"\(\s*(?:\w+::)*\*\s*(?:const\s+)?\w+\s*(?:\[\w*\]\s*)*\)\s*\(")  # to a function
NO_MEMBER = re.compile(r"\s*(?:template\s*)?(?:using|typedef|friend|static_assert|enum|class|struct|union)\b")


def plain(head):
    """A declaration without access labels, attributes, template arguments and operators' signs."""
    head, before = ATTRIBUTE.sub("", OPERATOR.sub("operator_", head)), None
    while head != before:
        before, head = head, LABEL.sub("", re.sub(r"<[^<>]*>", "", head))
    return " ".join(head.split())


def top_level(head, sign):
    """How often the sign occurs outside of parentheses and brackets; None if these are not balanced."""
    depth, count = 0, 0
    for ch in head:
        depth += (ch in "([") - (ch in ")]")
        count += ch == sign and depth == 0
    return count if depth == 0 else None


def has_body(head):
    """Whether the next brace begins the body of a member function. `head`: what plain() returns for the text before
    it."""
    if "(" not in head or top_level(head, "=") != 0:
        return False
    return not (INITIALIZERS.search(head) and re.search(r"\w$", head))


def count(head):
    """(member functions, data members) that a declaration adds. `head`: what plain() returns for it."""
    if not head or NO_MEMBER.match(head):
        return 0, 0
    declared = head if top_level(head, "=") == 0 else re.split(r"=(?![^(]*\))", head, maxsplit=1)[0]
    if "(" in declared and not POINTER.search(declared):
        return int(not re.search(r"=\s*(?:default|delete)$", head)), 0
    return 0, 0 if re.search(r"\bstatic\b", declared) else (top_level(head, ",") or 0) + 1


class Block:
    """What an open brace began. `name`: of a class, None for another block; `head`: the text before the brace."""

    def __init__(self, head, name):
        self.head, self.name, self.functions, self.data = head, name, 0, 0

    def add(self, head):
        functions, data = count(plain(head))
        self.functions, self.data = self.functions + functions, self.data + data


def classes(text):
    """(name, member functions, data members) of each class, struct and union that a source defines."""
    open_blocks, head = [Block("", None)], ""
    for ch in DIRECTIVE.sub("", rooms.code_of(text)):
        block = open_blocks[-1]
        if ch == "{":
            found = CLASS.search(plain(head))
            open_blocks.append(Block(head, found[1] or "?" if found else None))
            head = ""
        elif ch == "}" and len(open_blocks) > 1:
            open_blocks.pop()
            outer, head = open_blocks[-1], ""
            if block.name:
                yield block.name, block.functions, block.data
                head = "nested_type "  # declarators may follow: struct { int a; } b;
            elif outer.name and has_body(plain(block.head)):
                outer.add(block.head)
            elif outer.name:
                head = block.head + "{}"
        elif ch == ";":
            if block.name and head.strip() != "nested_type":
                block.add(head)
            head = ""
        else:
            head += ch


def too_large(texts):
    """{(path, class): what it has too many of}. `texts`: {path: text} of sources."""
    found = {}
    for path, text in sorted(texts.items()):
        for name, functions, data in () if path.startswith(C_INTERFACE) else classes(text):
            if functions > MAX_FUNCTIONS:
                found[path, name] = f"{functions} member functions, more than {MAX_FUNCTIONS}"
            elif data > MAX_DATA:
                found[path, name] = f"{data} data members, more than {MAX_DATA}"
    return found


def complaints(texts, rows):
    """`texts`: {path: text} of sources, `rows`: those of the table of exceptions."""
    yield from (f"{EXCEPTIONS}: {' '.join(row)}: a row says path, class, and why" for row in rows if len(row) != 3)
    found, allowed = too_large(texts), {row[:2] for row in rows}
    for path, name in sorted(set(found) - allowed):
        yield f"{path}: {name} has {found[path, name]}: group what belongs together"
    for path, name in sorted(allowed - set(found)):
        yield f"{EXCEPTIONS}: {path} {name} is within the limits: take the row out (--update)"
