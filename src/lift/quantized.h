// What rules for operators on codes share: the numbers that codes stand for, and the order of axes.
#pragma once
#include "base/error.h"
#include "lift/rewriter.h"
#include "ops/infer.h"

namespace retort {

/// DequantizeLinear of input `x` with one scale and one zero point, which may be omitted. Throws invalid_graph where
/// `x` is of a float type, and where scale or zero point are known to have more than one element.
ValueId real_numbers(Rewriter& r, size_t x, size_t scale, size_t zero);
/// Output 0 becomes QuantizeLinear of `y` with the scale and zero point of those inputs, and the node is removed.
/// Without a zero point the codes have the type of input 0.
void store_codes(Rewriter& r, ValueId y, size_t scale, size_t zero);
/// Throws invalid_graph where input i is known to have more than one element.
void require_one(Rewriter& r, size_t i, std::string_view what);
/// Input i, or none where it is omitted.
inline ValueId input_or_none(Rewriter& r, size_t i) { return r.has(i) ? r.input(i) : ValueId::none; }

/// [N, C, …] to [N, …, C] and back; `rank` is that of `x`.
ValueId channels_last(Rewriter& r, ValueId x, size_t rank);
ValueId channels_first(Rewriter& r, ValueId x, size_t rank);
/// The last two axes change places.
ValueId transposed(Rewriter& r, ValueId x, size_t rank);

}  // namespace retort
