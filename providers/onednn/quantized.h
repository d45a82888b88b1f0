// Convolutions and products of 8-bit integers, and conversions between them and float32.
#pragma once
#include "common/quantization.h"
#include "operators.h"

namespace onednn {

struct Window;

using providers::Scale;

/// The parameters of an operation on integers, besides its first input.
struct Quantization {
  Scale x, w;
  std::shared_ptr<Weights> weights;  ///< int8
  std::shared_ptr<Weights> bias;     ///< int32, or null
  Scale y;
  DataType type = DataType::u8;  ///< of the result; s32 is not scaled
  std::vector<PostOp> post;      ///< on stored values, without their zero point
};

std::unique_ptr<Operation> quantized_convolution(const Window& window, Quantization q);
/// Weights are a matrix, transposed if `transposed`.
std::unique_ptr<Operation> quantized_product(bool transposed, Quantization q);

class Dequantize : public Operation {
 public:
  explicit Dequantize(Scale s) : scale(std::move(s)) {}
  void build(Builder& b) const override;
  const Scale scale;
};

class Quantize : public Operation {
 public:
  Quantize(Scale s, DataType t) : scale(std::move(s)), type(t) {}
  void build(Builder& b) const override;
  const Scale scale;
  const DataType type;
};

/// The constant as int8 with a matching zero point: uint8 is shifted by 128. Null for other types.
std::shared_ptr<Weights> signed_weights(Weights& w, int32_t& zero);

}  // namespace onednn
