"""Sequences, optionals and control flow."""
import numpy as np
from onnx import TensorProto, helper

import schemas

from . import recipe


def members(case, of, low=0):
    """Tensors of a sequence, and its type."""
    shape = case.extents(1, 3, 4)
    return [case.numbers.array(of, shape if case.maybe(0.7) else case.extents(1, 3, 4)) for _ in range(case.dim(low, 4))]


def type_name(of):
    return f"seq(tensor({schemas.NAMES[of]}))"


def give_sequence(case, variable, low=0):
    of = case.elem(variable) if variable in case.version.types else 1
    made = members(case, of, low)
    case.give(made, type=type_name(of))
    for i in range(len(case.version.outputs)):
        if case.version.outputs[i].type == variable:
            case.output_types[i] = type_name(of)
    return of, made


def sequence_elem(case, variable):
    """The element type of a variable whose types are sequences."""
    if variable not in case.chosen:
        texts = [t for t in case.kernel.get(variable) or case.version.types[variable] if t.startswith("seq(tensor")]
        case.chosen[variable] = schemas.element_of(case.pick(*texts))
    return case.chosen[variable]


def position(case, count, extra=0):
    of = np.int64 if case.elem("I") == 7 else np.int32
    if case.odd():
        return case.give(np.asarray(count + 2, of))
    return case.give(np.asarray(case.r.randint(-count, max(count - 1 + extra, -count)), of))


@recipe("SequenceConstruct")
def construct(case):
    of = case.elem("T")
    for _ in range(case.dim(1, 4)):
        case.input("T", case.extents(0, 3, 4))
    case.output_types[0] = type_name(of)


@recipe("SequenceEmpty")
def empty(case):
    of = case.attr("dtype", case.pick(1, 7, 8, 11), 0.7) or 1
    case.output_types[0] = type_name(of)


@recipe("SequenceAt SequenceErase SequenceLength SequenceInsert")
def of_sequence(case):
    name = case.operator.name
    of = sequence_elem(case, "S")
    made = members(case, of, 1 if name in ("SequenceAt", "SequenceErase") else 0)
    case.give(made, type=type_name(of))
    if name == "SequenceInsert":
        case.give(case.numbers.array(of, case.extents(1, 3, 4)))
    case.output_types[0] = {"SequenceAt": f"tensor({schemas.NAMES[of]})", "SequenceLength": "tensor(int64)"}.get(name, type_name(of))
    if name != "SequenceLength" and (name == "SequenceAt" or case.maybe(0.8)):
        position(case, len(made), name == "SequenceInsert")


@recipe("SplitToSequence")
def split_to_sequence(case):
    shape = case.extents(1, 3, 8, empty=0)
    axis = case.attr("axis", case.r.randrange(-len(shape), len(shape)), 1)
    case.attr("keepdims", case.dim(0, 1), 0.6)
    case.input("T", shape)
    if case.maybe(0.7):
        of = np.int32 if case.elem("I") == 6 else np.int64
        if case.maybe():
            case.give(np.asarray(case.dim(1, 4), of))
        else:
            cuts = sorted(case.r.randint(0, shape[axis]) for _ in range(2))
            case.give(np.array([cuts[0], cuts[1] - cuts[0], shape[axis] - cuts[1]], of))
    case.output_types[0] = type_name(case.elem("T"))


@recipe("ConcatFromSequence")
def concat_from_sequence(case):
    of = sequence_elem(case, "S")
    stacks = case.attr("new_axis", case.dim(0, 1), 0.6)
    shape = list(case.extents(1, 3, 4))
    axis = case.attr("axis", case.r.randint(-len(shape), len(shape) - (0 if stacks else 1)))
    made = []
    for _ in range(case.dim(1, 4)):
        own = list(shape)
        if not stacks:
            own[axis] = case.dim(1, 4)
        elif case.odd():
            own[0] += 1
        made.append(case.numbers.array(of, own))
    case.give(made, type=type_name(of))
    case.output_types[0] = f"tensor({schemas.NAMES[of]})"


@recipe("OptionalHasElement OptionalGetElement")
def optional(case):
    of = case.pick(1, 7, 8, 9, 11)
    name = f"tensor({schemas.NAMES[of]})"
    array = case.numbers.array(of, case.extents(0, 3, 4))
    if case.version.since >= 18 and case.maybe():
        case.give(array, type=name, constant=False)
    else:
        case.give(array, type=f"optional({name})", constant=False)
    case.output_types[0] = "tensor(bool)" if case.operator.name == "OptionalHasElement" else name


