#include "lift/quantized.h"

#include <limits>

namespace retort {
namespace {

std::vector<int64_t> axes_in_order(size_t rank) {
  std::vector<int64_t> axes(rank);
  for (size_t i = 0; i < rank; ++i) axes[i] = int64_t(i);
  return axes;
}

// Exchanges the channels with all axes between the first one and them, however many there are.
ValueId move_channels(Rewriter& r, ValueId x, bool to_last) {
  constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();
  const auto reshaped = [&](ValueId v, ValueId shape) {
    return r.add({.type = "Reshape", .inputs = {v, shape}, .attributes = {{"allowzero", int64_t(1)}}});
  };
  const auto part = [&](int64_t begin, int64_t end) { return shape_part(r, x, begin, end); };
  const ValueId first = part(0, 1);
  const ValueId channels = to_last ? part(1, 2) : part(-1, kEnd), between = to_last ? part(2, kEnd) : part(1, -1);
  const ValueId count = r.add({.type = "ReduceProd", .inputs = {between}});
  const auto shape = [&](bool last, ValueId middle) {
    return joined(r, last ? std::vector{first, middle, channels} : std::vector{first, channels, middle});
  };
  const ValueId matrices = transpose(r, reshaped(x, shape(!to_last, count)), {0, 2, 1});
  return reshaped(matrices, shape(to_last, between));
}

}  // namespace

ValueId real_numbers(Rewriter& r, size_t x, size_t scale, size_t zero) {
  require(!is_float(r.type(x).dtype), ErrorCode::invalid_graph, "input {} is {}, expected codes: int8 or uint8", x,
          dtype_name(r.type(x).dtype));
  expect_one(r, scale, "scale");
  expect_one(r, zero, "zero point");
  std::vector<ValueId> inputs{r.input(x), r.input(scale)};
  if (r.has(zero)) inputs.push_back(r.input(zero));
  return r.add({.type = "DequantizeLinear", .inputs = inputs});
}

void store_codes(Rewriter& r, ValueId y, size_t scale, size_t zero) {
  expect_one(r, scale, "scale");
  expect_one(r, zero, "zero point");
  NodeSpec spec{.type = "QuantizeLinear", .inputs = {y, r.input(scale)}};
  if (r.has(zero))
    spec.inputs.push_back(r.input(zero));
  else
    spec.attributes = {{"output_dtype", int64_t(r.type(0).dtype)}};
  r.replace_output(0, r.add(std::move(spec)));
  r.remove();
}

ValueId reduced(Rewriter& r, std::string_view type, ValueId x) {
  const auto* axes = r.attributes().get<std::vector<int64_t>>("axes");
  require(axes, ErrorCode::invalid_graph, "the attribute axes is missing");
  const Attributes keep{{"keepdims", r.attributes().get_or<int64_t>("keepdims", 1)}};
  return r.add({.type = std::string(type), .inputs = {x, r.constant(*axes)}, .attributes = keep});
}

ValueId channels_last(Rewriter& r, ValueId x, std::optional<size_t> rank) {
  if (!rank) return move_channels(r, x, true);
  std::vector<int64_t> axes = axes_in_order(*rank);
  for (size_t i = 1; i < *rank; ++i) axes[i] = i + 1 < *rank ? int64_t(i + 1) : 1;
  return transpose(r, x, std::move(axes));
}

ValueId channels_first(Rewriter& r, ValueId x, std::optional<size_t> rank) {
  if (!rank) return move_channels(r, x, false);
  std::vector<int64_t> axes = axes_in_order(*rank);
  for (size_t i = 1; i < *rank; ++i) axes[i] = i == 1 ? int64_t(*rank - 1) : int64_t(i - 1);
  return transpose(r, x, std::move(axes));
}

ValueId transposed(Rewriter& r, ValueId x, size_t rank) {
  std::vector<int64_t> axes = axes_in_order(rank);
  if (rank > 1) std::swap(axes[rank - 2], axes[rank - 1]);
  return transpose(r, x, std::move(axes));
}

}  // namespace retort
