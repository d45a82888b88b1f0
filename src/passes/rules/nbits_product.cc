// A product by constant codes of 4 or 8 bits, whose other side has floats: MatMulNBits reads the codes, while
// DequantizeLinear would make floats of them in every run. Speeds up models whose weights alone are quantised.
//
// Where ONNX Runtime does so unless session.qdq_matmulnbits_accuracy_level is below 4, the floats are rounded to 8 bits
// block by block, in the same blocks.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/checked.h"
#include "memory/host.h"
#include "passes/codes.h"
#include "passes/pass.h"

namespace retort {
namespace {

/// B of a product and its parameters in blocks along K.
struct BlockCodes {
  const Tensor *codes, *scales, *zeros;  ///< zeros may be null
  bool turned;                           ///< the codes are [N, K], and so are the parameters of blocks
  bool by_block;                         ///< else there is one parameter per column, or for all
  size_t k, n, block;

  size_t blocks() const { return ceil_div(k, block); }
  size_t bits() const { return is_packed(codes->dtype()) ? 4 : 8; }
  /// What inverts the sign bit of signed codes, and so makes them unsigned.
  uint8_t flip() const {
    const bool is_signed = codes->dtype() == DType::i8 || codes->dtype() == DType::i4;
    return uint8_t(is_signed ? 1 << (bits() - 1) : 0);
  }
  uint8_t unsigned_code(const Tensor& t, size_t i) const {
    const auto* bytes = static_cast<const uint8_t*>(t.data());
    return uint8_t((bits() == 8 ? bytes[i] : bytes[i / 2] >> (i % 2 * 4) & 0xf) ^ flip());
  }
  size_t parameter(size_t b, size_t column) const {
    if (!by_block) return scales->count() == 1 ? 0 : column;
    return turned ? column * blocks() + b : b * n + column;
  }
  uint8_t zero(size_t b, size_t column) const { return zeros ? unsigned_code(*zeros, parameter(b, column)) : flip(); }
};

/// `usual` is the block of codes that have no parameters of blocks.
std::optional<BlockCodes> block_codes(const Graph& g, ValueId v, bool turned, uint64_t usual) {
  const Node* n = producer_of(g, v, "DequantizeLinear");
  if (!n || !is_float32(g, v) || !is_float32(g, n->inputs[1])) return std::nullopt;
  BlockCodes b{g.constant(n->inputs[0]), g.constant(n->inputs[1]), nullptr, turned, false, 0, 0, 0};
  if (n->input(2) != ValueId::none && !(b.zeros = g.constant(n->inputs[2]))) return std::nullopt;
  constexpr DType kTypes[] = {DType::i8, DType::u8, DType::i4, DType::u4};
  if (!b.codes || !b.scales || b.codes->shape().rank() != 2 || !std::ranges::count(kTypes, b.codes->dtype()) ||
      b.codes->count() == 0)
    return std::nullopt;
  const size_t k_axis = turned ? 1 : 0;
  b.k = size_t(b.codes->shape()[k_axis]);
  b.n = size_t(b.codes->shape()[1 - k_axis]);
  const auto block = uint64_t(n->attributes.get_or<int64_t>("block_size", 0));
  constexpr uint64_t kLeast = 16, kMost = 256;
  const bool usable = std::has_single_bit(block) && block >= kLeast && block <= kMost;
  const bool whole = block >= b.k && !usable;  // one block is as long as a column
  b.by_block = block > 0 && !whole;
  // One scale has no axis: the attribute may have any value then.
  const bool single = block == 0 && b.scales->count() == 1;
  const size_t axis = single ? 1 - k_axis : normalize_axis(n->attributes.get_or<int64_t>("axis", 1), 2);
  b.block = size_t(b.by_block ? block : std::clamp(std::bit_ceil(uint64_t(b.k)), kLeast, usual));
  if ((block > 0) != (axis == k_axis) || (b.by_block && !usable)) return std::nullopt;
  const size_t wanted = b.by_block ? b.blocks() * b.n : single ? 1 : b.n;
  if (b.scales->count() != wanted || (b.zeros && b.zeros->count() != wanted)) return std::nullopt;
  return b;
}

/// Sets code i of a row of codes.
inline void put(uint8_t* row, size_t bits, size_t i, uint8_t code) {
  if (bits == 8)
    row[i] = code;
  else
    row[i / 2] = uint8_t(row[i / 2] | code << (i % 2 * 4));
}

/// Turns a matrix, in blocks whose lines stay in the first-level cache. From one row of `to` to the next are `stride`
/// elements.
template <typename T>
void turn(const T* from, size_t rows, size_t columns, T* to, size_t stride) {
  constexpr size_t kHeight = 16, kWidth = 64;
  for (size_t j0 = 0; j0 < columns; j0 += kWidth) {
    for (size_t i0 = 0; i0 < rows; i0 += kHeight) {
      const size_t height = std::min(kHeight, rows - i0);
      for (size_t j = j0; j < std::min(j0 + kWidth, columns); ++j)
        for (size_t i = 0; i < height; ++i) to[j * stride + i0 + i] = from[(i0 + i) * columns + j];
    }
  }
}

/// Pairs of 4-bit codes of two rows, one byte for each column: those of even columns, and of odd ones.
template <typename Word>
void pair_codes(const uint8_t* first, const uint8_t* second, uint8_t* even, uint8_t* odd) {
  constexpr auto kLow = Word(0x0f0f0f0f0f0f0f0f);
  Word a, b;
  std::memcpy(&a, first, sizeof a);
  std::memcpy(&b, second, sizeof b);
  const auto low = Word((a & kLow) | (b & kLow) << 4), high = Word((a >> 4 & kLow) | (b & Word(~kLow)));
  std::memcpy(even, &low, sizeof low);
  std::memcpy(odd, &high, sizeof high);
}

/// Those of rows of `n` bytes.
void pair_rows(const uint8_t* first, const uint8_t* second, size_t n, uint8_t* even, uint8_t* odd) {
  size_t j = 0;
  for (; j + sizeof(uint64_t) <= n; j += sizeof(uint64_t))
    pair_codes<uint64_t>(first + j, second + j, even + j, odd + j);
  for (; j < n; ++j) pair_codes<uint8_t>(first + j, second + j, even + j, odd + j);
}

/// Turns 4-bit codes [2 · pairs, 2 · n], some rows at a time.
void turn_nibbles(const uint8_t* codes, size_t pairs, size_t n, uint8_t* to, size_t stride) {
  constexpr size_t kPairs = 16;
  std::vector<uint8_t> even(kPairs * n), odd(kPairs * n);
  for (size_t i0 = 0; i0 < pairs; i0 += kPairs) {
    const size_t some = std::min(kPairs, pairs - i0);
    for (size_t i = 0; i < some; ++i, codes += 2 * n) pair_rows(codes, codes + n, n, &even[i * n], &odd[i * n]);
    turn(even.data(), some, n, to + i0, 2 * stride);
    turn(odd.data(), some, n, to + stride + i0, 2 * stride);
  }
}

void flip_bytes(uint8_t* to, size_t n, uint8_t flip) {
  const uint64_t eight = flip * uint64_t(0x0101010101010101);
  size_t i = 0;
  for (uint64_t word; i + sizeof word <= n; i += sizeof word) {
    std::memcpy(&word, to + i, sizeof word);
    word ^= eight;
    std::memcpy(to + i, &word, sizeof word);
  }
  for (; i < n; ++i) to[i] ^= flip;
}

/// Writes the codes of each column to a row.
void put_columns(const BlockCodes& b, uint8_t* to, size_t row_bytes) {
  const auto* const codes = static_cast<const uint8_t*>(b.codes->data());
  const size_t bits = b.bits(), k = b.k, n = b.n, bytes = k * bits / 8;
  const bool whole = k * bits % 8 == 0;
  if (whole && b.turned) {
    for (size_t j = 0; j < n; ++j) std::copy_n(codes + j * bytes, bytes, to + j * row_bytes);
  } else if (whole && bits == 8) {
    turn(codes, k, n, to, row_bytes);
  } else if (whole && n % 2 == 0) {
    turn_nibbles(codes, bytes, n / 2, to, row_bytes);
  } else {
    for (size_t j = 0; j < n; ++j)
      for (size_t i = 0; i < k; ++i)
        put(to + j * row_bytes, bits, i, b.unsigned_code(*b.codes, b.turned ? j * k + i : i * n + j));
    return;
  }
  const auto flip = uint8_t(bits == 8 ? b.flip() : b.flip() * 0x11);
  for (size_t j = 0; j < n && flip != 0; ++j) flip_bytes(to + j * row_bytes, bytes, flip);
}

Tensor zeroed(DType type, const Shape& shape) {
  Tensor t = new_constant(type, shape);
  std::fill_n(t.mutable_data<uint8_t>(), t.bytes(), uint8_t(0));
  return t;
}

Tensor packed_codes(const BlockCodes& b) {
  const size_t row_bytes = b.block * b.bits() / 8;
  Tensor codes = zeroed(DType::u8, {int64_t(b.n), int64_t(b.blocks()), int64_t(row_bytes)});
  put_columns(b, codes.mutable_data<uint8_t>(), b.blocks() * row_bytes);
  return codes;
}

Tensor scales_of_columns(const BlockCodes& b, float factor) {
  Tensor scales(DType::f32, {int64_t(b.n), int64_t(b.blocks())});
  float* const to = scales.mutable_data<float>();
  if (b.by_block && !b.turned) {
    turn(b.scales->data<float>(), b.blocks(), b.n, to, b.blocks());
  } else {
    for (size_t j = 0; j < b.n; ++j)
      for (size_t i = 0; i < b.blocks(); ++i) to[j * b.blocks() + i] = b.scales->at<float>(b.parameter(i, j));
  }
  for (size_t i = 0; factor != 1 && i < scales.count(); ++i) to[i] *= factor;
  return scales;
}

/// Nullopt: all are half of the range, as MatMulNBits has it without zero points.
std::optional<Tensor> zeros_of_columns(const BlockCodes& b) {
  if (!b.zeros && b.flip() != 0) return std::nullopt;
  const size_t bytes = ceil_div(b.blocks() * b.bits(), size_t(8));
  Tensor zeros = zeroed(DType::u8, {int64_t(b.n), int64_t(bytes)});
  for (size_t j = 0; j < b.n; ++j)
    for (size_t i = 0; i < b.blocks(); ++i) put(zeros.mutable_data<uint8_t>() + j * bytes, b.bits(), i, b.zero(i, j));
  return zeros;
}

/// Whether ONNX Runtime (1.32) makes MatMulNBits of the product by `v`. It does so if nothing else reads the matrix, and
/// the codes are [K, N], their axis counted from the first, or a Transpose turns them that it moves in front of
/// DequantizeLinear; it computes others in floats.
bool is_rounded(const Graph& g, ValueId v, const BlockCodes& b, const Node* transpose) {
  if (!used_once(g, v)) return false;
  if (transpose) return used_once(g, transpose->inputs[0]) && b.turned && !b.by_block && (b.bits() == 8 || b.zeros);
  const bool counted_from_last = producer_of(g, v, "DequantizeLinear")->attributes.get_or<int64_t>("axis", 1) < 0;
  return !b.turned && (!counted_from_last || (!b.by_block && b.scales->count() == 1));
}

template <bool kRounded>
std::optional<Patch> match_nbits_product(const Graph& g, const Node& n) {
  const bool gemm = n.type == "Gemm";
  const auto is = [&](const char* name, auto wanted) {
    return n.attributes.get_or<decltype(wanted)>(name, wanted) == wanted;
  };
  const ValueId a = n.inputs[0], c = n.input(2);
  const float alpha = gemm ? n.attributes.get_or<float>("alpha", 1) : 1;  // becomes a part of the scales
  // A larger or smaller one might take scales, or sums that it is multiplied by, out of the range of floats.
  constexpr float kLargest = 0x1p32f;
  if ((kRounded && alpha != 1) || !(std::abs(alpha) <= kLargest && std::abs(alpha) >= 1 / kLargest))
    return std::nullopt;
  if (gemm && !((c == ValueId::none || is("beta", 1.0f)) && is("transA", int64_t(0)))) return std::nullopt;
  const Shape* a_shape = shape_of(g, a);
  if (!is_float32(g, a) || !a_shape || a_shape->rank() < 2 || codes_of(g, a)) return std::nullopt;
  constexpr uint64_t kUsual = kRounded ? 32 : 128;
  const Node* transpose = producer_of(g, n.inputs[1], "Transpose");
  if (transpose && ints_attribute(*transpose, "perm") == std::vector<int64_t>{0, 1}) return std::nullopt;
  const bool turned = (gemm && n.attributes.get_or<int64_t>("transB", 0) != 0) != (transpose != nullptr);
  const auto b = block_codes(g, transpose ? transpose->inputs[0] : n.inputs[1], turned, kUsual);
  if (!b || (kRounded && !is_rounded(g, n.inputs[1], *b, transpose))) return std::nullopt;
  if (c != ValueId::none) {
    const Shape* shape = shape_of(g, c);
    if (!shape || *shape != Shape{int64_t(b->n)}) return std::nullopt;
  }
  Patch p(g);
  std::vector<ValueId> inputs = {a, p.constant(packed_codes(*b), "codes"),
                                 p.constant(scales_of_columns(*b, alpha), "scales")};
  std::optional<Tensor> zeros = zeros_of_columns(*b);
  inputs.push_back(zeros ? p.constant(*std::move(zeros), "zeros") : ValueId::none);
  if (c != ValueId::none) inputs.insert(inputs.end(), {ValueId::none, c});
  Attributes attributes;
  attributes.set("K", int64_t(b->k));
  attributes.set("N", int64_t(b->n));
  attributes.set("bits", int64_t(b->bits()));
  attributes.set("block_size", int64_t(b->block));
  if constexpr (kRounded) attributes.set("accuracy_level", int64_t(4));
  p.replace(n.outputs[0], p.add({.type = "MatMulNBits",
                                 .inputs = std::move(inputs),
                                 .attributes = std::move(attributes),
                                 .domain = "com.microsoft"}));
  p.covers(n.id);
  return p;
}

constexpr Rule kNBitsProductRules[] = {
    {"rounded_gemm", "Gemm", match_nbits_product<true>, {RuleStage::rounded_products}},
    {"rounded_matmul", "MatMul", match_nbits_product<true>, {RuleStage::rounded_products}},
    {"nbits_gemm", "Gemm", match_nbits_product<false>, {RuleStage::quantized}},
    {"nbits_matmul", "MatMul", match_nbits_product<false>, {RuleStage::quantized}},
};

}  // namespace

extern const Rules rules_nbits_product;
constinit const Rules rules_nbits_product{kNBitsProductRules};

}  // namespace retort
