"""Recurrent networks."""
import numpy as np

from . import recipe

ACTIVATIONS = ("Tanh", "Sigmoid", "HardSigmoid", "Softsign")  # bounded ones only: with others, the state and its errors grow with each step


def mostly_float(case):
    """The oracle registers kernels of double, too, which return errors."""
    if case.maybe(0.9):
        case.elem("T", "float")


@recipe("LSTM GRU RNN")
def recurrent(case):
    name = case.operator.name
    if name in ("LSTM", "GRU"):
        mostly_float(case)
    gates, each = {"GRU": (3, 2), "RNN": (1, 1)}.get(name, (4, 3))
    length, batch, size, hidden = case.dim(1, 4), case.dim(1, 3), case.dim(1, 5), case.pick(1, 2, 4, 7, 8)
    direction = case.attr("direction", case.pick("forward", "reverse", "bidirectional"), 0.7) or "forward"
    ways = 2 if direction == "bidirectional" else 1
    case.attr("hidden_size", hidden)
    if case.maybe(0.2):
        case.attr("activations", [case.pick(*ACTIVATIONS) for _ in range(each * ways)])
    case.attr("clip", 1.5, 0.15)
    case.attr("linear_before_reset", case.dim(0, 1), 0.6)
    case.attr("input_forget", 1, 0.1)
    case.attr("output_sequence", 1)
    first = (case.attr("layout", 1, 0.1) or 0) if case.version.since >= 14 else 0
    quantised = name == "DynamicQuantizeLSTM"
    case.input("T", (batch, length, size) if first else (length, batch, size), "normal")
    if quantised:
        case.input("T2", (ways, size, gates * hidden), constant=True)
        case.input("T2", (ways, hidden, gates * hidden), constant=True)
    else:
        case.input("T", (ways, gates * hidden, size), "normal")
        case.input("T", (ways, gates * hidden, hidden + case.odd()), "normal")
    case.input("T", (ways, 2 * gates * hidden), "normal") if case.maybe(0.7) else case.skip()
    if case.maybe(0.4):
        case.give(case.numbers.generator.integers(0 if case.odd(0.2) else 1, length + 1, batch).astype(np.int32))
    else:
        case.skip()
    state = (batch, ways, hidden) if first else (ways, batch, hidden)
    has_cell = gates == 4
    case.input("T", state, "normal") if case.maybe() else case.skip()
    if has_cell:
        case.input("T", state, "normal") if case.maybe() else case.skip()
        case.input("T", (ways, 3 * hidden), "normal") if case.maybe(0.3) else case.skip()
    if quantised:
        for _ in range(2):
            case.give(np.full((ways,), case.r.uniform(0.01, 0.1), np.float32), True)
            case.give(np.full((ways,), 0 if case.maybe() else 3).astype(case.inputs[1].value.dtype), True)
    wanted = [case.maybe(0.8) for _ in range(3 if has_cell else 2)]
    case.want(*wanted if any(wanted) and case.version.since > 1 else [True] * len(wanted))


@recipe("com.microsoft:AttnLSTM")
def attention_lstm(case):
    mostly_float(case)
    length, batch, size, hidden = case.dim(1, 4), case.dim(1, 3), case.dim(1, 5), case.pick(1, 2, 4, 7)
    places, depth, attention = case.dim(1, 5), case.dim(1, 4), case.dim(1, 4)
    layer = case.dim(1, 4) if case.maybe() else 0
    state = layer or depth
    direction = case.attr("direction", case.pick("forward", "reverse", "bidirectional"), 0.7) or "forward"
    ways = 2 if direction == "bidirectional" else 1
    case.attr("hidden_size", hidden)
    if case.maybe(0.2):
        case.attr("activations", [case.pick(*ACTIVATIONS[:3]) for _ in range(3 * ways)])
    case.attr("clip", 1.5, 0.15)
    case.attr("input_forget", 1, 0.1)
    case.input("T", (length, batch, size), "normal")
    case.input("T", (ways, 4 * hidden, size + state), "normal")
    case.input("T", (ways, 4 * hidden, hidden + case.odd()), "normal")
    case.input("T", (ways, 8 * hidden), "normal") if case.maybe(0.7) else case.skip()
    lengths = case.numbers.generator.integers(1, length + 1, batch).astype(np.int32)
    case.give(lengths) if case.maybe(0.4) else case.skip()
    for _ in range(2):
        case.input("T", (ways, batch, hidden), "normal") if case.maybe() else case.skip()
    case.input("T", (ways, 3 * hidden), "normal") if case.maybe(0.3) else case.skip()
    case.input("T", (ways, hidden, attention), "normal")
    case.input("T", (ways, depth, attention), "normal")
    case.input("T", (ways, attention), "normal")
    case.input("T", (batch, places, depth), "normal")
    case.give(case.numbers.generator.integers(0 if case.odd() else 1, places + 1, batch).astype(np.int32)) if case.maybe() else case.skip()
    if layer:
        case.input("T", (ways, depth + hidden, layer), "normal")
    case.want(True, case.maybe(0.8), case.maybe(0.8))  # the oracle reads the attention's query from output 0
