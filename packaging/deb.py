"""The Debian packages, made by debhelper from the installed files of a build; debian/ lists the files of each
package."""
import email.utils
import glob
import os
import shutil
import subprocess

import archive
import licences
import linked

HERE = os.path.join(linked.ROOT, "packaging", "debian")
EXPAT = os.path.join(linked.ROOT, "LICENSE")


def maintainer():
    """The maintainer, from the environment variables that Debian's tools read."""
    return email.utils.formataddr((os.environ.get("DEBFULLNAME", "The Retort authors"), os.environ.get("DEBEMAIL", "maintainers@retort.example")))


def expat():
    """The text of the project's licence as a paragraph of a copyright file, without its heading and copyright line."""
    with open(EXPAT, encoding="utf-8") as f:
        body = f.read().split("\n\n", 2)[2]
    return "\n".join(" " + (line or ".") for line in body.rstrip("\n").split("\n"))


def changelog(version, epoch):
    return f"retort ({version}) unstable; urgency=medium\n\n  * Release {version}.\n\n -- {maintainer()}  {email.utils.formatdate(epoch)}\n"


def fill(path):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    with open(path, "w", encoding="utf-8") as f:
        f.write(text.replace("@MAINTAINER@", maintainer()).replace("@EXPAT@", expat()))


def onnxruntime_folders(libraries):
    """Options of package_files.cmake: what has the names of Debian's libonnxruntime-dev lies in folders of its own."""
    own = libraries + "/retort"
    return [f"-DONNXRUNTIME_{name}DIR={folder}" for name, folder in
            (("LIB", own), ("INCLUDE", "include/retort"), ("CMAKE", own + "/cmake"), ("PKGCONFIG", own + "/pkgconfig"))]


def stage(build, prefix, version, epoch, tree):
    """Makes a source tree for dpkg-buildpackage: debian/, the installation, and the files that differ in Debian's
    layout."""
    shutil.rmtree(os.path.dirname(tree), ignore_errors=True)
    shutil.copytree(HERE, os.path.join(tree, "debian"))
    archive.copy_installation(prefix, os.path.join(tree, "stage"))
    for name in ("control", "copyright"):
        fill(os.path.join(tree, "debian", name))
    with open(os.path.join(tree, "debian", "changelog"), "w", encoding="utf-8") as f:
        f.write(changelog(version, epoch))
    licences.collect(build, os.path.join(tree, "inside"), common=False)
    triplet = subprocess.run(["dpkg-architecture", "-qDEB_HOST_MULTIARCH"], check=True, capture_output=True, encoding="utf-8").stdout.strip()
    subprocess.run(["cmake", "-DFOLDER=" + os.path.join(tree, "files"), "-DPROJECT_VERSION=" + version, "-DCMAKE_INSTALL_LIBDIR=lib/" + triplet,
                    "-DRETORT_PREFIX=/usr", *onnxruntime_folders("lib/" + triplet), "-P", os.path.join(linked.ROOT, "cmake", "package_files.cmake")], check=True)


def build(build_folder, prefix, work, version, epoch, level, to):
    """Makes the packages, packed at that level of xz; returns their paths in the folder `to`."""
    tree = os.path.join(work, "deb", "retort-" + version)
    stage(build_folder, prefix, version, epoch, tree)
    subprocess.run(["dpkg-buildpackage", "-b", "-us", "-uc", "-d"], cwd=tree, check=True, capture_output=True, encoding="utf-8",
                   env={**os.environ, "SOURCE_DATE_EPOCH": str(epoch), "LC_ALL": "C.UTF-8", "LEVEL": str(level)})
    return sorted(shutil.copy(p, to) for p in glob.glob(os.path.join(os.path.dirname(tree), "*.deb")))
