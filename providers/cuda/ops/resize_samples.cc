// GridSample, AffineGrid, RoiAlign.
#include "common/sizes.h"
#include "moves.h"

namespace providers::cuda {
namespace {

// The arguments of kernels/samples.cu.
struct Sampled {
  int64_t channels = 0, in = 0, out = 0;
  int64_t extent[3] = {};
  int32_t outside = 0, align_corners = 0;
};
struct Affine {
  int64_t extent[3] = {};
  int32_t align_corners = 0;
};
struct Regions {
  int64_t channels = 0, height = 0, width = 0, images = 0;
  int32_t rows = 1, columns = 1;
  int32_t ratio = 0, is_largest = 0, is_shifted = 0, is_long = 0;
  float scale = 1;
};

bool is_real(const Value* v) {
  return v && (v->type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT || v->type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16 ||
               v->type == ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16 || v->type == ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE);
}

// Elements along an axis that a value is made of; 0 for an unknown mode.
int taps_of(const std::string& mode) {
  if (mode == "linear" || mode == "bilinear") return 2;
  if (mode == "nearest") return 1;
  return mode == "cubic" || mode == "bicubic" ? 4 : 0;
}
int outside_of(const std::string& mode) {
  return mode == "zeros" ? 0 : mode == "border" ? 1 : mode == "reflection" ? 2 : -1;
}

class GridSample : public Op {
 public:
  explicit GridSample(const Node& node)
      : taps_(taps_of(node.string("mode", "linear"))),
        outside_(outside_of(node.string("padding_mode", "zeros"))),
        align_corners_(node.integer("align_corners", 0) != 0) {}

  void emit(Emitter& e) const override {
    const Operand x = e.in(0), grid = e.in(1);
    const size_t rank = x.rank();
    if (rank < 3 || rank > 5 || grid.rank() != rank || grid.dims[0] != x.dims[0] ||
        grid.dims.back() != int64_t(rank) - 2)
      e.fail("the grid does not fit the image");
    Dims dims{x.dims[0], x.dims[1]};
    dims.insert(dims.end(), grid.dims.begin() + 1, grid.dims.end() - 1);
    const Operand y = e.out(0, x.type, dims);
    if (y.count() == 0) return;
    Sampled s;
    s.channels = x.dims[1];
    s.in = product(x.dims, 2, rank);
    s.out = product(dims, 2, rank);
    std::copy(x.dims.begin() + 2, x.dims.end(), s.extent);
    s.outside = outside_;
    s.align_corners = align_corners_;
    const int64_t points = x.dims[0] * s.out, groups = ceil_div(s.channels, 8);
    if (groups > 65535) e.fail(text(s.channels, " channels, at most ", 65535 * 8));
    Grid shape = flat_grid(size_t(points));
    shape.blocks.y = unsigned(groups);
    const Defines defines{{"ELEMENT", kernel_type(x.type)},
                          {"PLACE", kernel_type(grid.type)},
                          {"AXES", std::to_string(rank - 2)},
                          {"TAPS", std::to_string(taps_)}};
    e.launch(e.kernel("samples.cu", "sample_grid", defines), shape, {x, grid, y, points, Argument::of(s)});
  }

 private:
  const int taps_, outside_;
  const bool align_corners_;
};

class AffineGrid : public Op {
 public:
  explicit AffineGrid(const Node& node) : align_corners_(node.integer("align_corners", 0) != 0) {}

  void emit(Emitter& e) const override {
    const Operand theta = e.in(0);
    const Dims& size = e.integers(1);
    const auto axes = int64_t(size.size()) - 2;
    if ((axes != 2 && axes != 3) || theta.dims != Dims{size[0], axes, axes + 1})
      e.fail("theta does not fit the size of the image");
    Dims dims{size[0]};
    dims.insert(dims.end(), size.begin() + 2, size.end());
    const int64_t points = product(dims, 0, dims.size());
    Affine a;
    std::copy(size.begin() + 2, size.end(), a.extent);
    a.align_corners = align_corners_;
    dims.push_back(axes);
    const Operand grid = e.out(0, theta.type, dims);
    if (grid.count() == 0) return;
    const char* const type = kernel_type(theta.type);
    const Defines defines{{"ELEMENT", type}, {"PLACE", type}, {"AXES", std::to_string(axes)}, {"TAPS", "1"}};
    e.launch(e.kernel("samples.cu", "affine_grid", defines), flat_grid(size_t(points)),
             {theta, grid, points, points / size[0], Argument::of(a)});
  }

