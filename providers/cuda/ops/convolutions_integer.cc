// ConvInteger and QLinearConv.
#include "windows.h"

namespace providers::cuda {
namespace {

bool is_byte_type(Type type) {
  return type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8 || type == ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8;
}

/// Places of the inputs; 99: the operator has no such input.
struct Places {
  size_t x, w, x_zero, w_zero, x_scale, w_scale, y_scale, y_zero, bias;
};
constexpr Places kSum{0, 1, 2, 3, 99, 99, 99, 99, 99}, kScaled{0, 3, 2, 5, 1, 4, 6, 7, 8};

class IntegerConvOp : public Op {
 public:
  explicit IntegerConvOp(const Node& node)
      : window_(node), group_(node.integer("group", 1)), sum_(node.type == "ConvInteger"), at_(sum_ ? kSum : kScaled) {}

  void emit(Emitter& e) const override {
    const Operand &x = e.look(at_.x), &w = e.look(at_.w);
    const size_t rank = x.rank();
    if (rank < 3 || rank > 5 || w.rank() != rank) e.fail("input and filter need the same rank of 3 to 5");
    if (x.dims[1] != w.dims[1] * group_ || w.dims[0] % group_)
      e.fail(text("a filter of ", w.dims[0], " x ", w.dims[1], " and ", group_, " groups do not fit the input"));
    const Dims filter(w.dims.begin() + 2, w.dims.end());
    const WindowAxes axes = window_.axes(x.dims, filter);
    const Type type = sum_ ? ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32 : e.look(at_.y_zero).type;
    const Operand y = e.out(0, type, window_dims(x.dims, w.dims[0], axes));
    if (y.count() == 0) return;
    Defines d{{"XT", kernel_type(x.type)}, {"WT", kernel_type(w.type)}, {"YT", kernel_type(type)}};
    if (sum_) d["SUM"] = "1";
    e.launch(e.kernel("conv_integer.cu", "convolve", d), flat_grid(y.count()),
             {e.in(at_.x), e.in(at_.w), input(e, at_.x_zero), input(e, at_.w_zero), input(e, at_.x_scale),
              input(e, at_.w_scale), input(e, at_.y_scale), input(e, at_.y_zero), input(e, at_.bias), y,
              arguments(e, y, axes)});
  }

 private:
  static Argument input(Emitter& e, size_t i) { return e.has(i) ? Argument(e.in(i)) : Argument(int64_t{0}); }
  /// Whether the input has a number for each of the filter's outputs.
  static bool each(Emitter& e, size_t i, int64_t channels) {
    if (!e.has(i)) return false;
    const int64_t n = int64_t(e.look(i).count());
    if (n != 1 && n != channels) e.fail(text("input ", i, " needs 1 or ", channels, " elements"));
    return n != 1;
  }

  Argument arguments(Emitter& e, const Operand& y, const WindowAxes& axes) const {
    struct {
      int64_t count;
      int32_t channels, group_in, group_out, in[3], out[3], filter[3], stride[3], dilation[3], begin[3], each_zero,
          each_scale, unused;
    } p{};
    p.count = int64_t(y.count());
    p.channels = int32_t(y.dims[1]);
    p.group_in = int32_t(e.look(at_.w).dims[1]);
    p.group_out = int32_t(y.dims[1] / group_);
    for (size_t i = 0; i < 3; ++i) {
      const WindowAxis& a = axes[i];
      p.in[i] = int32_t(a.in);
      p.out[i] = int32_t(a.out);
      p.filter[i] = int32_t(a.filter);
      p.stride[i] = int32_t(a.stride);
      p.dilation[i] = int32_t(a.dilation);
      p.begin[i] = int32_t(a.begin);
    }
    p.each_zero = each(e, at_.w_zero, y.dims[1]);
    p.each_scale = each(e, at_.w_scale, y.dims[1]);
    return Argument::of(p);
  }

  Window window_;
  int64_t group_;
  bool sum_;
  Places at_;
};

std::string refuses(const Node& node, const Places& at) {
  const Value *const x = node.input(at.x), *const w = node.input(at.w);
  if (!x || !w || !is_byte_type(x->type) || !is_byte_type(w->type)) return "its type is not int8 or uint8";
  const Value* const ranked = w->has_rank ? w : x;
  if (!ranked->has_rank) return "the rank of its filter is unknown";
  if (ranked->rank() < 3 || ranked->rank() > 5) return text("its filter has rank ", ranked->rank());
  if (node.integer("group", 1) < 1) return "attribute group is not positive";
  const Value* const y_zero = node.input(at.y_zero);
  if (at.y_zero == kScaled.y_zero && (!y_zero || !is_byte_type(y_zero->type)))
    return "it has no zero point of its result";
  return Window(node).refuses(ranked->rank() - 2);
}

std::unique_ptr<Op> make(const Node& node, Builder& builder) {
  auto op = std::make_unique<IntegerConvOp>(node);
  bind(*op, node, builder);
  return op;
}

}  // namespace

void add_integer_convolutions(Kinds& kinds) {
  kinds[{"", "ConvInteger"}] = {[](const Node& n, const Claiming&) { return refuses(n, kSum); }, make};
  kinds[{"", "QLinearConv"}] = {[](const Node& n, const Claiming&) { return refuses(n, kScaled); }, make};
}

}  // namespace providers::cuda
