#!/usr/bin/env python3
"""Checks that the POM of each artifact that is published has what Maven Central wants: coordinates, name, description,
address, licence, developers, source control; and that the sources, the javadoc and the signatures are configured.

usage: check_poms.py [FOLDER]     the project; default: the folder above this one
"""
import os
import sys
import xml.etree.ElementTree as ET

SPACE = "{http://maven.apache.org/POM/4.0.0}"
OWN = ["artifactId", "name", "description"]
SHARED = ["groupId", "version", "url", "licenses/license/name", "licenses/license/url", "developers/developer/name", "scm/connection",
          "scm/developerConnection", "scm/url"]
PLUGINS = ["maven-source-plugin", "maven-javadoc-plugin"]


def path(names):
    return "/".join(SPACE + name for name in names.split("/"))


def text(pom, names):
    found = pom.find(path(names))
    return (found.text or "").strip() if found is not None else ""


def plugins(pom):
    return [text(plugin, "artifactId") for plugin in pom.iterfind(path("build/plugins/plugin"))]


def errors(folder):
    """Complaints about the parent and about its modules, except those that are not deployed."""
    parent = ET.parse(os.path.join(folder, "pom.xml")).getroot()
    for names in OWN + SHARED:
        if not text(parent, names) or "${" in text(parent, names):
            yield f"pom.xml: {names} is missing, or is not a plain text"
    if text(parent, "packaging") != "pom":
        yield "pom.xml: packaging is not pom"
    release = [p for p in parent.iterfind(path("profiles/profile")) if text(p, "id") == "release"]
    if not release or "maven-gpg-plugin" not in plugins(release[0]):
        yield "pom.xml: no profile 'release' with maven-gpg-plugin"
    for module in parent.iterfind(path("modules/module")):
        pom = ET.parse(os.path.join(folder, module.text, "pom.xml")).getroot()
        if text(pom, "properties/maven.deploy.skip") == "true":
            continue
        for names in OWN:
            if not text(pom, names):
                yield f"{module.text}/pom.xml: {names} is missing"
        for names in ("groupId", "version"):
            if text(pom, "parent/" + names) != text(parent, names):
                yield f"{module.text}/pom.xml: the {names} of its parent is not {text(parent, names)}"
        for plugin in PLUGINS:
            if plugin not in plugins(pom):
                yield f"{module.text}/pom.xml: {plugin} is not used"


def main():
    found = list(errors(sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
