// DeformConv and MaxUnpool.
#include <algorithm>

#include "windows.h"

namespace providers::cuda {
namespace {

bool is_real(const Value* v) {
  return v && (v->type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT || v->type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16 ||
               v->type == ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16 || v->type == ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE);
}

class DeformConvOp : public Op {
 public:
  explicit DeformConvOp(const Node& node)
      : window_(node), group_(node.integer("group", 1)), offset_groups_(node.integer("offset_group", 1)) {}

  void emit(Emitter& e) const override {
    const Operand &x = e.look(0), &w = e.look(1);
    if (x.rank() != 4 || w.rank() != 4) e.fail("input and filter need the rank 4");
    if (x.dims[1] != w.dims[1] * group_ || w.dims[0] % group_ || x.dims[1] % offset_groups_)
      e.fail(text("the filter, ", group_, " groups and ", offset_groups_, " groups of offsets do not fit the input"));
    const WindowAxes axes = window_.axes(x.dims, {w.dims[2], w.dims[3]});
    const Dims dims = window_dims(x.dims, w.dims[0], axes);
    const int64_t maps = offset_groups_ * w.dims[2] * w.dims[3];
    check_dims(e, 2, {dims[0], 2 * maps, dims[2], dims[3]});
    check_dims(e, 3, {dims[1]});
    check_dims(e, 4, {dims[0], maps, dims[2], dims[3]});
    const Operand y = e.out(0, x.type, dims);
    if (y.count() == 0) return;
    if (product(dims, 2) > 0x7fffffff || product(x.dims, 2) > 0x7fffffff) e.fail("an image has 2^31 elements or more");
    struct {
      int64_t count;
      int32_t channels, group_in, group_out, offset_groups, in_channels, in[2], out[2], filter[2], stride[2],
          dilation[2], begin[2], unused;
    } p{};
    p.count = int64_t(y.count());
    p.channels = int32_t(dims[1]);
    p.group_in = int32_t(w.dims[1]);
    p.group_out = int32_t(dims[1] / group_);
    p.offset_groups = int32_t(offset_groups_);
    p.in_channels = int32_t(x.dims[1]);
    for (size_t i = 0; i < 2; ++i) {
      const WindowAxis& a = axes[1 + i];
      p.in[i] = int32_t(a.in);
      p.out[i] = int32_t(a.out);
      p.filter[i] = int32_t(a.filter);
      p.stride[i] = int32_t(a.stride);
      p.dilation[i] = int32_t(a.dilation);
      p.begin[i] = int32_t(a.begin);
    }
    e.launch(e.kernel("deform.cu", "deform", {{"TYPE", kernel_type(x.type)}, {"DEFORM", "1"}}), flat_grid(y.count()),
             {e.in(0), e.in(1), e.in(2), input(e, 3), input(e, 4), y, Argument::of(p)});
  }

 private:
  static Argument input(Emitter& e, size_t i) { return e.has(i) ? Argument(e.in(i)) : Argument(int64_t{0}); }
  static void check_dims(Emitter& e, size_t i, const Dims& expected) {
    if (e.has(i) && e.look(i).dims != expected) e.fail(text("input ", i, " has a shape that does not fit"));
  }
  Window window_;
  int64_t group_, offset_groups_;
};

class MaxUnpoolOp : public Op {
 public:
  explicit MaxUnpoolOp(const Node& node) : window_(node) {}

  void emit(Emitter& e) const override {
    const Operand x = e.in(0), indices = e.in(1);
    const size_t spatial = window_.filter.size();
    if (x.rank() != spatial + 2) e.fail("attribute kernel_shape does not fit the input's rank");
    if (indices.dims != x.dims) e.fail("the indices need the shape of the input");
    Dims pooled = x.dims;
    for (size_t i = 0; i < spatial; ++i) {
      const int64_t stride = window_.strides.empty() ? 1 : window_.strides[i];
      const int64_t pads = window_.pads.empty() ? 0 : window_.pads[i] + window_.pads[spatial + i];
      pooled[2 + i] = (x.dims[2 + i] - 1) * stride + window_.filter[i] - pads;
    }
    const Dims dims = e.has(2) ? e.integers(2) : pooled;
    if (dims.size() != x.rank() || std::any_of(dims.begin(), dims.end(), [](int64_t d) { return d < 0; }))
      e.fail("the output's shape is not possible");
    const Operand y = e.out(0, x.type, dims);
    if (y.count() == 0) return;
    e.call({y}, [y](const Run& run) {
      check(driver().fill_bytes(run(y), 0, y.bytes(), run.stream), "filling the output of MaxUnpool");
    });
    struct {
      int64_t count, pooled[5], y[5];
    } p{};
    p.count = int64_t(x.count());
    if (p.count == 0) return;
    for (size_t i = 0; i < 5; ++i) {
      const size_t missing = 5 - dims.size();  // before the other axes
      p.pooled[i] = i < missing ? 1 : std::max<int64_t>(1, pooled[i - missing]);
      p.y[i] = i < missing ? 1 : dims[i - missing];
    }
    e.launch(e.kernel("deform.cu", "unpool", {{"TYPE", kernel_type(x.type)}, {"UNPOOL", "1"}}), flat_grid(x.count()),
             {x, indices, y, Argument::of(p)});
  }

 private:
  Window window_;
};

std::string refuses_deform(const Node& node, const Claiming&) {
  const Value *const x = node.input(0), *const w = node.input(1);
  if (!is_real(x) || !is_real(w) || w->type != x->type) return "its type is not supported";
  const Value* const ranked = w->has_rank ? w : x;
  if (!ranked->has_rank || ranked->rank() != 4) return "its filter does not have two spatial axes";
  if (node.integer("group", 1) < 1 || node.integer("offset_group", 1) < 1) return "a number of groups is not positive";
  return Window(node).refuses(2);
}

std::string refuses_unpool(const Node& node, const Claiming& claiming) {
  if (!is_real(node.input(0))) return "its type is not supported";
  if (node.input(2) && !node.input(2)->name.empty() && !claiming.known(node.input(2)))
    return "its output_shape is computed by the device";
  return Window(node).refuses(node.integers("kernel_shape").size());
}

}  // namespace

void add_deformed_convolutions(Kinds& kinds) {
  kinds[{"", "DeformConv"}] = {refuses_deform, make_op<DeformConvOp>};
  kinds[{"", "MaxUnpool"}] = {refuses_unpool, make_op<MaxUnpoolOp>};
}

}  // namespace providers::cuda
