"""Sequences: LSTM and GRU over bytes in both directions, a point-wise audio network, an encoder-decoder like T5."""
import numpy as np

from skeleton import FLOAT, INT64, Layers, entry, floats, integers, port


def byte_recurrent(op, gates, hidden, layers=2, width=64, classes=12):
    """A tagger of bytes, such as one that finds words or languages."""
    s = Layers()
    x = s.op("Gather", s.weight("bytes", FLOAT, [256, width], ["n", 0, 1]), "bytes_in", axis=0)
    x = s.transpose(x, 1, 0, 2)
    for layer in range(layers):
        at = f"layer.{layer}"
        rows = gates * hidden
        weights = [s.weight(at + ".W", FLOAT, [2, rows, width], ["n", 0, width**-0.5]), s.weight(at + ".R", FLOAT, [2, rows, hidden], ["n", 0, hidden**-0.5]),
                   s.weight(at + ".B", FLOAT, [2, 2 * rows], ["n", 0, 0.1])]
        extra = {"linear_before_reset": 1} if op == "GRU" else {}
        y = s.op(op, x, *weights, hidden_size=hidden, direction="bidirectional", **extra)
        x, width = s.reshape(s.transpose(y, 0, 2, 1, 3), 0, 0, 2 * hidden), 2 * hidden
    logits = s.matmul("head", s.transpose(x, 1, 0, 2), width, classes)
    s.node("LogSoftmax", [logits], ["tags"], axis=-1)
    model = s.model([port("bytes_in", INT64, "batch", "length")], [port("tags", FLOAT, "batch", "length", classes)], 17, ())
    scenarios = {f"b{b}_n{n}": [integers("bytes_in", 256, b, n)] for b, n in ((1, 64), (1, 512), (8, 128))}
    return model, entry(model, s.fill, scenarios, kind="recurrent", precision="float32", dynamic={"bytes_in": {"0": "batch", "1": "length"}})


def byte_lstm():
    return byte_recurrent("LSTM", 4, 64)


def byte_gru():
    return byte_recurrent("GRU", 3, 40)


def whole_norm(s, at, x, channels):
    """Normalises each item as a whole (gLN), as it is exported in parts."""
    axes = {"axes": [1, 2], "keepdims": 1}
    centred = s.op("Sub", x, s.op("ReduceMean", x, **axes))
    variance = s.op("ReduceMean", s.op("Pow", centred, s.number(2)), **axes)
    y = s.op("Div", centred, s.op("Sqrt", s.op("Add", variance, s.number(1e-8))))
    y = s.op("Mul", s.weight(at + ".weight", FLOAT, [1, channels, 1], ["u", 0.8, 1.2]), y)
    return s.op("Add", y, s.weight(at + ".bias", FLOAT, [1, channels, 1], ["n", 0, 0.05]))


def audio(filters=256, width=128, inner=256, repeats=2, dilations=6):
    """A separator of two voices after Conv-TasNet: convolutions of one tap, and depthwise ones with growing dilation."""
    s = Layers()
    slope = s.constant("slope", np.full((1, 1), 0.25, np.float32))
    coded = s.op("Relu", s.conv("encoder", s.op("Unsqueeze", "sound", s.ints(1)), filters, 1, [16], 2**0.5, False, strides=[8]))
    x, skips = s.conv("narrow", whole_norm(s, "norm", coded, filters), width, filters, [1]), None
    for i in range(repeats * dilations):
        at, dilation = f"block.{i}", 2 ** (i % dilations)
        y = whole_norm(s, at + ".norm1", s.op("PRelu", s.conv(at + ".in", x, inner, width, [1]), slope), inner)
        y = s.conv(at + ".depth", y, inner, inner, [3], group=inner, dilations=[dilation], pads=[dilation] * 2)
        y = whole_norm(s, at + ".norm2", s.op("PRelu", y, slope), inner)
        skip = s.conv(at + ".skip", y, width, inner, [1])
        skips = skip if skips is None else s.op("Add", skips, skip)
        x = s.op("Add", x, s.conv(at + ".out", y, width, inner, [1]))
    masks = s.op("Sigmoid", s.conv("masks", s.op("PRelu", skips, slope), 2 * filters, width, [1]))
    masks = s.op("Reshape", masks, s.ints(0, 2, filters, -1))
    length = s.op("Gather", s.op("Shape", coded), s.ints(2))
    voices = s.op("Mul", s.op("Unsqueeze", coded, s.ints(1)), masks)
    voices = s.op("Reshape", voices, s.op("Concat", s.ints(-1), s.ints(filters), length, axis=0))
    weight = s.weight("decoder.weight", FLOAT, [filters, 1, 16], ["n", 0, (2 * filters) ** -0.5])
    sound = s.op("ConvTranspose", voices, weight, kernel_shape=[16], strides=[8])
    s.node("Reshape", [sound, s.ints(-1, 2, 0)], ["voices"])
    model = s.model([port("sound", FLOAT, "batch", "samples")], [port("voices", FLOAT, "batch", 2, "length")], 17, ())
    scenarios = {f"b1_n{n}": [floats("sound", 1, n)] for n in (1600, 8000)}
    return model, entry(model, s.fill, scenarios, kind="audio", precision="float32", dynamic={"sound": {"0": "batch", "1": "samples"}})


