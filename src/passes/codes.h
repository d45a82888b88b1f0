// What rules need to know of codes: 8-bit numbers that DequantizeLinear reads and QuantizeLinear writes.
#pragma once
#include <optional>

#include "ir/patch.h"
#include "passes/match.h"

namespace retort {

/// Codes with their scale and zero point, as DequantizeLinear reads or QuantizeLinear writes them.
struct Codes {
  ValueId codes = ValueId::none, scale = ValueId::none, zero = ValueId::none;
  DType type = DType::undefined;
};

inline bool is_code_type(DType type) { return type == DType::i8 || type == DType::u8; }

/// Whether a DequantizeLinear or QuantizeLinear with the real numbers `real` has float32 numbers, constant scales and
/// zero points, and does nothing besides the formula of the first revision.
bool is_plain(const Graph& g, const Node& n, ValueId real);
/// Whether all elements have the same scale.
bool has_one_scale(const Graph& g, const Node& n);
/// What `v` was before DequantizeLinear, if it had codes of 8 bits with one scale.
std::optional<Codes> codes_of(const Graph& g, ValueId v);
/// The codes that a QuantizeLinear gives, if they have 8 bits and one scale.
std::optional<Codes> result_codes(const Graph& g, const Node& n);
/// The only result of a node whose inputs are all constant; empty if they are not, or it cannot be computed.
Tensor constant_result(const Graph& g, const Node& n);
int64_t zero_of(const Graph& g, const Codes& c);
float scale_of(const Graph& g, const Codes& c);
/// The zero point, or a constant 0.
ValueId given_zero(Patch& p, const Codes& c);

}  // namespace retort