def value(name, of=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, of, None)


@recipe("If")
def if_(case):
    """The branches read no values of the outer graph: each has a constant of its own."""
    shape = case.shape(0, 3)

    def branch(op):
        constant = helper.make_tensor("k", 1, shape, [case.r.uniform(-2, 2) for _ in range(int(np.prod(shape)))])
        return helper.make_graph([helper.make_node("Constant", [], ["k"], value=constant), helper.make_node(op, ["k"], ["y"])], op, [], [value("y")])
    case.attr("then_branch", branch(case.pick("Neg", "Abs"))), case.attr("else_branch", branch("Identity"))
    case.give(np.asarray(case.maybe()) if case.maybe() else np.asarray([case.maybe()]))
    case.output_types[0] = "tensor(float)"
    case.want(True)


@recipe("Loop")
def loop(case):
    nodes = [helper.make_node("Add", ["x", "x"], ["y"]), helper.make_node("Identity", ["c"], ["d"])]
    if scans := case.maybe():
        nodes.append(helper.make_node("Neg", ["y"], ["z"]))
    body = helper.make_graph(nodes, "body", [helper.make_tensor_value_info("n", 7, []), helper.make_tensor_value_info("c", 9, []), value("x")],
                             [helper.make_tensor_value_info("d", 9, []), value("y"), *([value("z")] if scans else [])])
    case.attr("body", body)
    case.give(np.asarray(case.dim(0, 4), np.int64) if case.maybe() else np.asarray([case.dim(0, 4)], np.int64))
    case.give(np.asarray(True)) if case.maybe() else case.skip()
    case.input("float", case.shape(0, 3), "small")
    case.output_types.update({0: "tensor(float)", 1: "tensor(float)"})
    case.want(True, *([True] if scans else []))


@recipe("Scan")
def scan(case):
    nodes = [helper.make_node("Add", ["s", "x"], ["t"]), helper.make_node("Neg", ["t"], ["y"])]
    shape, steps = case.extents(1, 2, 4, empty=0), case.dim(1, 4)
    ends = [helper.make_tensor_value_info(name, 1, list(shape)) for name in "ty"]
    body = helper.make_graph(nodes, "body", [value("s"), value("x")], ends)
    case.attr("body", body), case.attr("num_scan_inputs", 1)
    batch = (case.dim(1, 2),) if case.version.since == 8 else ()
    if batch:
        case.skip()
    if case.version.since >= 9:
        case.attr("scan_input_directions", [case.dim(0, 1)], 0.5), case.attr("scan_output_directions", [case.dim(0, 1)], 0.5)
    case.input("float", (*batch, *shape), "small")
    case.input("float", (*batch, steps, *shape), "small")
    case.output_types.update({0: "tensor(float)", 1: "tensor(float)"})
    case.want(True, True)


@recipe("SequenceMap")
def sequence_map(case):
    of = sequence_elem(case, "S")
    made = members(case, of, 1)
    if case.odd(0.1):
        made = made[:1]
    body = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "body", [value("x", of)], [value("y", of)])
    if not case.odd():
        case.attr("body", body)
    case.give(made, type=type_name(of))
    case.output_types[0] = type_name(of)
    case.want(True)


@recipe("Optional")
def optional_of(case):
    of = case.pick(1, 7, 8, 11)
    name = f"tensor({schemas.NAMES[of]})"
    case.output_types[0] = f"optional({name})"
    if case.maybe(0.8):
        case.give(case.numbers.array(of, case.extents(0, 3, 4)), type=name, constant=False)
    else:
        case.attr("type", helper.make_tensor_type_proto(of, None))


@recipe("Constant")
def constant(case):
    kinds = {"value_float": (1.5, 1), "value_floats": ([1.0, 2.0], 1), "value_int": (3, 7), "value_ints": ([1, 2], 7), "value_string": ("a", 8),
             "value_strings": (["a", "b"], 8)}
    having = [k for k in kinds if case.has_attr(k)]
    if having and case.maybe():
        name = case.r.choice(having)
        case.attr(name, kinds[name][0])
        case.chosen["T"] = kinds[name][1]
    else:
        case.attr("value", case.numbers.array(case.elem("T"), case.shape(0, 4)))
