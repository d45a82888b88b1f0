#include "lift/quantized.h"

namespace retort {
namespace {

std::vector<int64_t> axes_in_order(size_t rank) {
  std::vector<int64_t> axes(rank);
  for (size_t i = 0; i < rank; ++i) axes[i] = int64_t(i);
  return axes;
}

}  // namespace

void require_one(Rewriter& r, size_t i, std::string_view what) {
  if (!r.has(i) || !r.type(i).ranked) return;
  const Shape& shape = r.type(i).shape;
  require(shape.rank() == 0 || (shape.rank() == 1 && may_equal(shape[0], 1)), ErrorCode::invalid_graph,
          "{} (input {}) has shape {}, expected one element", what, i, r.graph().dims().text(shape));
}

ValueId real_numbers(Rewriter& r, size_t x, size_t scale, size_t zero) {
  require(!is_float(r.type(x).dtype), ErrorCode::invalid_graph, "input {} is {}, expected codes: int8 or uint8", x,
          dtype_name(r.type(x).dtype));
  require_one(r, scale, "scale");
  require_one(r, zero, "zero point");
  std::vector<ValueId> inputs{r.input(x), r.input(scale)};
  if (r.has(zero)) inputs.push_back(r.input(zero));
  return r.add({.type = "DequantizeLinear", .inputs = inputs});
}

void store_codes(Rewriter& r, ValueId y, size_t scale, size_t zero) {
  require_one(r, scale, "scale");
  require_one(r, zero, "zero point");
  NodeSpec spec{.type = "QuantizeLinear", .inputs = {y, r.input(scale)}};
  if (r.has(zero))
    spec.inputs.push_back(r.input(zero));
  else
    spec.attributes = {{"output_dtype", int64_t(r.type(0).dtype)}};
  r.replace_output(0, r.add(std::move(spec)));
  r.remove();
}

ValueId channels_last(Rewriter& r, ValueId x, size_t rank) {
  std::vector<int64_t> axes = axes_in_order(rank);
  for (size_t i = 1; i < rank; ++i) axes[i] = i + 1 < rank ? int64_t(i + 1) : 1;
  return transpose(r, x, std::move(axes));
}

ValueId channels_first(Rewriter& r, ValueId x, size_t rank) {
  std::vector<int64_t> axes = axes_in_order(rank);
  for (size_t i = 1; i < rank; ++i) axes[i] = i == 1 ? int64_t(rank - 1) : int64_t(i - 1);
  return transpose(r, x, std::move(axes));
}

ValueId transposed(Rewriter& r, ValueId x, size_t rank) {
  std::vector<int64_t> axes = axes_in_order(rank);
  if (rank > 1) std::swap(axes[rank - 2], axes[rank - 1]);
  return transpose(r, x, std::move(axes));
}

}  // namespace retort
