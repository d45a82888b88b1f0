"""Images: windows of attention (Swin), a detector with many small heads, the mask decoder of SAM, a step of a diffusion UNet."""
import numpy as np

from skeleton import FLOAT, Layers, entry, floats, port

WINDOW = 7


def roll(s, x, by):
    """Moves rows and columns of [batch, height, width, channels] by -by, around the ends, as torch.roll is exported."""
    for axis in (1, 2):
        x = s.op("Concat", s.slice(x, axis, by), s.slice(x, axis, 0, by), axis=axis)
    return x


def window_mask(size, shift):
    """-100 between elements of a window that lie apart in the image, else 0: [windows, 49, 49]"""
    part = np.searchsorted([size - WINDOW, size - shift], np.arange(size), side="right")
    image = (part[:, None] * 3 + part[None, :]).reshape(size // WINDOW, WINDOW, size // WINDOW, WINDOW).transpose(0, 2, 1, 3)
    rows = image.reshape(-1, WINDOW * WINDOW)
    return np.where(rows[:, None] != rows[:, :, None], np.float32(-100), np.float32(0))


def dropout(s, x):
    """As a model in training mode is exported: it does nothing in inference."""
    return s.op("Dropout", x, s.number(0), s.constant_false)


def window_attention(s, at, x, width, heads, size, shift):
    """x: [batch, size, size, width]"""
    per_side, tokens = size // WINDOW, WINDOW * WINDOW
    if shift:
        x = roll(s, x, shift)
    x = s.transpose(s.reshape(x, -1, per_side, WINDOW, per_side, WINDOW, width), 0, 1, 3, 2, 4, 5)
    x = s.reshape(x, -1, tokens, width)
    qkv = s.transpose(s.reshape(s.matmul(at + "qkv", x, width, 3 * width), -1, tokens, 3, heads, width // heads), 2, 0, 3, 1, 4)
    q, k, v = (s.op("Gather", qkv, s.scalars[i], axis=0) for i in range(3))
    scores = s.op("MatMul", s.op("Mul", q, s.number((width // heads) ** -0.5)), s.transpose(k, 0, 1, 3, 2))
    scores = s.op("Add", scores, s.weight(at + "position", FLOAT, [1, heads, tokens, tokens], ["n", 0, 0.5]))
    if shift:
        windows = per_side * per_side
        scores = s.reshape(scores, -1, windows, heads, tokens, tokens)
        mask = s.constant(at + "mask", window_mask(size, shift)[None, :, None])
        scores = s.reshape(s.op("Add", scores, mask), -1, heads, tokens, tokens)
    weights = dropout(s, s.op("Softmax", scores, axis=-1))
    y = s.reshape(s.transpose(s.op("MatMul", weights, v), 0, 2, 1, 3), -1, tokens, width)
    y = dropout(s, s.matmul(at + "proj", y, width, width))
    y = s.transpose(s.reshape(y, -1, per_side, per_side, WINDOW, WINDOW, width), 0, 1, 3, 2, 4, 5)
    y = s.reshape(y, -1, size, size, width)
    return roll(s, y, -shift) if shift else y


def swin(depths=(2, 2, 4), width=96, image=224):
    s = Layers()
    s.constant_false = s.constant("false", np.array(False))
    s.scalars = [s.constant(f"index_{i}", np.array(i, np.int64)) for i in range(3)]
    x = s.transpose(s.conv("patches", "image", width, 3, [4, 4], strides=[4, 4]), 0, 2, 3, 1)
    x, size = s.layer_norm("patches.norm", x, width), image // 4
    for stage, depth in enumerate(depths):
        if stage:  # four neighbours become one
            halves = [s.slice(x, 1, i, step=2) for i in (0, 1)]
            parts = [s.slice(halves[i], 2, j, step=2) for i, j in ((0, 0), (1, 0), (0, 1), (1, 1))]
            x = s.layer_norm(f"merge.{stage}.norm", s.op("Concat", *parts, axis=-1), 4 * width)
            x = s.matmul(f"merge.{stage}", x, 4 * width, 2 * width, bias=False)
            width, size = 2 * width, size // 2
        for block in range(depth):
            at = f"stage.{stage}.{block}."
            shift = WINDOW // 2 if block % 2 else 0
            y = window_attention(s, at, s.layer_norm(at + "norm1", x, width), width, width // 32, size, shift)
            x = s.op("Add", x, y)
            y = s.gelu(s.matmul(at + "up", s.layer_norm(at + "norm2", x, width), width, 4 * width))
            y = dropout(s, s.matmul(at + "down", dropout(s, y), 4 * width, width))
            x = s.op("Add", x, y)
    x = s.transpose(s.layer_norm("norm", x, width), 0, 3, 1, 2)
    s.matmul("head", s.op("Flatten", s.op("GlobalAveragePool", x), axis=1), width, 1000)
    s.nodes[-1].output[0] = "logits"
    model = s.model([port("image", FLOAT, "batch", 3, image, image)], [port("logits", FLOAT, "batch", 1000)], 17, ())
    scenarios = {f"b{b}": [floats("image", b, 3, image, image)] for b in (1, 4)}
    return model, entry(model, s.fill, scenarios, kind="encoder", precision="float32", dynamic={"image": {"0": "batch"}})


def separable(s, at, x, into, out, stride=1):
    x = s.op("Relu", s.conv(at + ".depth", x, into, into, [3, 3], 2**0.5, pads=[1] * 4, strides=[stride] * 2, group=into))
    return s.op("Relu", s.conv(at + ".point", x, out, into, [1, 1], 2**0.5))


def detector(classes=2, marks=10):
    """A face detector: five strides with three heads each, for two or three boxes a place."""
    s = Layers()
    x = s.op("Relu", s.conv("stem", "image", 16, 3, [3, 3], pads=[1] * 4, strides=[2, 2]))
    x, width, maps = separable(s, "early.0", x, 16, 32, 2), 32, []
    for level, (out, repeats) in enumerate(((64, 2), (96, 2), (128, 2), (128, 1), (128, 1))):
        for i in range(repeats):
            x, width = separable(s, f"level.{level}.{i}", x, width, out, 2 if i == 0 else 1), out
        maps.append((x, width))
    found = {"scores": [], "boxes": [], "marks": []}
    for level, (x, width) in enumerate(maps):
        boxes = 3 if level == 0 else 2
        for name, values in (("scores", classes), ("boxes", 4), ("marks", marks)):
            y = s.conv(f"{name}.{level}.depth", x, width, width, [3, 3], pads=[1] * 4, group=width)
            y = s.conv(f"{name}.{level}", s.op("Relu", y), boxes * values, width, [1, 1])
            found[name].append(s.reshape(s.transpose(y, 0, 2, 3, 1), 0, -1, values))
    scores, boxes, points = (s.op("Concat", *found[name], axis=1) for name in ("scores", "boxes", "marks"))
    s.node("Softmax", [scores], ["confidences"], axis=-1)
    count = sum(-(-240 // side) * -(-320 // side) * (3 if side == 8 else 2) for side in (8, 16, 32, 64, 128))
    sizes = s.weight("prior_sizes", FLOAT, [1, count, 2], ["u", 0.05, 0.5])
    centres = s.weight("prior_centres", FLOAT, [1, count, 2], ["u", 0, 1])
    middle = s.op("Add", s.op("Mul", s.op("Mul", s.slice(boxes, 2, 0, 2), s.number(0.1)), sizes), centres)
    extent = s.op("Mul", s.op("Exp", s.op("Mul", s.slice(boxes, 2, 2), s.number(0.2))), sizes)
    half = s.op("Div", extent, s.number(2))
    s.node("Concat", [s.op("Sub", middle, half), s.op("Add", middle, half)], ["corners"], axis=2)
    s.node("Mul", [points, s.number(0.1)], ["points"])
    ports = [port("confidences", FLOAT, "batch", count, classes), port("corners", FLOAT, "batch", count, 4), port("points", FLOAT, "batch", count, marks)]
    model = s.model([port("image", FLOAT, "batch", 3, 240, 320)], ports, 17, ())
    scenarios = {f"b{b}": [floats("image", b, 3, 240, 320)] for b in (1, 4)}
    return model, entry(model, s.fill, scenarios, kind="CNN", precision="float32", dynamic={"image": {"0": "batch"}})


def channel_norm(s, at, x, channels):
    """LayerNorm over the channels of an image, as it is exported in parts."""
    centred = s.op("Sub", x, s.op("ReduceMean", x, axes=[1], keepdims=1))
    deviation = s.op("Sqrt", s.op("Add", s.op("ReduceMean", s.op("Pow", centred, s.number(2)), axes=[1], keepdims=1), s.number(1e-6)))
    y = s.op("Mul", s.weight(at + ".weight", FLOAT, [channels, 1, 1], ["u", 0.8, 1.2]), s.op("Div", centred, deviation))
    return s.op("Add", y, s.weight(at + ".bias", FLOAT, [channels, 1, 1], ["n", 0, 0.05]))


def upscale(s, name, x, into, out):
    inputs = [x, s.weight(name + ".weight", FLOAT, [into, out, 2, 2], ["n", 0, into**-0.5]), s.weight(name + ".bias", FLOAT, [out], ["n", 0, 0.05])]
    return s.op("ConvTranspose", *inputs, kernel_shape=[2, 2], strides=[2, 2])


def two_ways(s, at, tokens, first, image, position, width):
    """A layer of the two-way transformer; returns its tokens and its image."""
    query = tokens if first is None else s.op("Add", tokens, first)
    y = s.attention(at + "self", query, query, (width, width, width), 8)
    tokens = s.layer_norm(at + "norm1", s.op("Add", tokens, y), width)
    keys = s.op("Add", image, position)
    y = s.attention(at + "to_image", tokens, keys, (width, width, width // 2), 8)
    tokens = s.layer_norm(at + "norm2", s.op("Add", tokens, y), width)
    y = s.matmul(at + "down", s.op("Relu", s.matmul(at + "up", tokens, width, 2048)), 2048, width)
    tokens = s.layer_norm(at + "norm3", s.op("Add", tokens, y), width)
    y = s.attention(at + "to_tokens", keys, tokens, (width, width, width // 2), 8)
    return tokens, s.layer_norm(at + "norm4", s.op("Add", image, y), width)


def mask_decoder(width=256, size=64, masks=4):
    s = Layers()
    frequencies = s.weight("frequencies", FLOAT, [2, width // 2], ["n", 0, 1])
    angles = s.op("Mul", s.op("MatMul", s.op("Sub", s.op("Mul", "points", s.number(2)), s.number(1)), frequencies), s.number(2 * np.pi))
    placed = s.op("Concat", s.op("Sin", angles), s.op("Cos", angles), axis=-1)
    kinds = s.op("Gather", s.weight("kinds", FLOAT, [4, width], ["n", 0, 0.5]), "labels", axis=0)
    own = s.weight("own_tokens", FLOAT, [1, masks + 1, width], ["n", 0, 0.5])
    first = s.op("Concat", own, s.op("Add", placed, kinds), axis=1)
    image = s.transpose(s.reshape("image_embedding", 0, width, size * size), 0, 2, 1)
    position = s.weight("positions", FLOAT, [1, size * size, width], ["u", -1, 1])
    tokens, before = first, None
    for layer in range(2):
        tokens, image = two_ways(s, f"layer.{layer}.", tokens, before, image, position, width)
        before = first
    y = s.attention("last", s.op("Add", tokens, first), s.op("Add", image, position), (width, width, width // 2), 8)
    tokens = s.layer_norm("norm", s.op("Add", tokens, y), width)
    x = s.reshape(s.transpose(image, 0, 2, 1), 0, width, size, size)
    x = s.gelu(channel_norm(s, "up1.norm", upscale(s, "up1", x, width, 64), 64))
    x = s.gelu(upscale(s, "up2", x, 64, 32))
    weights = []
    for mask in range(masks):
        y = s.op("Gather", tokens, s.constant(f"token_{mask}", np.array(mask + 1, np.int64)), axis=1)
        for i, (a, b) in enumerate(((width, width), (width, width), (width, 32))):
            y = s.matmul(f"mlp.{mask}.{i}", y, a, b)
            y = s.op("Relu", y) if i < 2 else y
        weights.append(s.op("Unsqueeze", y, s.ints(1)))
    y = s.op("MatMul", s.op("Concat", *weights, axis=1), s.reshape(x, 0, 32, 16 * size * size))
    s.node("Reshape", [y, s.ints(0, masks, 4 * size, 4 * size)], ["masks"])
    model = s.model([port("image_embedding", FLOAT, 1, width, size, size), port("points", FLOAT, 1, "points", 2), port("labels", 7, 1, "points")],
                    [port("masks", FLOAT, 1, masks, 4 * size, 4 * size)], 17, ())
    scenarios = {f"p{n}": [floats("image_embedding", 1, width, size, size), {**floats("points", 1, n, 2), "gen": ["u", 0, 1]},
                           {"name": "labels", "type": "int64", "shape": [1, n], "gen": ["i", 0, 4]}] for n in (2, 16)}
    return model, entry(model, s.fill, scenarios, kind="decoder", precision="float32", dynamic={"points": {"1": "points"}, "labels": {"1": "points"}})


def group_norm(s, at, x, channels, groups=32):
    """As opsets before 18 need it."""
    ones, zeros = s.constant(at + ".one", np.ones(groups, np.float32)), s.constant(at + ".zero", np.zeros(groups, np.float32))
    y = s.op("InstanceNormalization", s.reshape(x, 0, groups, -1), ones, zeros, epsilon=1e-5)
    y = s.op("Mul", s.op("Reshape", y, s.op("Shape", x)), s.weight(at + ".weight", FLOAT, [channels, 1, 1], ["u", 0.8, 1.2]))
    return s.op("Add", y, s.weight(at + ".bias", FLOAT, [channels, 1, 1], ["n", 0, 0.05]))


def residual(s, at, x, into, out, time):
    y = s.conv(at + ".conv1", s.silu(group_norm(s, at + ".norm1", x, into)), out, into, [3, 3], pads=[1] * 4)
    shift = s.matmul(at + ".time", s.silu(time), 256, out)
    y = s.op("Add", y, s.op("Unsqueeze", s.op("Unsqueeze", shift, s.ints(2)), s.ints(3)))
    y = s.conv(at + ".conv2", s.silu(group_norm(s, at + ".norm2", y, out)), out, out, [3, 3], pads=[1] * 4)
    return s.op("Add", x if into == out else s.conv(at + ".skip", x, out, into, [1, 1]), y)


def text_block(s, at, x, width, context):
    """Attention to the image itself and to the text, then a gated layer."""
    rows = s.conv(at + ".in", group_norm(s, at + ".norm", x, width), width, width, [1, 1])
    shape = s.op("Shape", rows)
    rows = s.reshape(s.transpose(rows, 0, 2, 3, 1), 0, -1, width)
    y = s.layer_norm(at + ".norm1", rows, width)
    rows = s.op("Add", rows, s.attention(at + ".self", y, y, (width, width, width), 4))
    y = s.layer_norm(at + ".norm2", rows, width)
    rows = s.op("Add", rows, s.attention(at + ".cross", y, "context", (width, context, width), 4))
    y = s.matmul(at + ".up", s.layer_norm(at + ".norm3", rows, width), width, 8 * width)
    y = s.op("Mul", s.slice(y, 2, 0, 4 * width), s.gelu(s.slice(y, 2, 4 * width)))
    rows = s.op("Add", rows, s.matmul(at + ".down", y, 4 * width, width))
    extents = [s.op("Gather", shape, s.ints(i)) for i in (0, 2, 3)]
    image = s.op("Reshape", rows, s.op("Concat", *extents, s.ints(width), axis=0))
    return s.op("Add", s.conv(at + ".out", s.transpose(image, 0, 3, 1, 2), width, width, [1, 1]), x)


def diffusion(widths=(64, 128, 256), context=256):
    s = Layers()
    rates = s.constant("rates", np.exp(-np.log(10000) * np.arange(32) / 32).astype(np.float32)[None])
    angles = s.op("Mul", s.op("Unsqueeze", s.op("Cast", "timestep", to=FLOAT), s.ints(1)), rates)
    time = s.op("Concat", s.op("Cos", angles), s.op("Sin", angles), axis=1)
    time = s.matmul("time.2", s.silu(s.matmul("time.1", time, 64, 256)), 256, 256)
    x, width, skips = s.conv("in", "latent", widths[0], 4, [3, 3], pads=[1] * 4), widths[0], []
    for level, out in enumerate(widths):
        x = residual(s, f"down.{level}", x, width, out, time)
        width = out
        if level:
            x = text_block(s, f"down.{level}.text", x, width, context)
        skips.append((x, width))
        if level + 1 < len(widths):
            x = s.conv(f"down.{level}.half", x, width, width, [3, 3], pads=[1] * 4, strides=[2, 2])
    x = text_block(s, "middle.text", residual(s, "middle", x, width, width, time), width, context)
    for level in reversed(range(len(widths))):
        skip, skip_width = skips[level]
        x = residual(s, f"up.{level}", s.op("Concat", x, skip, axis=1), width + skip_width, widths[level], time)
        width = widths[level]
        if level:
            x = text_block(s, f"up.{level}.text", x, width, context)
            scales = s.constant(f"up.{level}.scales", np.array([1, 1, 2, 2], np.float32))
            x = s.op("Resize", x, "", scales, mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
            x = s.conv(f"up.{level}.twice", x, width, width, [3, 3], pads=[1] * 4)
    s.conv("out", s.silu(group_norm(s, "out.norm", x, width)), 4, width, [3, 3], pads=[1] * 4)
    s.nodes[-1].output[0] = "noise"
    ports = [port("latent", FLOAT, "batch", 4, "height", "width"), port("timestep", 7, "batch"), port("context", FLOAT, "batch", "words", context)]
    model = s.model(ports, [port("noise", FLOAT, "batch", 4, "height", "width")], 17, ())
    scenarios = {f"b{b}_32": [floats("latent", b, 4, 32, 32), {"name": "timestep", "type": "int64", "shape": [b], "gen": ["i", 0, 1000]},
                              floats("context", b, 77, context)] for b in (1, 2)}
    dynamic = {"latent": {"0": "batch", "2": "height", "3": "width"}, "timestep": {"0": "batch"}, "context": {"0": "batch", "1": "words"}}
    return model, entry(model, s.fill, scenarios, kind="CNN", precision="float32", dynamic=dynamic)
