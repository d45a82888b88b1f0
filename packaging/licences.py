"""The licence texts of all shipped code: ours, those in vendor folders, and those of packages whose code is inside.

A package's text is its usr/share/doc/<package>/copyright, as it was when the code was compiled, so that it fits the
version.
"""
import fnmatch
import os
import re
import shutil

import linked

TABLE = os.path.join(linked.ROOT, "packaging", "components.tsv")
VENDOR = {"dagre": ("apps/retort/web/vendor/dagre.LICENSE", "MIT", "tool")}  # name: text, licence, part
COMMON = re.compile(r"/usr/share/common-licenses/([\w.+-]*\w)")


def table():
    with open(TABLE, encoding="utf-8") as f:
        return [line.rstrip("\n").split("\t") for line in f][1:]


def components(build):
    """[(name, licence, parts, file of the text, folder of its package)] of all code of other projects. Fails if the
    table lacks one."""
    inside = {}
    for part, paths in linked.files(build).items():
        for package, root in linked.owners(paths).items():
            inside.setdefault((package, root), []).append(part)
    result = [(name, licence, [part], os.path.join(linked.ROOT, text), "/") for name, (text, licence, part) in VENDOR.items()]
    for (package, root), parts in sorted(inside.items()):
        rows = [row for row in table() if fnmatch.fnmatch(package, row[0])]
        if not rows:
            raise linked.Unknown(f"code of the package {package} is in the {' and the '.join(parts)}, but {TABLE} has no row for it; add one with its licence")
        text = os.path.realpath(os.path.join(root, "usr/share/doc", package, "copyright"))
        if not os.path.isfile(text):
            raise linked.Unknown(f"{package} has no licence text {text}; install it again with its documentation")
        result.append((rows[0][1], rows[0][2], parts, text, root))
    return result


def file_name(name):
    return re.sub(r"[^a-z0-9]+", "-", name.split(" (")[0].lower().replace("++", "pp").replace("'s", "")).strip("-") + ".txt"


def copy_common(wanted, folder):
    """Copies texts that packages share, once also if the system has two names for one; returns where README.md says that they are."""
    os.makedirs(folder, exist_ok=True)
    others = []
    for licence in sorted(wanted):
        path = os.path.realpath(os.path.join("/usr/share/common-licenses", licence))
        shutil.copyfile(path, os.path.join(folder, os.path.basename(path)))
        if os.path.basename(path) != licence:
            others.append(f"; `{licence}` is `{os.path.basename(path)}`")
    return "`common`" + "".join(others)


def collect(build, folder, common=True):
    """Writes every text into the folder, once, and README.md, which lists their owners; returns the names of the files."""
    os.makedirs(folder, exist_ok=True)
    rows, wanted, files = [], set(), {}
    for name, licence, parts, text, _ in components(build):
        with open(text, encoding="utf-8", errors="replace") as f:
            content = f.read()
        wanted |= set(COMMON.findall(content))
        if content not in files:
            files[content] = file_name(name)
            shutil.copyfile(text, os.path.join(folder, files[content]))
        rows.append(f"| {name} | {', '.join(parts)} | {licence} | `{files[content]}` |")
    where = copy_common(wanted, os.path.join(folder, "common")) if common else "that folder, and long texts are compressed (`.gz`)"
    with open(os.path.join(folder, "README.md"), "w", encoding="utf-8") as f:
        f.write("# Third-party code\nRetort itself is under the MIT licence. This table lists the code of other projects that was compiled or linked into its files. The text of each\n"
                f"licence is that of Debian's package. Texts named `/usr/share/common-licenses/...` are in {where}.\n\n"
                "| project | in | licence | text |\n|---|---|---|---|\n" + "\n".join(sorted(rows, key=str.lower)) + "\n")
    return sorted(set(os.listdir(folder)) - {"README.md", "common"})
