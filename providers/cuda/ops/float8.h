// Products of which both factors are float8 numbers: what models have as DequantizeLinear or Cast before MatMul and Gemm.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "cuda/core/operators.h"

namespace providers::cuda {

/// The codes that a product's inputs are made of.
struct Float8Factors {
  const Value *a = nullptr, *b = nullptr;  ///< codes; b is a matrix
  const Value *scale_a = nullptr,
              *scale_b = nullptr;  ///< one number, or one for each column of the product; null: none
  Type type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;  ///< of the numbers, and of the product
  bool exchanged_b = false;                             ///< a Transpose exchanges the axes of b
  const Node* after = nullptr;                          ///< a Reshape that gives the result the leading axes of `a`
  std::vector<const Node*> makers;                      ///< nodes that vanish with this product
  size_t hidden = 0;                                    ///< how many of them, the first ones, must vanish
};

/// Whether a Gemm between two Reshapes is the product of `x`, which the first makes a matrix, with all its leading axes:
/// ONNX Runtime makes it of MatMul and Add.
bool undoes(const Value* x, const Node& before, const Node& after);

/// The products of a part that cuBLASLt can make of float8 numbers, if the GPU has such products.
class Float8Products {
 public:
  explicit Float8Products(Fusing& f);
  /// Nothing for other nodes.
  std::optional<Float8Factors> of(const Node* product) const;

 private:
  void look_through(Float8Factors& factors, const Node& product) const;
  std::optional<Float8Factors> factors(const Node& product) const;
  const Node* codes_before(const Value* value) const;
  const Node* maker_here(const Value* value, const char* type) const;
  bool vanishes(const Node* maker) const;
  void drop_shared();
  void divide_makers();

  Fusing& f_;
  std::set<const Node*> here_;
  std::map<const Node*, Float8Factors> found_;
};

/// Whether a product of float8, with a result of type `from`, can make the codes of this QuantizeLinear itself.
bool makes_codes(const Node& quantize, Type from);
/// The number of 1 / scale, which is constant, in float32.
int number_of_inverse(Builder& builder, const Value* scale);
/// The number of a scale in float32; -1 for null.
int number_of_scale(Builder& builder, const Value* scale);

}  // namespace providers::cuda
