"""Checks which rooms of src/ use which others; check_layers.py prints the complaints.

- A room includes headers of the rooms that it names in the root CMakeLists.txt, and of no other.
- Only some rooms may include some headers (OWNED). Programs outside src/ use the engine through include/retort alone
  (OUTSIDE).
- A room declares no type of a room that it may not include. tools/upward_references.tsv lists the exceptions (room,
  type, room that defines it, why). The list may only shrink.
- A room lists another room only if it includes one of its headers or mentions one of its types.
"""
import re

REFERENCES = "tools/upward_references.tsv"
OWNED = [  # pattern of an included header, rooms that may
    (re.compile(r"protozero/"), {"onnx"}),
    (re.compile(r"flatbuffers/|ort_generated\.h"), {"ort_format"}),
    (re.compile(r"fmt/"), {"base"}),
    (re.compile(r"hwy/"), {"kernels"}),
    (re.compile(r"retort/onnxruntime_"), {"abi"}),
    (re.compile(r"retort/retort\.hpp"), set()),  # for users of the engine
]
OUTSIDE = ("apps/", "examples/", "bindings/", "providers/", "tests/", "bench/frugal/", "bench/zoo/")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.M)
# Comments, raw strings, strings, characters (not the quotes that separate digits).
NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])\'(?:\\.|[^\'\\\n])+\'', re.S)
KIND = r"(?:enum\s+)?(?:class|struct|union|enum)"
NAMESPACES = r"(?:namespace\s+[\w:]+\s*\{\s*)*"
# Members of classes are indented; they are defined where their class is.
DEFINED = re.compile(rf"^{NAMESPACES}(?:template\s*<[^;{{}}]*>\s*)?{KIND}\s+(?:alignas\([^)]*\)\s*)?(\w+)(?:\s+final)?\s*(?::[^:;{{][^;{{]*|<[^;{{]*>\s*)?\{{", re.M)
ALIAS = re.compile(r"^using\s+(\w+)\s*=", re.M)
OWN = re.compile(rf"\b(?:{KIND}|using|typename)\s+(\w+)")  # at any depth, so that a room's own type is not taken for another room's
DECLARED = re.compile(rf"^{NAMESPACES}(?:template\s*<[^;{{}}]*>\s*)?{KIND}\s+(\w+)(?:\s*:\s*[\w:]+)?\s*;|\bfriend\s+{KIND}\s+(\w+)\s*;|\b{KIND}\s+(\w+)(?:\s+const)?\s*[*&]", re.M)


def read_rooms(text):
    """{room: set of rooms that it may include, with itself}, from the text of the root CMakeLists.txt"""
    rows = re.findall(r"^retort_room\((\w+)(?:\s+(?:LOADS|SMALL))?(?:\s+TOGETHER \d+)?(?:\s+TESTS_ALONE)?(?:\s+USES\s+([\w\s]+))?\)", text, re.M)
    return {name: {name, *uses.split()} for name, uses in rows}


def room_of(path):
    parts = path.split("/")
    return parts[1] if parts[0] == "src" and len(parts) > 2 else None


def blank(match):
    """As many empty lines as the match has."""
    return "\n" * match.group(0).count("\n")


def code_of(text):
    """The code without comments, strings and characters; line numbers do not change."""
    return NOISE.sub(blank, text)


def include_errors(path, text, rooms):
    room = room_of(path)
    for header in INCLUDE.findall(text):
        if ".." in header.split("/") and not path.startswith("include/"):
            yield f"{path} includes {header}: name it from the root of its room's folder"
            continue
        target = header.split("/")[0] if "/" in header else None
        if path.startswith(OUTSIDE):
            if target in rooms:
                yield f"{path} includes {header}: it may use the engine only through include/retort"
            continue
        if room is None:
            continue
        if target in rooms and target not in rooms.get(room, {target}):
            yield f"{path} includes {header}: room {room} may not use room {target}"
        for pattern, owners in OWNED:
            if pattern.match(header) and room not in owners:
                yield f"{path} includes {header}: only {', '.join(sorted(owners)) or 'programs outside src'} may"


def defined_types(codes):
    """{type: rooms that define it}. If a header defines a type, definitions of that name in sources do not count."""
    headers, others = {}, {}
    for path, code in codes.items():
        where = headers if path.endswith(".h") else others
        for name in DEFINED.findall(code):
            where.setdefault(name, set()).add(room_of(path))
    return {**others, **headers}


def upward_references(codes, rooms):
    """{(room, type, room that defines it): a path that declares it} where the first room may not include the second."""
    types, found = defined_types(codes), {}
    for path, code in sorted(codes.items()):
        room = room_of(path)
        for names in DECLARED.findall(code):
            name = next(filter(None, names))
            homes = types.get(name, set()) & set(rooms)
            if homes and room in rooms and not homes & rooms[room]:
                found.setdefault((room, name, min(homes)), path)
    return found


def reference_errors(found, allowed):
    """Complaints about upward references that the table does not have, and about rows that are not needed."""
    for (room, name, home), path in sorted(found.items()):
        if (room, name, home) not in allowed:
            yield f"{path} declares {name} of room {home}, which room {room} may not use"
    for room, name, home in sorted(set(allowed) - set(found)):
        yield f"{REFERENCES}: room {room} does not declare {name} of room {home}: take the row out (--update)"


def edge_errors(texts, codes, rooms):
    """Complaints about rooms that another room names in CMakeLists.txt, but does not use."""
    types, included, words, own = {}, set(), {}, {}
    for path, code in codes.items():
        room = room_of(path)
        included |= {(room, header.split("/")[0]) for header in INCLUDE.findall(texts[path])}
        words.setdefault(room, set()).update(re.findall(r"\w+", code))
        own.setdefault(room, set()).update(OWN.findall(code))
        if path.endswith(".h"):
            types.setdefault(room, set()).update(DEFINED.findall(code), ALIAS.findall(code))
    for room, uses in rooms.items():
        mentioned = words.get(room, set()) - own.get(room, set())
        for other in sorted(uses - {room}):
            if (room, other) not in included and not mentioned & types.get(other, set()):
                yield f"CMakeLists.txt: room {room} names room {other}, but includes none of its headers and mentions none of its types: take it out"
