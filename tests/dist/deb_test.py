"""The Debian packages: their contents, lintian's report, and their installation, use and removal in a fresh system."""
import os
import re
import shutil
import threading
import unittest

import fresh_root
import made

# Files of packages that Debian has.
NOT_OURS = re.compile(r"^\./usr/(lib/[^/]+/libonnxruntime|include/onnxruntime)")
OLD = "0.0.1"
making = None


def setUpModule():
    """Makes the system while other tests run."""
    global making
    if made.missing():
        return

    def attempt():
        try:
            fresh_root.packed()
        except fresh_root.Missing:
            pass  # reported by the test that needs it

    making = threading.Thread(target=attempt)
    making.start()
    made.debs()


def listed(deb):
    return [line.split(maxsplit=5)[5] for line in made.run("dpkg-deb", "-c", deb).splitlines()]


def field(deb, name):
    return made.run("dpkg-deb", "-f", deb, name).strip()


def triplet():
    return made.run("dpkg-architecture", "-qDEB_HOST_MULTIARCH").strip()


class Packages(made.DistTest):
    def test_a_pair(self):
        self.assertEqual(sorted(made.debs()), ["libretort-dev", "libretort1"])

    def test_nothing_of_other_packages(self):
        for name, deb in made.debs().items():
            with self.subTest(name):
                self.assertEqual([p for p in listed(deb) if NOT_OURS.match(p)], [])

    def test_files(self):
        with open(os.path.join(made.ROOT, "tests", "dist", "debs.txt"), encoding="utf-8") as f:
            expected = f.read().replace("TRIPLET", triplet()).split()
        found = [f"{name}:{p.split(' ->')[0][1:]}" for name, deb in sorted(made.debs().items()) for p in listed(deb) if not p.endswith("/")]
        self.assertEqual([p for p in found if "/inside/" not in p and "/build-id" not in p], expected)
        self.assertTrue([p for p in found if "/inside/highway.txt" in p])

    def test_what_they_ask_for(self):
        self.assertRegex(field(made.debs()["libretort1"], "Depends"), r"^libc6 \(>= [0-9.]+\)")
        self.assertNotRegex(field(made.debs()["libretort1"], "Depends"), "dnnl|xnnpack|png|jpeg|zlib|minizip")
        version = field(made.debs()["libretort1"], "Version")
        self.assertEqual(field(made.debs()["libretort-dev"], "Depends"), f"libretort1 (= {version})")
        if os.path.isdir(os.path.join(made.OUT, "lib", "providers")):
            self.assertRegex(field(made.debs()["libretort1"], "Recommends"), "libdnnl2.*libxnnpack0")

    def test_lintian(self):
        if not shutil.which("lintian"):
            self.skipTest("no lintian; tools/setup.sh dist installs it")
        self.assertEqual(made.run("lintian", "--allow-root", "--fail-on", "error,warning", *made.debs().values()), "")

    def test_same_bytes(self):
        for one, other in zip(sorted(made.debs().values()), made.make_again("deb")):
            self.assertTrue(made.bytes_of(one) == made.bytes_of(other), f"{os.path.basename(one)} differs when made again")


def describe():
    """A C program that is compiled with the packages' files, and the folder that they are unpacked into."""
    folder = made.fresh("deb.unpacked")
    for deb in made.debs().values():
        made.run("dpkg", "-x", deb, folder)
    libraries = os.path.join(folder, "usr", "lib", triplet())
    flags = made.run("pkg-config", "--cflags", "--libs", "retort",
                     env=made.bare(PKG_CONFIG_SYSROOT_DIR=folder, PKG_CONFIG_LIBDIR=os.path.join(libraries, "pkgconfig"))).split()
    program = os.path.join(folder, "describe")
    made.run("gcc", "-Wall", "-Werror", os.path.join(made.ROOT, "tests", "dist", "describe.c"), "-o", program, *flags)
    return program, libraries


class Development(made.DistTest):
    def test_pkg_config(self):
        program, libraries = describe()
        self.assertEqual(made.run(program, made.DIGITS, env=made.bare(LD_LIBRARY_PATH=libraries)), "Retort image\n")

    def test_find_package(self):
        _, libraries = describe()
        examples = os.path.join(made.fresh("deb.example"), "examples")
        shutil.copytree(os.path.join(made.ROOT, "examples"), examples)
        source = os.path.join(examples, "embedded")
        made.run("cmake", "-S", source, "-B", source + "/build", "-DCMAKE_PREFIX_PATH=" + os.path.dirname(os.path.dirname(libraries)), env=made.bare())
        made.run("cmake", "--build", source + "/build", env=made.bare())
        with open(os.path.join(made.ROOT, "examples", "embedded", "expected.txt"), encoding="utf-8") as f:
            self.assertEqual(made.run(source + "/build/embedded", env=made.bare()), f.read())