def root_norm(s, name, x, width):
    """T5's norm, as it is exported in parts."""
    mean = s.op("ReduceMean", s.op("Pow", x, s.number(2)), axes=[-1], keepdims=1)
    y = s.op("Mul", x, s.op("Div", s.number(1), s.op("Sqrt", s.op("Add", mean, s.number(1e-6)))))
    return s.op("Mul", s.weight(name + ".weight", FLOAT, [width], ["u", 0.8, 1.2]), y)


def extent(s, x, axis):
    return s.op("Gather", s.op("Shape", x), s.constant(f"axis_{x}_{axis}", np.array(axis, np.int64)), axis=0)


def position_bias(s, name, count, both, heads, buckets=32):
    """[1, heads, count, count]: a number for each distance, in buckets that widen; for decoders also -1e9 for what comes later."""
    places = s.op("Range", s.constant(name + ".from", np.array(0, np.int64)), count, s.constant(name + ".step", np.array(1, np.int64)))
    apart = s.op("Sub", s.op("Unsqueeze", places, s.ints(0)), s.op("Unsqueeze", places, s.ints(1)))
    zero = s.ints(0)
    if both:
        buckets //= 2
        side = s.op("Mul", s.op("Cast", s.op("Greater", apart, zero), to=INT64), s.ints(buckets))
        far = s.op("Abs", apart)
    else:
        far = s.op("Neg", s.op("Min", apart, zero))
    exact = buckets // 2
    ratio = s.op("Log", s.op("Div", s.op("Cast", s.op("Max", far, s.ints(1)), to=FLOAT), s.number(exact)))
    scaled = s.op("Mul", s.op("Div", ratio, s.number(np.log(128 / exact))), s.number(buckets - exact))
    large = s.op("Min", s.op("Add", s.op("Cast", scaled, to=INT64), s.ints(exact)), s.ints(buckets - 1))
    bucket = s.op("Where", s.op("Less", far, s.ints(exact)), far, large)
    if both:
        bucket = s.op("Add", bucket, side)
    table = s.weight(name + ".table", FLOAT, [buckets * (2 if both else 1), heads], ["n", 0, 1])
    bias = s.op("Unsqueeze", s.transpose(s.op("Gather", table, bucket, axis=0), 2, 0, 1), s.ints(0))
    if both:
        return bias
    later = s.op("Where", s.op("Greater", apart, zero), s.number(-1e9), s.number(0))
    return s.op("Add", bias, later)


def t5(layers=4, width=256, heads=4, inner=1024, words=8000):
    s = Layers()
    table = s.weight("words", FLOAT, [words, width], ["n", 0, 1])
    sizes = (width, width, width)
    sides = {}
    for side, ids in (("encoder", "input_ids"), ("decoder", "decoder_ids")):
        x = s.op("Gather", table, ids, axis=0)
        bias = position_bias(s, side + ".bias", extent(s, ids, 1), side == "encoder", heads)
        for layer in range(layers):
            at = f"{side}.{layer}."
            y = root_norm(s, at + "norm1", x, width)
            x = s.op("Add", x, s.attention(at + "self", y, y, sizes, heads, False, False, bias))
            if side == "decoder":
                y = root_norm(s, at + "norm2", x, width)
                x = s.op("Add", x, s.attention(at + "cross", y, sides["encoder"], sizes, heads, False, False))
            y = s.op("Relu", s.matmul(at + "up", root_norm(s, at + "norm3", x, width), width, inner, False))
            x = s.op("Add", x, s.matmul(at + "down", y, inner, width, False))
        sides[side] = root_norm(s, side + ".norm", x, width)
    scaled = s.op("Mul", sides["decoder"], s.number(width**-0.5))
    s.node("MatMul", [scaled, s.op("Transpose", table, perm=[1, 0])], ["logits"])
    model = s.model([port("input_ids", INT64, "batch", "length"), port("decoder_ids", INT64, "batch", "words_so_far")],
                    [port("logits", FLOAT, "batch", "words_so_far", words)], 17, ())
    scenarios = {f"s{n}_d{d}": [integers("input_ids", words, 1, n), integers("decoder_ids", words, 1, d)] for n, d in ((32, 8), (128, 1), (128, 32))}
    dynamic = {"input_ids": {"0": "batch", "1": "length"}, "decoder_ids": {"0": "batch", "1": "words_so_far"}}
    return model, entry(model, s.fill, scenarios, kind="encoder", precision="float32", dynamic=dynamic)
