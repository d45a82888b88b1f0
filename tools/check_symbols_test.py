#!/usr/bin/env python3
"""Tests check_symbols.py and glibc_stubs.py with libraries that the compiler of this machine makes."""
import contextlib
import io
import os
import shutil
import subprocess
import tempfile
import unittest
from unittest import mock

import check_symbols as cs
import elf_tables as elf
import glibc_stubs as gs

COMPILER = shutil.which("gcc")
OLD = (2, 28)
NEWER = "#include <math.h>\ndouble f(double x) { return exp(x); }\n"  # exp has a version of 2.29
THREADS = "#include <pthread.h>\nint f(void) { return pthread_join(pthread_self(), 0); }\n"


def own_glibc():
    """The version of the compiler's glibc as in (2, 36); None if its C library is another one."""
    if not COMPILER or not gs.print_file_name([COMPILER], "libc.so.6"):
        return None
    versions = {elf.number(s.version) for s in elf.symbols(gs.print_file_name([COMPILER], "libc.so.6")) if s.version.startswith("GLIBC_")}
    return max(v for v in versions if v)


GLIBC = own_glibc()


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def at(self, *path):
        return os.path.join(self.folder, *path)

    def compiled(self, text, *options, name="lib.so"):
        with open(self.at("source.c"), "w", encoding="utf-8") as f:
            f.write(text)
        subprocess.run([COMPILER, "-shared", "-fPIC", "-o", self.at(name), self.at("source.c"), *options], check=True, capture_output=True)
        return self.at(name)

    def stubs(self, newest=OLD, archive=""):
        gs.make([COMPILER], "readelf", newest, archive, self.at("stubs of " + str(newest[1])))
        return "-L" + self.at("stubs of " + str(newest[1]))


@unittest.skipUnless(GLIBC and GLIBC >= (2, 36), "no compiler with glibc 2.36 or newer")
class LinkedNormally(Folder):
    def test_versions(self):
        [problem] = cs.problems(self.compiled(NEWER, "-lm"), OLD)
        self.assertIn("asks libm.so.6 for exp of version GLIBC_2.29", problem)
        self.assertIn("retort_ship()", problem)

    def test_threads(self):
        found = "\n".join(cs.problems(self.compiled(THREADS), OLD))
        self.assertIn("pthread_join of version GLIBC_2.34", found)
        self.assertIn("pthread_join, pthread_self without naming libpthread.so.0", found)

    def test_packed_relocations(self):
        table = "int a, b; int* table[] = {&a, &b, &a, &b, &a, &b, &a, &b};\n"
        path = self.compiled("__attribute__((visibility(\"hidden\"))) extern int a, b;" + table.replace("int a, b;", "") + "int a, b;\n", "-Wl,-z,pack-relative-relocs")
        found = "\n".join(cs.problems(path, OLD))
        self.assertIn("has packed relocations", found)
        self.assertEqual(cs.problems(path, (2, 36)), [])

    def test_what_no_library_has(self):
        [problem] = cs.problems(self.compiled("int nobody(void); int f(void) { return nobody(); }\n"), OLD)
        self.assertIn("asks for nobody without a version", problem)

    def test_weak_symbols_may_be_missing(self):
        self.assertEqual(cs.problems(self.compiled("__attribute__((weak)) int nobody(void); int f(void) { return nobody ? nobody() : 0; }\n"), OLD), [])

    def test_a_library_that_is_not_there(self):
        self.compiled("int mine(void) { return 1; }\n", "-Wl,-soname,libnowhere.so.7", name="libnowhere.so")
        [problem] = cs.problems(self.compiled("int mine(void); int f(void) { return mine(); }\n", self.at("libnowhere.so")), OLD)
        self.assertIn("libnowhere.so.7, which might have them, is not on this system", problem)

    def test_files_count_one_by_one(self):
        os.mkdir(self.at("tree"))
        shutil.copy(self.compiled(NEWER, "-lm"), self.at("tree", "bad.so"))
        shutil.copy(self.compiled("int f(void) { return 1; }\n"), self.at("tree", "good.so"))
        os.symlink("bad.so", self.at("tree", "link.so"))
        with open(self.at("tree", "text.so"), "w", encoding="utf-8") as f:
            f.write("not a library\n")
        out = io.StringIO()
        with contextlib.redirect_stdout(out), mock.patch("sys.argv", ["check_symbols.py", self.at("tree")]):
            self.assertEqual(cs.main(), 1)
        self.assertTrue(out.getvalue().endswith("1 passed, 1 failed\n"), out.getvalue())
        self.assertIn(f"FAIL {self.at('tree', 'bad.so')} asks", out.getvalue())

    def test_an_empty_folder_fails(self):
        with contextlib.redirect_stdout(io.StringIO()), mock.patch("sys.argv", ["check_symbols.py", self.folder]):
            self.assertEqual(cs.main(), 1)


