"""Asks the engine how it runs operators: models of one node, drawn as for fuzzing, are described by the library, which loads and optimises them
as for a session."""
import ctypes
import json
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(ROOT, "tools", "fuzzing"), os.path.join(ROOT, "tests")]
import model  # noqa: E402
import operator_examples  # noqa: E402
import recipes  # noqa: E402
import schemas  # noqa: E402
from c_api import Api, ApiError  # noqa: E402
from case import Case, Refused  # noqa: E402
from recipes.plain import plain  # noqa: E402

ATTEMPTS = 60  # models that are drawn for a version and a type until one can run
WAYS = ("kernel", "reference", "converted")  # the fastest first, as RetortDescribeModel names them
REFUSED = "refused"
ODD = {schemas.ELEMENTS[name] for name in ("string", "complex64", "complex128", "bool")}  # types with which attributes may not make sense
ODD_ATTEMPTS = 12  # models that are drawn at least for such a type
FLOAT = schemas.ELEMENTS["float"]
PTR = ctypes.c_void_p


class Engine(Api):
    """The functions of include/retort/retort_tools.h."""

    def __init__(self, library):
        super().__init__(library)
        self.allocator = PTR()
        self.call("GetAllocatorWithDefaultOptions", ctypes.byref(self.allocator))
        find = self.function("GetExperimentalFunction", PTR, ctypes.c_char_p)
        texts = ctypes.POINTER(ctypes.c_char_p)
        self.describes = ctypes.CFUNCTYPE(PTR, ctypes.c_char_p, texts, texts, ctypes.c_size_t, PTR, PTR)(find(b"RetortDescribeModel"))
        self.lists = ctypes.CFUNCTYPE(PTR, PTR, PTR)(find(b"RetortListOperators"))

    def text(self, call):
        """The JSON text that a function allocates, parsed."""
        out = PTR()
        status = call(ctypes.byref(out))
        if status:
            message = self.function("GetErrorMessage", ctypes.c_char_p, PTR)(status).decode("utf-8", "replace")
            self.function("ReleaseStatus", None, PTR)(status)
            raise ApiError(0, message)
        told = json.loads(ctypes.string_at(out))
        self.call("AllocatorFree", self.allocator, out)
        return told

    def operators(self):
        return self.text(lambda out: self.lists(self.allocator, out))

    def described(self, path, level):
        keys, values = (ctypes.c_char_p * 1)(b"level"), (ctypes.c_char_p * 1)(str(level).encode())
        return self.text(lambda out: self.describes(path.encode(), keys, values, 1, self.allocator, out))


class Chosen(Case):
    """A legal case of one version, in which a type variable has a given element type. As in most models, the other inputs than the first
    are constants, unless the recipe decides, and shapes are known."""

    def __init__(self, operator, version, types, number):
        self.wanted = version
        super().__init__(operator, 0, number)
        self.chosen.update(types)
        self.form = "fixed"

    def choose_version(self):
        return self.wanted, {}

    def odd(self, share=0.03):
        return False

    def give(self, value, constant=None, type=""):
        return super().give(value, bool(self.inputs) if constant is None else constant and bool(self.inputs), type)


def walk(graph):
    for node in graph["nodes"]:
        yield node
        for body in node.get("bodies", {}).values():
            yield from walk(body)


class Probe:
    """How an engine runs operators."""

    def __init__(self, library):
        self.engine, self.table = Engine(library), {**recipes.load(), **operator_examples.TABLE}
        self.memory = os.memfd_create("model")  # a file without a disk: thousands of models are written to it

    def close(self):
        os.close(self.memory)

    def drawn(self, operator, version, types, number):
        """The description function of a drawn model; None if the recipe cannot make one."""
        case = Chosen(operator, version, types, number)
        try:
            self.table.get(operator.label, plain)(case)
            made = model.build(case.finish())[0]
        except (Refused, IndexError, KeyError, ValueError, TypeError, ZeroDivisionError, OverflowError):
            return None
        if any(case.chosen.get(variable) != of for variable, of in types.items()):
            return None
        os.ftruncate(self.memory, 0)
        os.pwrite(self.memory, made, 0)
        return lambda level: self.engine.described(f"/proc/self/fd/{self.memory}", level)

    def way(self, operator, version, types):
        """(way, partly). The way is one of WAYS, the slowest of the nodes that the first drawn model becomes that can run; REFUSED if none can,
        and the engine says that it is because of a type; "" if no legal model was drawn. Partly: models with other attributes are refused."""
        found, refused = "", False
        least = ODD_ATTEMPTS if ODD & set(types.values()) else 0
        floats = {v: FLOAT for v, elements in element_types(version).items() if FLOAT in elements}
        for number in range(ATTEMPTS):
            others = {} if number % 2 else floats  # first with other types that run fast, so that they do not decide
            described = self.drawn(operator, version, {**others, **types}, number)
            told = described and described(99)
            if told and "problem" not in told:
                found = found or max((node["runs"] for node in walk(told["optimized"]) if node.get("runs")), key=WAYS.index, default=WAYS[0])
            elif told:
                refused = refused or "but the operator takes" in told["problem"]
            if found and (refused or number >= least):
                break
        return found or (REFUSED if refused else ""), bool(found and refused)

    def parts(self, operator):
        """The operators that the newest version becomes while the model is loaded, before it is optimised; empty if no model can run."""
        for number in range(ATTEMPTS):
            described = self.drawn(operator, operator.versions[-1], {}, number)
            told = described and described(0)
            if told and "problem" not in told:
                return sorted({node["op"] for node in walk(told["optimized"])})
        return []


def element_types(version):
    """{variable: element types} of the type variables of a version that inputs may have; of its outputs if no input has one. Attributes
    determine the types of other outputs."""
    used = {p.type for p in version.inputs} & set(version.types) or {p.type for p in version.outputs}
    found = {}
    for variable, texts in version.types.items():
        of = sorted({e for t in texts if (e := schemas.element_of(t))})
        if variable in used and of:
            found[variable] = of
    return found
