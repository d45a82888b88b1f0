#!/usr/bin/env python3
"""Checks that the POM of each artifact that is published has what Maven Central wants: coordinates, name, description,
address, licence, developers, source control; and that the sources, the javadoc, the signatures and the addresses are
configured: the publisher of the artifacts gives the addresses, so none stands in the POMs here.

usage: check_poms.py [FOLDER]              the project; default: the folder above this one
       check_poms.py --deployed [FOLDER]   the POMs that `mvn -Prelease package` made for deployment
"""
import argparse
import os
import sys
import xml.etree.ElementTree as ET

SPACE = "{http://maven.apache.org/POM/4.0.0}"
OWN = ["artifactId", "name", "description"]
SHARED = ["groupId", "version", "licenses/license/name", "licenses/license/url", "developers/developer/name"]
ADDRESSES = {"url": "${retort.url}", "scm/url": "${retort.url}", "scm/connection": "scm:git:${retort.git}", "scm/developerConnection": "scm:git:${retort.git}"}
PLUGINS = ["maven-source-plugin", "maven-javadoc-plugin"]
RELEASE_PLUGINS = ["maven-enforcer-plugin", "flatten-maven-plugin", "maven-gpg-plugin"]
DEPLOYED = os.path.join("target", "deployed-pom.xml")


def path(names):
    return "/".join(SPACE + name for name in names.split("/"))


def text(pom, names):
    found = pom.find(path(names))
    return (found.text or "").strip() if found is not None else ""


def plugins(pom):
    return [text(plugin, "artifactId") for plugin in pom.iterfind(path("build/plugins/plugin"))]


def is_plain(pom, names):
    return text(pom, names) != "" and "${" not in text(pom, names)


def published(folder):
    """The folders, below that one, of the parent and of its modules that are deployed."""
    parent = ET.parse(os.path.join(folder, "pom.xml")).getroot()
    yield "."
    for module in parent.iterfind(path("modules/module")):
        pom = ET.parse(os.path.join(folder, module.text, "pom.xml")).getroot()
        if text(pom, "properties/maven.deploy.skip") != "true":
            yield module.text


def parent_errors(parent):
    for names in OWN + SHARED:
        if not is_plain(parent, names):
            yield f"pom.xml: {names} is missing, or is not a plain text"
    for names, wanted in ADDRESSES.items():
        if text(parent, names) != wanted:
            yield f"pom.xml: {names} is not {wanted}"
    if text(parent, "packaging") != "pom":
        yield "pom.xml: packaging is not pom"
    release = [p for p in parent.iterfind(path("profiles/profile")) if text(p, "id") == "release"]
    for plugin in RELEASE_PLUGINS:
        if not release or plugin not in plugins(release[0]):
            yield f"pom.xml: no profile 'release' with {plugin}"


def errors(folder):
    """Complaints about the parent and about its modules, except those that are not deployed."""
    parent = ET.parse(os.path.join(folder, "pom.xml")).getroot()
    yield from parent_errors(parent)
    for module in list(published(folder))[1:]:
        pom = ET.parse(os.path.join(folder, module, "pom.xml")).getroot()
        for names in OWN:
            if not text(pom, names):
                yield f"{module}/pom.xml: {names} is missing"
        for names in ("groupId", "version"):
            if text(pom, "parent/" + names) != text(parent, names):
                yield f"{module}/pom.xml: the {names} of its parent is not {text(parent, names)}"
        for plugin in PLUGINS:
            if plugin not in plugins(pom):
                yield f"{module}/pom.xml: {plugin} is not used"


def deployed_errors(folder):
    """Complaints about the POMs that would be deployed: each has everything itself, as plain texts."""
    for module in published(folder):
        file = os.path.normpath(os.path.join(module, DEPLOYED))
        if not os.path.exists(os.path.join(folder, file)):
            yield f"{file} does not exist"
            continue
        pom = ET.parse(os.path.join(folder, file)).getroot()
        for names in [*OWN, *SHARED, *ADDRESSES]:
            if not is_plain(pom, names):
                yield f"{file}: {names} is missing, or is not a plain text"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--deployed", action="store_true")
    parser.add_argument("folder", nargs="?", default=os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    a = parser.parse_args()
    found = list((deployed_errors if a.deployed else errors)(a.folder))
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
