#include "passes/layout/image_op.h"

#include <algorithm>
#include <numeric>

#include "ops/evaluate.h"

namespace retort {
namespace {

// Whether there is an operator of the same name for channels last.
bool has_own_form(const Node& n) { return find_op("retort", n.type); }

// The rank of an image; 0 for other values.
size_t image_rank(const Graph& g, ValueId v) {
  const Shape* s = shape_of(g, v);
  return s && (s->rank() == 3 || s->rank() == 4) ? s->rank() : 0;
}

bool all_ones(const Graph& g, ValueId v) {
  const Shape* s = shape_of(g, v);
  return s && std::all_of(s->begin(), s->end(), [](Dim d) { return d == 1; });
}

std::optional<ImageOp> single_image(const Graph& g, const Node& n) {
  const size_t rank = image_rank(g, n.inputs[0]);
  if (rank == 0) return std::nullopt;
  return ImageOp{.rank = rank, .inputs = {0}};
}

std::optional<ImageOp> conv(const Graph& g, const Node& n) {
  const Tensor* w = g.constant(n.inputs[1]);
  auto op = single_image(g, n);
  if (!op || !w || w->dtype() != DType::f32 || w->shape().rank() != op->rank || w->count() == 0) return std::nullopt;
  op->wants_last = true;
  // With few channels, most of a channels-last vector would be empty; the first layer gathers planes instead.
  constexpr int64_t kFewChannels = 4;
  op->reads_first = n.attributes.get_or<int64_t>("group", 1) == 1 && w->shape()[1] <= kFewChannels;
  return op;
}

std::optional<ImageOp> conv_transpose(const Graph& g, const Node& n) {
  const std::string automatic = n.attributes.get_or<std::string>("auto_pad", "NOTSET");
  if (automatic != "NOTSET" || n.attributes.has("output_shape")) return std::nullopt;
  auto op = conv(g, n);
  if (op) op->reads_first = false;
  return op;
}

// With SAME, windows of long strides leave out elements at the beginning, which the channels-last kernels cannot do.
bool may_leave_out(const Node& n) {
  using Ints = std::vector<int64_t>;
  const Ints* strides = n.attributes.get<Ints>("strides");
  return strides && n.attributes.get_or<std::string>("auto_pad", "").starts_with("SAME") &&
         std::ranges::any_of(*strides, [](int64_t s) { return s > 2; });
}

std::optional<ImageOp> pool(const Graph& g, const Node& n) {
  if (!is_float32(g, n.inputs[0]) || n.outputs.size() > 1 || n.attributes.get_or<int64_t>("storage_order", 0) != 0 ||
      may_leave_out(n))
    return std::nullopt;
  return single_image(g, n);
}

std::optional<ImageOp> elementwise(const Graph& g, const Node& n) {
  ImageOp op{.rank = image_rank(g, n.outputs[0])};
  if (op.rank == 0 || n.outputs.size() != 1) return std::nullopt;
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    const ValueId in = n.inputs[i];
    if (in == ValueId::none) continue;
    const Shape* s = shape_of(g, in);
    if (!s) return std::nullopt;
    if (g.constant(in)) {
      if (!all_ones(g, in)) op.broadcasts.push_back(i);
    } else if (s->rank() == op.rank) {
      op.inputs.push_back(i);
    } else if (!all_ones(g, in)) {
      return std::nullopt;
    }
  }
  if (op.inputs.empty()) return std::nullopt;
  return op;
}

std::optional<ImageOp> concat(const Graph& g, const Node& n) {
  ImageOp op{.rank = image_rank(g, n.outputs[0])};
  if (op.rank == 0) return std::nullopt;
  for (size_t i = 0; i < n.inputs.size(); ++i) op.inputs.push_back(i);
  return op;
}

// For operators that need constant axes, which are in input `slot`.
std::optional<ImageOp> with_axes(const Graph& g, const Node& n, size_t slot) {
  if (n.input(slot) != ValueId::none && !g.constant(n.inputs[slot])) return std::nullopt;
  return single_image(g, n);
}

std::optional<ImageOp> reduce(const Graph& g, const Node& n) {
  if (n.input(1) == ValueId::none || n.attributes.get_or<int64_t>("keepdims", 1) != 1) return std::nullopt;
  return with_axes(g, n, 1);
}

std::optional<ImageOp> slice(const Graph& g, const Node& n) {
  const Shape* starts = shape_of(g, n.inputs[1]);
  if (n.input(3) == ValueId::none && (!starts || !all_known(*starts))) return std::nullopt;
  return with_axes(g, n, 3);
}

std::optional<ImageOp> pad(const Graph& g, const Node& n) {
  if (!g.constant(n.inputs[1])) return std::nullopt;
  return with_axes(g, n, 3);
}

// Scales and sizes are unchanged: an attribute says which axes they refer to.
std::optional<ImageOp> resize(const Graph& g, const Node& n) {
  const ValueId region = n.input(1);
  if (region != ValueId::none && !(g.constant(region) && g.constant(region)->count() == 0)) return std::nullopt;
  return single_image(g, n);
}

// Maps `axes` to their indices when channels are last.
std::vector<int64_t> when_last(std::vector<int64_t> axes, size_t rank) {
  for (int64_t& a : axes) a = axis_when_last(int64_t(normalize_axis(a, rank)), rank);
  return axes;
}

std::vector<int64_t> first_axes(size_t count) {
  std::vector<int64_t> axes(count);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

void remap_axis(LastForm& form, const Node& n, size_t rank, int64_t otherwise) {
  const int64_t axis = n.attributes.get_or<int64_t>("axis", otherwise);
  form.spec.attributes.set("axis", axis_when_last(int64_t(normalize_axis(axis, rank)), rank));
}

// Sets the axes in input `slot`; without that input, they are the first `count` axes.
void set_axes_input(LastForm& form, const Graph& g, const Node& n, size_t slot, size_t count, size_t rank) {
  const ValueId given = n.input(slot);
  const auto axes = given == ValueId::none ? first_axes(count) : *known_integers(g, given);
  form.constants.emplace_back(slot, int64_tensor(when_last(axes, rank)));
  form.spec.inputs.resize(std::max(form.spec.inputs.size(), slot + 1), ValueId::none);
}

void remap_resize(LastForm& form, const Node& n, size_t rank) {
  const auto axes = ints_attribute(n, "axes");
  form.spec.attributes.set("axes", when_last(axes.empty() ? first_axes(rank) : axes, rank));
}

}  // namespace

std::vector<int64_t> perm_to_last(size_t rank) {
  std::vector<int64_t> p{0};
  for (size_t i = 2; i < rank; ++i) p.push_back(int64_t(i));
  p.push_back(1);
  return p;
}

std::vector<int64_t> perm_to_first(size_t rank) {
  std::vector<int64_t> p{0, int64_t(rank) - 1};
  for (size_t i = 1; i + 1 < rank; ++i) p.push_back(int64_t(i));
  return p;
}

std::optional<ImageOp> image_op(const Graph& g, const Node& n) {
  if (!n.op || !n.domain.empty() || n.inputs.empty() || n.outputs.empty() || n.outputs[0] == ValueId::none)
    return std::nullopt;
  const auto has_rank = [&](ValueId v) { return v == ValueId::none || shape_of(g, v); };
  if (!std::all_of(n.outputs.begin(), n.outputs.end(), has_rank)) return std::nullopt;
  if (n.type == "Conv") return conv(g, n);
  if (n.type == "ConvTranspose") return conv_transpose(g, n);
  if (n.type == "MaxPool" || n.type == "AveragePool") return pool(g, n);
  if (n.type == "GlobalAveragePool") return is_float32(g, n.inputs[0]) ? single_image(g, n) : std::nullopt;
  if (n.op->has(kJoins)) return concat(g, n);
  if (n.op->has(kAlongAxis)) return single_image(g, n);
  if (n.op->has(kReduces)) return reduce(g, n);
  if (n.type == "Slice") return slice(g, n);
  if (n.type == "Pad") return pad(g, n);
  if (n.type == "Resize") return resize(g, n);
  if (n.op->has(kElementwise)) return elementwise(g, n);
  return std::nullopt;
}

LastForm last_form(const Graph& g, const Node& n, const ImageOp& op) {
  LastForm form{{.type = n.type,
                 .inputs = n.inputs,
                 .attributes = n.attributes,
                 .name = n.name,
                 .outputs = n.outputs.size(),
                 .position = n.position},
                {}};
  if (has_own_form(n)) {
    form.spec.domain = "retort";
    form.spec.attributes.erase("storage_order");
    if (n.type == "ConvTranspose") {
      form.spec.attributes.erase("auto_pad");
      form.spec.attributes.erase("kernel_shape");
    }
  } else if (n.op->has(kAlongAxis)) {
    remap_axis(form, n, op.rank, n.type == "Split" ? 0 : -1);
  } else if (n.op->has(kReduces)) {
    set_axes_input(form, g, n, 1, op.rank, op.rank);
  } else if (n.type == "Slice") {
    set_axes_input(form, g, n, 3, size_t((*shape_of(g, n.inputs[1]))[0]), op.rank);
  } else if (n.type == "Pad") {
    set_axes_input(form, g, n, 3, op.rank, op.rank);
  } else if (n.type == "Resize") {
    remap_resize(form, n, op.rank);
  }
  for (size_t slot : op.broadcasts)
    form.constants.emplace_back(slot, broadcast_to_last(*g.constant(n.inputs[slot]), op.rank));
  return form;
}

Tensor broadcast_to_last(const Tensor& constant, size_t rank) {
  Shape shape;
  for (size_t i = constant.shape().rank(); i < rank; ++i) shape.push_back(1);
  for (int64_t d : constant.shape()) shape.push_back(d);
  Node n;
  n.type = "Transpose";
  n.attributes.set("perm", perm_to_last(rank));
  n.outputs = {ValueId(0)};
  resolve(n);
  const Value in(constant.reshaped(shape));
  const Value* inputs[] = {&in};
  return *evaluate(n, inputs)[0].tensor();
}

}  // namespace retort