@unittest.skipUnless(GLIBC and GLIBC >= (2, 36), "no compiler with glibc 2.36 or newer")
class LinkedWithStubs(Folder):
    def test_versions(self):
        path = self.compiled(NEWER + '#include <string.h>\nvoid g(void* a, void* b, int n) { memcpy(a, b, n); }\n', self.stubs(), "-lm", "-Wl,-z,defs")
        self.assertEqual(cs.problems(path, OLD), [])
        versions = {s.name: elf.number(s.version) for s in elf.symbols(path) if not s.defined}
        self.assertLessEqual(versions["exp"], OLD)
        self.assertEqual(versions["memcpy"], max(elf.number(s.version) for s in elf.symbols(gs.print_file_name([COMPILER], "libc.so.6"))
                                                 if s.name == "memcpy" and elf.number(s.version) <= OLD))

    def test_threads(self):
        for default in "", "-Wl,--as-needed", "-Wl,--no-as-needed":
            path = self.compiled(THREADS, self.stubs(), "-Wl,-z,defs", *default.split())
            self.assertEqual(cs.problems(path, OLD), [])
            self.assertIn("libpthread.so.0", elf.tags(path)["NEEDED"])
            self.assertNotIn("libdl.so.2", elf.tags(path)["NEEDED"])

    def test_what_is_newer_does_not_link(self):
        text = "unsigned arc4random(void); unsigned f(void) { return arc4random(); }\n"
        with self.assertRaises(subprocess.CalledProcessError):
            self.compiled(text, self.stubs(), "-Wl,-z,defs")
        self.compiled(text, self.stubs((2, 36)), "-Wl,-z,defs")

    def test_what_moved_and_has_no_stub_does_not_link(self):
        with self.assertRaises(subprocess.CalledProcessError):
            self.compiled("#include <pty.h>\nint f(int* a) { return openpty(a, a, 0, 0, 0); }\n", self.stubs(), "-Wl,-z,defs")

    def test_is_made_once(self):
        where = self.stubs()[2:]
        before = {name: os.stat(os.path.join(where, name)).st_mtime_ns for name in os.listdir(where)}
        self.stubs()
        self.assertEqual(before, {name: os.stat(os.path.join(where, name)).st_mtime_ns for name in os.listdir(where)})

    def test_a_processor_has_a_first_version(self):
        with self.assertRaisesRegex(gs.Failure, "lack malloc"):
            self.stubs((2, 1))


class Stubs(unittest.TestCase):
    def symbol(self, name, version, **kw):
        return elf.Symbol(**{"name": name, "version": version, "defined": True, "old": False, "kind": "FUNC", "binding": "GLOBAL", "value": 64, "size": 8, **kw})

    def test_the_newest_that_is_old_enough(self):
        symbols = [self.symbol("exp", v, value=i) for i, v in enumerate(("GLIBC_2.2.5", "GLIBC_2.4", "GLIBC_2.29"))]
        self.assertEqual(gs.chosen(symbols, OLD)["exp"].version, "GLIBC_2.4")

    def test_what_is_private_or_newer_is_not_there(self):
        symbols = [self.symbol("a", "GLIBC_PRIVATE"), self.symbol("b", "GLIBC_2.29"), self.symbol("c", "GLIBC_2.4", defined=False), self.symbol("d", "")]
        self.assertEqual(gs.chosen(symbols, OLD), {})

    def test_of_gcc_only_what_is_linked_with(self):
        symbols = [self.symbol("__cpu_model", "GCC_4.8.0", old=True), self.symbol("_Unwind_Resume", "GCC_3.0"), self.symbol("__new", "GCC_12.0.0")]
        self.assertEqual(list(gs.chosen(symbols, OLD)), ["_Unwind_Resume"])

    def test_moved_symbols_are_where_they_were(self):
        libc = [self.symbol(n, "GLIBC_2.2.5") for n in ("malloc", "pthread_create", "dlopen", "sem_post", "openpty", "timerfd_create")]
        stubs = gs.distributed({"libc.so.6": libc, "libpthread.so.0": []}, OLD)
        self.assertEqual({file: sorted(names) for file, names in stubs.items()},
                         {"libc.so.6": ["malloc", "timerfd_create"], "libpthread.so.0": ["pthread_create", "sem_post"], "libdl.so.2": ["dlopen"]})

    def test_libraries_that_are_apart_stay_so(self):
        tables = {"libc.so.6": [self.symbol("pthread_self", "GLIBC_2.2.5")], "libpthread.so.0": [self.symbol("pthread_create", "GLIBC_2.2.5")]}
        self.assertEqual({file: list(names) for file, names in gs.distributed(tables, OLD).items()},
                         {"libc.so.6": ["pthread_self"], "libpthread.so.0": ["pthread_create"]})

    def test_aliases_share_their_place(self):
        same = {"kind": "OBJECT", "value": 4096}
        text = gs.assembly({n: self.symbol(n, "GLIBC_2.2.5", **same) for n in ("environ", "__environ")})
        self.assertEqual(text.count(".skip"), 1)


class Limits(unittest.TestCase):
    def test_too_new(self):
        limits = {**cs.GCC_8, "GLIBC": OLD}
        for version in "GLIBC_2.28", "GLIBC_2.2.5", "GLIBCXX_3.4.25", "CXXABI_1.3", "CXXABI_TM_1", "GCC_7.0.0", "OMP_1.0", "V1":
            self.assertFalse(cs.too_new(version, limits), version)
        for version in "GLIBC_2.29", "GLIBC_2.100", "GLIBC_PRIVATE", "GLIBC_ABI_DT_RELR", "GLIBCXX_3.4.26", "CXXABI_1.3.12", "GCC_12.0.0", "OMP_5.0":
            self.assertTrue(cs.too_new(version, limits), version)


if __name__ == "__main__":
    unittest.main()
