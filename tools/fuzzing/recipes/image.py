"""Sampling of images."""
import numpy as np

import numbers_of

from . import recipe
from .matrix import magnitude


@recipe("Resize")
def resize(case):
    spatial = case.pick(1, 2, 2, 3)
    shape = (case.dim(1, 2), case.dim(1, 3), *[case.dim(1, 7) for _ in range(spatial)])
    mode = case.attr("mode", case.pick("nearest", "linear", "cubic" if case.version.since >= 11 and spatial == 2 else "linear"), 0.8)
    if case.version.since == 10:
        case.input("T", shape, "normal")
        case.give(np.array([1, 1, *[case.pick(0.5, 1, 2, 1.7) for _ in range(spatial)]], np.float32))
        return
    coordinates = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"]
    coordinates += ["half_pixel_symmetric"] if case.version.since >= 19 else []
    crop = case.maybe(0.1) and mode != "cubic"
    case.attr("coordinate_transformation_mode", "tf_crop_and_resize" if crop else case.r.choice(coordinates), 1 if crop else 0.7)
    case.attr("nearest_mode", case.pick("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"), 0.6)
    case.attr("cubic_coeff_a", case.pick(-0.5, -0.75), 0.3)
    case.attr("exclude_outside", case.dim(0, 1), 0.3 if mode == "cubic" else 0)
    case.attr("extrapolation_value", 2.0, 0.3)
    case.attr("antialias", 1, 0.2 if mode in ("linear", "cubic") else 0)
    axes = case.attr("axes", list(range(2, 2 + spatial)), 0.3)
    whole = [*range(2, 2 + spatial)] if axes else list(range(2 + spatial))
    x = case.input("T1" if "T1" in case.version.types else "T", shape, "normal" if case.maybe(0.7) else "small")
    if numbers_of.element(x) in numbers_of.FLOATS:  # weights of cubic interpolation have magnitudes up to 1.5 in sum for each axis
        case.scale = float(np.max(np.abs(x.astype(np.float64)), initial=0)) * 1.5 ** spatial
    if crop:
        case.give(np.array([0.0] * len(whole) + [0.9] * len(whole), np.float32))
    elif case.version.since >= 13:
        case.skip()
    else:
        case.give(np.zeros(0, np.float32), True)
    if case.maybe():
        case.give(np.array([1.0 if a < 2 else case.pick(0.5, 0.6, 1, 1.5, 2, 3) for a in whole], np.float32))
    else:
        case.skip() if case.version.since >= 13 else case.give(np.zeros(0, np.float32), True)
        case.int64([shape[a] if a < 2 else case.dim(1, 9) for a in whole])
        case.attr("keep_aspect_ratio_policy", case.pick("stretch", "not_larger", "not_smaller"), 0.3)


@recipe("Upsample")
def upsample(case):
    shape = (case.dim(1, 2), case.dim(1, 3), case.dim(1, 5), case.dim(1, 5))
    scales = [1.0, 1.0, case.pick(1.0, 2.0, 1.5), case.pick(1.0, 2.0, 3.0)]
    case.attr("mode", case.pick("nearest", "linear" if case.version.since > 1 else "bilinear"), 0.8)
    case.attr("scales", scales)
    case.attr("height_scale", scales[2]), case.attr("width_scale", scales[3])
    case.input("T", shape, "normal")
    if case.version.since == 9:
        case.give(np.array(scales, np.float32))


@recipe("GridSample com.microsoft:GridSample")
def grid_sample(case):
    spatial = case.pick(2, 2, 3) if case.version.since >= 20 else 2
    n, image = case.dim(1, 2), [case.dim(1, 6) for _ in range(spatial)]
    out = [case.dim(1, 5) for _ in range(spatial)]
    modes = ("linear", "nearest", "cubic" if spatial == 2 else "linear") if case.version.since >= 20 else ("bilinear", "nearest", "bicubic")
    case.attr("mode", case.pick(*modes), 0.8)
    case.attr("padding_mode", case.pick("zeros", "border", "reflection"), 0.7)
    case.attr("align_corners", case.dim(0, 1), 0.7)
    case.input("T1", (n, case.dim(1, 3), *image), "normal")
    import numbers_of
    grid = case.numbers.generator.uniform(-1.3, 1.3, (n, *out, spatial))
    of = case.elem("T2") if "T2" in case.version.types else case.elem("T1")
    case.give(grid.astype(numbers_of.dtype(of)))


@recipe("AffineGrid")
def affine_grid(case):
    spatial = case.pick(2, 3)
    n = case.dim(1, 3)
    case.attr("align_corners", case.dim(0, 1), 0.7)
    theta = case.input("T1", (n, spatial, spatial + 1), "normal")
    case.scale = (spatial + 1) * magnitude(theta)
    case.int64([n, case.dim(1, 3), *[case.dim(1, 5) for _ in range(spatial)]])


@recipe("ImageDecoder")
def image_decoder(case):
    case.attr("pixel_format", case.pick("RGB", "BGR", "Grayscale"), 0.7)
    case.give(case.numbers.array(2, (case.dim(0, 64),)))


@recipe("ImageScaler")
def image_scaler(case):
    shape = (case.dim(1, 2), case.dim(1, 4), case.dim(0, 5), case.dim(1, 5))
    case.attr("scale", case.pick(0.5, 2.0), 0.6)
    case.attr("bias", [float(case.dim(-3, 3)) for _ in range(shape[1] + case.odd())])
    case.input("T", shape, "normal")


@recipe("Crop")
def crop(case):
    height, width = case.dim(1, 7), case.dim(1, 7)
    left, top = case.dim(0, width - 1), case.dim(0, height - 1)
    case.attr("border", [left, top, case.dim(0, width - left), case.dim(0, height - top) + case.odd()])
    case.attr("scale", [case.dim(0, height - top) + case.odd(), case.dim(0, width - left)], 0.4)
    case.input("T", (case.dim(1, 2), case.dim(1, 3), height, width))
