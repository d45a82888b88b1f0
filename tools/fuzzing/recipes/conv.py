"""Convolutions and pooling."""
import numpy as np

from . import recipe
from .matrix import bound, scale, zero_point


class Window:
    """A window that moves over an image of 1 to 3 spatial axes: its attributes set, its input extents."""

    def __init__(self, case, most=9, spatial=None, auto=True):
        self.case, self.spatial = case, spatial or case.pick(1, 2, 2, 2, 3)
        n = self.spatial
        self.kernel = [case.dim(1, 4) for _ in range(n)]
        self.dilations = case.attr("dilations", [case.dim(1, 3) for _ in range(n)], 0.3) or [1] * n
        self.strides = case.attr("strides", [case.dim(1, 3) for _ in range(n)], 0.6) or [1] * n
        self.pads = [0] * 2 * n
        if auto and case.maybe(0.25):
            case.attr("auto_pad", case.pick("SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"))
        elif case.maybe(0.6):
            self.pads = [case.r.randint(0, k - 1) for k in self.kernel] + [case.r.randint(0, k - 1) for k in self.kernel]
            if case.odd():
                self.pads[0] += 5
            case.attr("pads", self.pads)
        self.reach = [(k - 1) * d + 1 for k, d in zip(self.kernel, self.dilations)]
        low = [max(1, r - (0 if not case.odd(0.05) else 2)) for r in self.reach]
        self.image = [case.dim(at, at + most // max(1, n - 1)) for at in low]


def groups(case, channels, filters):
    """(group, channels of the image, filters) with 1 to 4 groups; depthwise in some cases."""
    group = case.pick(1, 1, 1, 2, 3, 4)
    if group > 1 or case.maybe():
        case.attr("group", group)
    return group, channels * group, filters * group


def batch(case):
    return 0 if case.maybe(0.02) else case.dim(1, 3)


def bias(case, variable, filters, share=0.5):
    if case.maybe(share):
        case.input(variable, (filters + case.odd(),), "normal")
        return True
    return False


@recipe("Conv com.microsoft:FusedConv")
def conv(case):
    window = Window(case)
    group, channels, filters = groups(case, case.pick(1, 1, 2, 3, 4, 8), case.pick(1, 2, 3, 4, 8))
    case.attr("kernel_shape", window.kernel, 0.6)
    if case.operator.name == "FusedConv":
        activation = case.attr("activation", case.pick("Relu", "Tanh", "Sigmoid", "LeakyRelu", "Clip", "HardSigmoid"))
        numbers = {"LeakyRelu": [0.1], "Clip": [-1.0, 2.0], "HardSigmoid": [0.2, 0.5]}.get(activation)
        if numbers:
            case.attr("activation_params", numbers)
    x = case.input("T", (batch(case), channels, *window.image), "normal")
    w = case.input("T", (filters, channels // group + case.odd(), *window.kernel), "normal")
    bound(case, channels // group * int(np.prod(window.kernel)), x, w)
    case.scale += 100 if bias(case, "T", filters) else 0


@recipe("ConvTranspose com.microsoft:ConvTransposeWithDynamicPads")
def conv_transpose(case):
    dynamic = case.operator.name != "ConvTranspose"
    window = Window(case, 4, spatial=2 if dynamic else None, auto=not dynamic)
    group, channels, filters = groups(case, case.dim(1, 3), 1)
    filters = case.dim(1, 4)
    case.attr("kernel_shape", window.kernel, 0.6)
    if case.maybe(0.3):
        case.attr("output_padding", [case.r.randint(0, s - 1) if s > 1 else 0 for s in window.strides])
    x = case.input("T", (batch(case), channels, *window.image), "normal")
    w = case.input("T", (channels, filters, *window.kernel), "normal")
    bound(case, channels * int(np.prod(window.kernel)), x, w)
    case.scale += 100
    if dynamic:
        case.int64([0] * 2 * window.spatial if case.maybe() else [min(1, k - 1) for k in window.kernel] * 2)
    bias(case, "T", filters * group)


@recipe("ConvInteger")
def conv_integer(case):
    window = Window(case)
    group, channels, filters = groups(case, case.dim(1, 4), case.dim(1, 4))
    case.attr("kernel_shape", window.kernel, 0.6)
    case.input("T1", (batch(case), channels, *window.image))
    case.input("T2", (filters, channels // group, *window.kernel))
    zero_point(case, "T1")
    zero_point(case, "T2", 0.5, case.pick((), (), (filters,)))


@recipe("QLinearConv")
def qlinear_conv(case):
    window = Window(case)
    group, channels, filters = groups(case, case.dim(1, 4), case.dim(1, 4))
    case.attr("kernel_shape", window.kernel, 0.6)
    last = case.attr("channels_last", case.dim(0, 1), 0.5) if window.spatial == 2 else 0
    each = case.pick((), (), (filters,))
    n = batch(case)
    case.input("T1", (n, *window.image, channels) if last else (n, channels, *window.image))
    scale(case)
    case.input("T1", (), "small")
    case.input("T2", (filters, channels // group, *window.kernel))
    scale(case, each)
    case.input("T2", each, "small", True)
    scale(case)
    case.input("T3", (), "small")
    if case.maybe():
        case.input("T4", (filters,), "normal")


@recipe("AveragePool LpPool MaxPool")
def pool(case):
    window = Window(case, spatial=2 if case.operator.name == "NhwcMaxPool" else None)
    case.attr("kernel_shape", window.kernel)
    case.attr("ceil_mode", case.dim(0, 1), 0.5)
    case.attr("count_include_pad", case.dim(0, 1), 0.5)
    case.attr("storage_order", case.dim(0, 1), 0.2)
    case.attr("p", case.dim(1, 3), 0.5)
    if case.operator.name == "NhwcMaxPool":
        x = case.input("T", (batch(case), *window.image, case.dim(1, 4)))
    else:
        x = case.input("T", (batch(case), case.dim(1, 4), *window.image), "any" if case.operator.name == "MaxPool" and case.maybe() else "normal")
    if case.operator.name in ("AveragePool", "LpPool"):
        bound(case, 1, x)


@recipe("GlobalAveragePool GlobalMaxPool GlobalLpPool")
def global_pool(case):
    case.attr("p", case.dim(1, 3) if case.version.since > 1 else float(case.dim(1, 3)), 0.6)
    bound(case, 1, case.input("T", (batch(case), case.dim(1, 4), *case.extents(1, 3)), "normal"))


@recipe("MaxUnpool")
def max_unpool(case):
    spatial = case.pick(1, 2, 2, 3)
    kernel, strides = [case.dim(1, 3) for _ in range(spatial)], [case.dim(1, 3) for _ in range(spatial)]
    case.attr("kernel_shape", kernel), case.attr("strides", strides)
    image = [case.dim(1, 4) for _ in range(spatial)]
    case.attr("pads", [0] * 2 * spatial, 0.3)
    whole = [(d - 1) * s + k for d, s, k in zip(image, strides, kernel)]
    n, c = case.dim(1, 2), case.dim(1, 3)
    count = n * c * int(np.prod(whole))
    pick = case.numbers.generator.permutation(count)[:n * c * int(np.prod(image))]
    if len(pick) < n * c * int(np.prod(image)):
        pick = case.numbers.generator.integers(0, count, n * c * int(np.prod(image)))
    case.input("T1", (n, c, *image), "normal")
    case.give(np.sort(pick).astype(np.int64).reshape(n, c, *image))
    if case.maybe(0.3):
        case.int64([n, c, *whole])


@recipe("Col2Im")
def col2im(case):
    window = Window(case, 5, auto=False)
    n, c = batch(case), case.dim(1, 3)
    out = [max(0, (i + window.pads[a] + window.pads[a + window.spatial] - r) // s + 1)
           for a, (i, r, s) in enumerate(zip(window.image, window.reach, window.strides))]
    bound(case, int(np.prod(window.kernel)), case.input("T", (n, c * int(np.prod(window.kernel)), int(np.prod(out))), "normal"))
    case.int64(window.image)
    case.int64(window.kernel)


@recipe("DeformConv")
def deform_conv(case):
    window = Window(case, 5, spatial=2, auto=False)
    group, channels, filters = groups(case, case.dim(1, 2), case.dim(1, 3))
    offsets = case.pick(1, 1, channels)
    case.attr("offset_group", offsets, 1 if offsets > 1 else 0.5)
    case.attr("kernel_shape", window.kernel, 0.6)
    out = [max(0, (i + window.pads[a] + window.pads[a + 2] - r) // s + 1) for a, (i, r, s) in enumerate(zip(window.image, window.reach, window.strides))]
    n, taps = case.dim(1, 2), int(np.prod(window.kernel))
    x = case.input("T", (n, channels, *window.image), "normal")
    w = case.input("T", (filters, channels // group, *window.kernel), "normal")
    case.input("T", (n, offsets * taps * 2, *out), "unit")
    bound(case, taps * channels, x, w)
    if case.maybe():
        case.input("T", (filters,), "unit")
    else:
        case.skip()
    if case.maybe():
        case.input("T", (n, offsets * taps, *out), "unit")


def boxes(case, count, height, width):
    """[count, 4] corners x1, y1, x2, y2 within an image, mostly."""
    g = case.numbers.generator
    low = g.uniform(-1, [width / 2, height / 2], (count, 2))
    return np.concatenate([low, low + g.uniform(0, [width, height], (count, 2))], 1)


@recipe("MaxRoiPool")
def max_roi_pool(case):
    n, h, w, count = case.dim(1, 3), case.dim(2, 9), case.dim(2, 9), case.dim(1, 4)
    case.attr("pooled_shape", [case.dim(1, 4), case.dim(1, 4)])
    case.attr("spatial_scale", case.pick(1.0, 0.5, 0.25), 0.5)
    x = case.input("T", (n, case.dim(1, 3), h, w), "normal")
    which = case.numbers.generator.integers(0, n, (count, 1))
    case.give(np.concatenate([which, np.abs(boxes(case, count, h - 1, w - 1) / 2).round()], 1).astype(x.dtype))


@recipe("RoiAlign")
def roi_align(case):
    n, h, w, count = case.dim(1, 3), case.dim(2, 9), case.dim(2, 9), case.dim(0, 4)
    case.attr("output_height", case.dim(1, 4), 0.7), case.attr("output_width", case.dim(1, 4), 0.7)
    case.attr("sampling_ratio", case.dim(0, 3), 0.6), case.attr("spatial_scale", case.pick(1.0, 0.5), 0.5)
    case.attr("mode", case.pick("avg", "max"), 0.5)
    case.attr("coordinate_transformation_mode", case.pick("half_pixel", "output_half_pixel"), 0.6)
    x = case.input("T1", (n, case.dim(1, 3), h, w), "normal")
    case.give(boxes(case, count, h, w).astype(x.dtype))
    case.give(case.numbers.generator.integers(0, n, count).astype(np.int64))


@recipe("com.microsoft:CropAndResize")
def crop_and_resize(case):
    n, h, w, count = case.dim(1, 3), case.dim(2, 9), case.dim(2, 9), case.dim(1, 4)
    case.attr("mode", case.pick("bilinear", "nearest"), 0.7)
    case.attr("extrapolation_value", 2.5, 0.4)
    x = case.input("T1", (n, case.dim(1, 3), h, w), "normal")
    case.give((boxes(case, count, h, w) / max(h, w)).astype(x.dtype))
    case.give(case.numbers.generator.integers(0, n, count).astype(np.int32))
    case.int64([case.dim(1, 5), case.dim(1, 5)], dtype=np.int32)


@recipe("com.microsoft:MaxpoolWithMask")
def max_pool_with_mask(case):
    window = Window(case, auto=False)
    case.attr("kernel_shape", window.kernel)
    n, c = case.dim(1, 2), case.dim(1, 3)
    case.input("T", (n, c, *window.image), "normal")
    case.give(case.numbers.generator.integers(0, 2, (n, c, *window.image)).astype(np.int32))


@recipe("com.microsoft.nchwc:Conv com.microsoft.nchwc:AveragePool com.microsoft.nchwc:MaxPool com.microsoft.nchwc:GlobalAveragePool "
        "com.microsoft.nchwc:GlobalMaxPool com.microsoft.nchwc:Upsample com.microsoft.nchwc:ReorderInput com.microsoft.nchwc:ReorderOutput")
def nchwc(case):
    """Channels in blocks of 8 or 16: it depends on the processor which of them is valid. The optimiser makes these
    nodes only if shapes are known."""
    case.form = "fixed"
    name, block, n, image = case.operator.name, 16, case.dim(1, 2), [case.dim(3, 8), case.dim(3, 8)]
    channels = block * case.dim(1, 2)
    if name in ("ReorderInput", "ReorderOutput"):
        last = case.attr("channels_last", case.dim(0, 1), 0.5)
        kept = case.attr("channels", channels - case.pick(0, 0, 1, 3, 8))
        c = channels if kept is not None else case.dim(4, 40) // 4 * 4
        case.input("T", (n, *image, c) if last and name == "ReorderInput" else (n, c, *image), "normal")
        return
    if name == "Upsample":
        case.attr("scales", [1, 1, case.dim(1, 3), case.dim(1, 3)])
        linear = case.attr("mode", case.pick("nearest", "linear"), 0.7) == "linear"
        case.attr("coordinate_transformation_mode", case.pick("asymmetric", "align_corners", "half_pixel") if linear else "asymmetric", 0.6)
    window = Window(case, spatial=2) if not name.startswith("Global") and name != "Upsample" else None
    if window:
        image = window.image
        case.attr("kernel_shape", window.kernel)
        case.attr("count_include_pad", case.dim(0, 1), 0.5)
    x = case.input("T", (n, channels, *image), "normal")
    if name == "Conv":
        filters = block * case.dim(1, 2)
        w = case.input("T", (filters, channels, *window.kernel), "normal", True)
        bound(case, channels * int(np.prod(window.kernel)), x, w)
        bias(case, "T", filters)