def older(deb):
    """The package with a lower version, and with a file that the newer one does not have."""
    name = os.path.basename(deb).split("_")[0]
    folder = os.path.join(made.fresh("deb.older." + name), "tree")
    made.run("dpkg-deb", "-R", deb, folder)
    control = os.path.join(folder, "DEBIAN", "control")
    with open(control, encoding="utf-8") as f:
        text = f.read()
    with open(control, "w", encoding="utf-8") as f:
        f.write(text.replace(field(deb, "Version"), OLD))
    gone = os.path.join(folder, "usr", "share", "doc", name, "gone")
    with open(gone, "w", encoding="utf-8") as f:
        f.write("of the version before\n")
    made.run("dpkg-deb", "-b", "-Znone", "--root-owner-group", folder, os.path.dirname(folder) + f"/{name}_{OLD}.deb")
    return os.path.dirname(folder) + f"/{name}_{OLD}.deb"


class FreshSystem(made.DistTest):
    def setUp(self):
        super().setUp()
        making.join()
        try:
            self.root = fresh_root.Root("root")
        except fresh_root.Missing as e:
            self.skipTest(str(e))
        self.addCleanup(self.root.remove)

    def test_comes_runs_and_goes(self):
        root = self.root
        before = root.files()
        root.run("dpkg", "-i", *(root.put(older(deb)) for deb in made.debs().values()))
        self.assertTrue(root.has("usr/share/doc/libretort1/gone"))
        root.run("dpkg", "-i", *(root.put(deb) for deb in made.debs().values()))
        version = field(made.debs()["libretort1"], "Version")
        self.assertEqual(root.run("dpkg-query", "-W", "-f=${Package} ${Version} ${db:Status-Status}\n", "libretort*"),
                         f"libretort-dev {version} installed\nlibretort1 {version} installed\n")
        self.assertFalse(root.has("usr/share/doc/libretort1/gone"), "a file of the earlier version remained")
        self.used(version)
        root.run("dpkg", "-r", "libretort-dev", "libretort1")
        root.run("dpkg", "-P", "libretort-dev", "libretort1")
        self.assertEqual(root.run("dpkg-query", "-W", "-f=${Package}\n").count("retort"), 0)
        self.assertEqual(sorted(set(root.files().items()) ^ set(before.items())), [], "files that the packages left, took or changed")

    def used(self, version):
        root, private = self.root, f"/usr/lib/{triplet()}/retort"
        self.assertEqual(root.run("retort", "--version"), f"retort {version}\n")
        model = root.put(made.DIGITS)
        self.assertIn("probabilities", root.run("retort", "run", model))
        self.assertEqual(root.run(root.put(describe()[0]), model), "Retort image\n")
        self.drop_in(private)
        for provider, library in ("onednn", "libdnnl.so.2"), ("xnnpack", "libXNNPACK.so.0"):
            file = f"{private}/providers/libretort_{provider}.so"
            if root.has(file[1:]):  # without the recommended package
                self.assertIn(library, root.fails("retort", "run", model, "--plugin", f"{provider}={file}"))

    def drop_in(self, private):
        """Installs the drop-in as README.Debian describes."""
        root, name = self.root, "libonnxruntime.so.1"
        self.assertIn("cannot open the engine", root.fails("retort", "devices", "--library", name))
        self.assertIn("engine: Retort", root.run("env", "LD_LIBRARY_PATH=" + private, "retort", "devices", "--library", name))
        conf = os.path.join(root.folder, "etc", "ld.so.conf.d", "00-retort.conf")
        with open(conf, "w", encoding="utf-8") as f:
            f.write(private + "\n")
        root.run("ldconfig")
        self.assertIn("engine: Retort", root.run("retort", "devices", "--library", name))
        os.remove(conf)
        root.run("ldconfig")
        self.assertIn("cannot open the engine", root.fails("retort", "devices", "--library", name))


if __name__ == "__main__":
    unittest.main(verbosity=2)
