// 8-bit codes as the inputs of an operator, their zero points and scales, and the working memory of their products.
#pragma once
#include "base/checked.h"
#include "kernels/gemm/gemm_codes.h"
#include "ops/op.h"

namespace retort::ops {

/// The codes of input i; throws invalid_argument if they do not have 8 bits.
kernels::Codes codes_of(const RunContext& c, size_t i);
kernels::Codes codes_of(const Tensor& constant);
/// Zero points of an optional input: one, or `wanted` of them. Throws invalid_argument on another number.
kernels::Codes zero_points(const RunContext& c, size_t i, size_t wanted, std::string_view what);
kernels::Codes zero_points(const Tensor* constant, size_t wanted, std::string_view what);

/// The sums of products by constant codes `w`. ONNX Runtime has instructions for unsigned codes times signed ones, in
/// which pairs saturate; other pairs of types are exact there. Its optimizer makes activations unsigned.
inline bool saturates(const PrepareOptions& options, const Tensor& w) {
  return options.saturating_sums && w.dtype() == DType::i8;
}

/// Scales of any float type: one, or `wanted` of them. Throws invalid_argument on another number.
class ScaleFactors {
 public:
  ScaleFactors(const RunContext& c, size_t i, size_t wanted, std::string_view what);
  bool single() const { return count_ == 1; }
  float operator[](size_t i) const;  ///< i may exceed the number of scales, and wraps around

 private:
  const void* data_;
  DType type_;
  size_t count_;
};

/// Describes codes in output 0 whose single zero point is input i.
kernels::CodesResult codes_result(const RunContext& c, size_t i);

/// Working memory, divided into parts that each start at a cache line. Without a base, it only computes their size.
class ScratchParts {
 public:
  explicit ScratchParts(void* base) : base_(static_cast<char*>(base)) {}
  template <typename T>
  T* take(size_t count) {
    char* at = base_ ? base_ + bytes_ : nullptr;
    const size_t size = checked_mul(count, sizeof(T), "working memory");
    bytes_ = checked_add(bytes_, checked_add(size, (64 - size % 64) % 64, "working memory"), "working memory");
    return reinterpret_cast<T*>(at);
  }
  size_t bytes() const { return bytes_; }

 private:
  char* base_;
  size_t bytes_ = 0;
};

}  // namespace retort::ops
