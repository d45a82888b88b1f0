"""Writes the table of names in docs/python.md from the comparison with the official package.

    names_page.py --check | --update
"""

import os
import sys

import compare_surface
import surface

TOOLS = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(TOOLS, "..", "..", "..", "docs", "python.md")
TABLE = os.path.join(TOOLS, "..", "tests", "data", "onnxruntime_1.32.0.tsv")
BEGIN, END = "<!-- names: begin (bindings/python/tools/names_page.py --update) -->", "<!-- names: end -->"
TOP_KINDS = ("class", "enumeration", "exception", "function", "value")


class Group:
    """A class or function of a module, with its members."""

    def __init__(self, row: compare_surface.Verdict) -> None:
        self.row = row
        self.members: list[compare_surface.Verdict] = []

    def verdict(self) -> str:
        """What is not equal, in words."""
        notes = []
        for each in [self.row, *self.members]:
            if each.verdict != "equal":
                reason = compare_surface.EXTENDED.get(each.name, "")
                notes.append(f"`{each.name.rsplit('.', 1)[-1]}`: {each.verdict}{': ' + reason if reason else ''}")
        return "; ".join(notes) or "equal"


def groups(verdicts: list[compare_surface.Verdict]) -> list[Group]:
    found: list[Group] = []
    for row in verdicts:
        if row.kind in TOP_KINDS and not (found and row.name.startswith(found[-1].row.name + ".")):
            found.append(Group(row))
        elif row.kind != "alias":
            found[-1].members.append(row)
    return found


def module_of(name: str, modules: tuple[str, ...]) -> str:
    fitting = [module for module in modules if module and name.startswith(module + ".")]
    return max(fitting, key=len, default="")


def lines(verdicts: list[compare_surface.Verdict]) -> list[str]:
    counts = {kind: sum(row.verdict == kind for row in verdicts) for kind in ("equal", "extended", "different", "missing")}
    result = [
        f"Of {len(verdicts)} names of onnxruntime 1.32.0, {counts['equal']} are here with equal signatures, and "
        f"{counts['extended']} accept more than",
        f"the official ones; {counts['different']} differ and {counts['missing']} are missing. Names that stand for a "
        "thing of another module are counted, but not",
        "listed.",
        "",
        "| module | name | what | members | signatures |",
        "|---|---|---|---:|---|",
    ]
    for group in groups(verdicts):
        module = module_of(group.row.name, surface.MODULES)
        name = group.row.name[len(module) + 1 :] if module else group.row.name
        members = str(len(group.members)) if group.members else ""
        shown = f"`{module}`" if module else "`retort`"
        result.append(f"| {shown} | `{name}` | {group.row.kind} | {members} | {group.verdict()} |")
    return result


def page(text: str) -> str:
    """The page with the table of today."""
    verdicts = compare_surface.compare(compare_surface.read_table(TABLE), surface.collect("retort"))
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return "\n".join([before + BEGIN, *lines(verdicts), END]) + after


def main() -> int:
    if sys.argv[1:] not in (["--check"], ["--update"]):
        print(__doc__, file=sys.stderr)
        return 2
    with open(PAGE, encoding="utf-8") as file:
        text = file.read()
    made = page(text)
    if sys.argv[1] == "--check":
        if made != text:
            print("docs/python.md does not agree with the package; run bindings/python/tools/names_page.py --update")
        return int(made != text)
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
