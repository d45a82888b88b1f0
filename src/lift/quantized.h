// Shared by the rules for quantised operators: dequantised inputs, quantised outputs, and the order of axes.
#pragma once
#include <optional>

#include "base/error.h"
#include "lift/expect.h"
#include "lift/rewriter.h"
#include "ops/infer.h"

namespace retort {

/// DequantizeLinear of input `x` with one scale and one zero point, which may be omitted. Throws invalid_graph if `x`
/// has a float type, or if scale or zero point are known to have more than one element.
ValueId real_numbers(Rewriter& r, size_t x, size_t scale, size_t zero);
/// Replaces output 0 by QuantizeLinear of `y` with the scale and zero point of those inputs, and removes the node.
/// Without a zero point, the result has the type of input 0.
void store_codes(Rewriter& r, ValueId y, size_t scale, size_t zero);
/// The reduction `type` of x along the attribute axes, which must be given.
ValueId reduced(Rewriter& r, std::string_view type, ValueId x);
/// Input i, or none if it is omitted.
inline ValueId input_or_none(Rewriter& r, size_t i) { return r.has(i) ? r.input(i) : ValueId::none; }

/// [N, C, …] to [N, …, C] and back. `rank` is that of `x`; without it, the model computes the shapes.
ValueId channels_last(Rewriter& r, ValueId x, std::optional<size_t> rank);
ValueId channels_first(Rewriter& r, ValueId x, std::optional<size_t> rank);
/// Transposes the last two axes.
ValueId transposed(Rewriter& r, ValueId x, size_t rank);

}  // namespace retort
