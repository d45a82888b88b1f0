"""The release archive: its contents, the origin of its code, that it is reproducible, and that it works in any
folder."""
import glob
import os
import re
import shutil
import unittest
from unittest import mock

import made  # sets the path of the next two

import archive
import licences
import linked


def needed(path):
    """Names of the shared libraries that a file needs."""
    return [line.split("[")[1].rstrip("]") for line in made.run("readelf", "-dW", path).splitlines() if "(NEEDED)" in line]


class Contents(made.DistTest):
    def test_files(self):
        with open(os.path.join(made.ROOT, "tests", "dist", "archive.txt"), encoding="utf-8") as f:
            expected = f.read().split()
        top = made.unpacked()
        found = sorted(os.path.relpath(os.path.join(at, n), top) for at, _, files in os.walk(top) for n in files)
        found = [p for p in found if not p.startswith("licences/")]
        self.assertEqual(found, sorted(expected))

    def test_releases_of_the_installation_are_left_out(self):
        area = made.fresh("copied")
        for path in ("dist/a.tar.xz", "wheels/a.whl", "bin/retort", "share/wheels/page"):
            os.makedirs(os.path.join(area, "out", os.path.dirname(path)))
            with open(os.path.join(area, "out", path), "w", encoding="utf-8") as f:
                f.write(path)
        to = os.path.join(area, "copy")
        archive.copy_installation(os.path.join(area, "out"), to)
        self.assertEqual(sorted(os.path.relpath(os.path.join(at, n), to) for at, _, files in os.walk(to) for n in files), ["bin/retort", "share/wheels/page"])

    def test_stripped(self):
        for name in ("bin/retort", "lib/libretort.so.1", "lib/libonnxruntime.so.1"):
            with self.subTest(name):
                self.assertNotIn(" .symtab ", made.run("readelf", "-SW", os.path.join(made.unpacked(), name)))

    def test_only_the_system_is_needed(self):
        allowed = ("libc.so", "libm.so", "libgcc_s.so", "libstdc++.so", "libdl.so", "libpthread.so", "librt.so", "ld-linux")
        for name in ("bin/retort", "lib/libretort.so.1", "lib/libonnxruntime.so.1"):
            for library in needed(os.path.join(made.unpacked(), name)):
                with self.subTest(name, library=library):
                    self.assertTrue(library.startswith(allowed), f"{name} needs {library}, which is not in the archive")

    def test_no_path_of_the_build(self):
        for path in glob.glob(os.path.join(made.unpacked(), "**"), recursive=True):
            if os.path.isfile(path):
                self.assertFalse(made.ROOT.encode() + b"/" in made.bytes_of(path), f"{path} names {made.ROOT}")

    def test_same_bytes(self):
        self.assertTrue(made.bytes_of(made.archive()) == made.bytes_of(made.make_again("archive")[0]), "two archives of one installation differ")


class Licences(made.DistTest):
    def test_every_project_has_a_text(self):
        folder = os.path.join(made.unpacked(), "licences")
        texts = {os.path.basename(p): p for p in glob.glob(os.path.join(folder, "*.txt"))}
        with open(os.path.join(folder, "README.md"), encoding="utf-8") as f:
            readme = f.read()
        inside = licences.components(made.BUILD)
        listed = dict(re.findall(r"^\| (.+?) \| .* \| `([^`]+)` \|$", readme, re.M))
        self.assertEqual(set(texts), {listed[name] for name, *_ in inside})
        for name, _, _, source, _ in inside:
            with self.subTest(name), open(texts[listed[name]], encoding="utf-8") as f, open(source, encoding="utf-8") as original:
                text = f.read()
                self.assertEqual(text, original.read())
                self.assertIn("opyright", text)
                for common in licences.COMMON.findall(text):
                    name = os.path.basename(os.path.realpath(os.path.join("/usr/share/common-licenses", common)))
                    self.assertTrue(os.path.getsize(os.path.join(folder, "common", name)))
                    self.assertTrue(common == name or f"`{common}` is `{name}`" in readme, common)

    def test_known_ones_are_seen(self):
        """Tests the search itself with one example for each way in which code is included."""
        names = {name for name, *_ in licences.components(made.BUILD)}
        for name in ("Highway", "libjpeg-turbo", "GNU C++ library", "dagre", "{fmt}"):  # headers, an archive, the compiler's, vendor, headers
            self.assertIn(name, names)

    def test_one_without_text_is_refused(self):
        rows = [row for row in licences.table() if row[0] != "libhwy-dev"]
        with mock.patch.object(licences, "table", return_value=rows), self.assertRaisesRegex(linked.Unknown, "libhwy-dev is in the library"):
            licences.components(made.BUILD)

    def test_one_of_no_package_is_refused(self):
        with self.assertRaisesRegex(linked.Unknown, "no package brings .*/made.py"):
            linked.owners([os.path.join(made.ROOT, "tests", "dist", "made.py")])


class Moved(made.DistTest):
    """Tests the archive without the checkout, except for copies of examples."""

    def example(self, name):
        folder = os.path.join(made.fresh("example." + name), name)
        shutil.copytree(os.path.join(made.ROOT, "examples", name), folder)
        return folder

    def expect(self, name, program):
        with open(os.path.join(made.ROOT, "examples", name, "expected.txt"), encoding="utf-8") as f:
            self.assertEqual(made.run(program, made.DIGITS, env=made.bare()), f.read())

    def test_tool(self):
        tool = os.path.join(made.unpacked(), "bin", "retort")
        self.assertRegex(made.run(tool, "--version", env=made.bare()), r"^retort \d+\.\d+\.\d+\n$")
        self.assertIn("probabilities", made.run(tool, "run", made.DIGITS, env=made.bare()))

    def test_find_package(self):
        source = self.example("first")
        made.run("cmake", "-S", source, "-B", source + "/build", "-DCMAKE_PREFIX_PATH=" + made.unpacked(), env=made.bare())
        made.run("cmake", "--build", source + "/build", env=made.bare())
        self.expect("first", source + "/build/first")

    def test_pkg_config(self):
        """In a folder without a space, since make's rules split words at spaces."""
        folder = os.path.join(made.fresh("moved"), "retort")
        shutil.copytree(made.unpacked(), folder, symlinks=True)
        source = self.example("any_model")
        made.run("make", "-C", source, "PKG_CONFIG_PATH=" + folder + "/lib/pkgconfig", env=made.bare())
        self.expect("any_model", source + "/any_model")


if __name__ == "__main__":
    unittest.main(verbosity=2)