 private:
  const bool align_corners_;
};

class RoiAlign : public Op {
 public:
  explicit RoiAlign(const Node& node) {
    r_.rows = int32_t(node.integer("output_height", 1));
    r_.columns = int32_t(node.integer("output_width", 1));
    r_.ratio = int32_t(node.integer("sampling_ratio", 0));
    r_.scale = node.number("spatial_scale", 1);
    r_.is_largest = node.string("mode", "avg") == "max";
    r_.is_shifted = shift_of(node) == "half_pixel";
  }

  // Before opset 16, coordinates were not shifted.
  static std::string shift_of(const Node& node) {
    return node.string("coordinate_transformation_mode", node.since < 16 ? "output_half_pixel" : "half_pixel");
  }

  void emit(Emitter& e) const override {
    const Operand x = e.in(0), rois = e.in(1), images = e.in(2);
    if (x.rank() != 4 || rois.rank() != 2 || rois.dims[1] != 4 || images.dims != Dims{rois.dims[0]})
      e.fail("regions and batch indices do not fit the image");
    const Operand y = e.out(0, x.type, {rois.dims[0], x.dims[1], r_.rows, r_.columns});
    if (y.count() == 0) return;
    Regions r = r_;
    r.images = x.dims[0];
    r.channels = x.dims[1];
    r.height = x.dims[2];
    r.width = x.dims[3];
    r.is_long = images.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64;
    e.launch(e.kernel("samples.cu", "align_regions", {{"ELEMENT", kernel_type(x.type)}}), flat_grid(y.count()),
             {x, rois, images, y, int64_t(y.count()), Argument::of(r)});
  }

 private:
  Regions r_;
};

std::string refuses_grid(const Node& node, const Claiming&) {
  if (!is_real(node.input(0)) || !is_real(node.input(1))) return "an image or a grid of no floating-point type";
  if (!node.in[0]->has_rank || node.in[0]->rank() < 3 || node.in[0]->rank() > 5) return "an image of more than 3 axes";
  const std::string mode = node.string("mode", "linear"), outside = node.string("padding_mode", "zeros");
  if (taps_of(mode) == 0) return "mode '" + mode + "'";
  return outside_of(outside) < 0 ? "padding_mode '" + outside + "'" : "";
}

std::string refuses_affine(const Node& node, const Claiming& claiming) {
  if (!is_real(node.input(0))) return "theta of no floating-point type";
  return refuses_unknown(node, claiming, 1, "the size");
}

std::string refuses_regions(const Node& node, const Claiming&) {
  if (!is_real(node.input(0)) || !is_real(node.input(1)) || node.in[0]->type != node.in[1]->type)
    return "an image of no floating-point type";
  const std::string mode = node.string("mode", "avg"), shift = RoiAlign::shift_of(node);
  if (mode != "avg" && mode != "max") return "mode '" + mode + "'";
  if (shift != "half_pixel" && shift != "output_half_pixel") return "coordinates '" + shift + "'";
  const bool sizes = node.integer("output_height", 1) > 0 && node.integer("output_width", 1) > 0;
  if (!sizes || node.integer("sampling_ratio", 0) < 0) return "sizes below 1";
  return refuses_index(node.input(2));
}

}  // namespace

void add_samples(Kinds& kinds) {
  kinds[{"", "GridSample"}] = kinds[{"com.microsoft", "GridSample"}] = kind_of<GridSample>(refuses_grid);
  kinds[{"", "AffineGrid"}] = kind_of<AffineGrid>(refuses_affine);
  kinds[{"", "RoiAlign"}] = kind_of<RoiAlign>(refuses_regions);
}

}  // namespace providers::cuda
