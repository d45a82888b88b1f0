"""Finds names that two files of a folder define in unnamed namespaces, although files of that folder are compiled
several at a time; check_layers.py prints the complaints.

A new file changes which files are compiled together, so two files with a common name may compile for years before it
becomes an error. A name here is a type, a constant, or a function with the types of its parameters.
"""
import re

import rooms

ROOM = re.compile(r"^retort_room\((\w+)(?:\s+(?:LOADS|SMALL))?(\s+TOGETHER \d+)?(\s+TESTS_ALONE)?", re.M)
APPS = "apps/retort/"  # cmake/apps.cmake compiles these together
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
TYPE = re.compile(rf"^(?:template\s*<.*?>\s*)?{rooms.KIND}\s+(\w+)", re.S)
CONSTANT = re.compile(r"^(?:static |inline )*(?:constexpr|constinit|const|thread_local)\b[^({=]*?\b(\w+)\s*(?:\[[^\]]*\]\s*)*[={]", re.S)
FUNCTION = re.compile(r"^((?:template\s*<.*?>\s*(?:requires\b.*?\n)?)?)[\w:<>,&*\s\[\]]*?\b(\w+)\s*\((.*)\)", re.S)


def statements(code):
    """The declarations in unnamed namespaces: each is the text up to a body, an initialiser or a semicolon."""
    inside, depth, head = [], 0, ""  # depths of the unnamed namespaces
    for ch in DIRECTIVE.sub("", code):
        if ch == "{":
            if re.search(r"\bnamespace\s*$", head):
                inside.append(depth + 1)
                head = ""
            elif inside and depth == inside[-1]:
                yield head.strip() + "{"
            depth += 1
            if not inside or depth == inside[-1]:
                head = ""
        elif ch == "}":
            depth -= 1
            if inside and depth < inside[-1]:
                inside.pop()
            if inside and depth == inside[-1]:
                head = ""
        elif ch == ";":
            if inside and depth == inside[-1] and head.strip():
                yield head.strip() + ";"
            head = head if inside and depth > inside[-1] else ""
        elif not inside or depth == inside[-1]:
            head += ch


def parts_of(text):
    """The parts between commas that are in no brackets."""
    parts, depth = [""], 0
    for ch in text:
        depth += (ch in "<({[") - (ch in ">)}]")
        if ch == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += ch
    return parts


def parameter_types(text):
    """The parameters of a function without their names and defaults."""
    return tuple(re.sub(r"\s+", "", re.sub(r"(?<=[\s&*>])\w+(?:\[\d*\])?\s*$", "", part.split("=")[0].strip())) for part in parts_of(text))


def keys_of(statement):
    """The kinds and names that must be unique."""
    declares = statement.endswith(";")
    found = TYPE.match(statement)
    if found:
        return [] if declares else [("", found[1])]
    found = CONSTANT.match(statement)
    if found:
        more = (re.match(r"\s*(\w+)\s*=", part) for part in parts_of(statement[found.end():])[1:])
        return [("", found[1]), *(("", m[1]) for m in more if m)]
    found = FUNCTION.match(statement)
    if not found or declares:
        return []
    return [(re.sub(r"\s+", " ", found[1]), found[2] + "(" + ", ".join(parameter_types(found[3])) + ")")]


def group_of(path, together, tests_together):
    """The group of files that this one is compiled with; None if it is compiled alone."""
    if not path.endswith(".cc") or path.endswith("_testing.cc"):
        return None
    room = rooms.room_of(path)
    if path.endswith("_test.cc"):
        return f"src/{room}/*_test.cc" if room in tests_together else None
    if path.startswith(APPS):
        return APPS
    return f"src/{room}/" if room in together else None


def complaints(texts, cmake):
    """`texts`: {path: text} of sources, `cmake`: the root CMakeLists.txt."""
    listed, first = ROOM.findall(cmake), {}
    together, tests_together = {room for room, several, _ in listed if several}, {room for room, _, alone in listed if not alone}
    for path, text in sorted(texts.items()):
        group = group_of(path, together, tests_together)
        for key in dict.fromkeys(key for s in statements(rooms.code_of(text)) for key in keys_of(s)) if group else ():
            other = first.setdefault((group, *key), path)
            if other != path:
                yield f"{path} and {other} both define {key[1]}, and files of {group} are compiled together; rename one of them"
