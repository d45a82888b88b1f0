// What the operators of matrix products share: how shapes become products, and how a product becomes steps.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "cuda/core/operators.h"
#include "cuda/core/products.h"

namespace providers::cuda {

/// Products of up to as many rows may have kernels of their own, which read each weight once.
constexpr int64_t kFewRows = 8;

/// The number is ACTIVATION in kernels/products.cuh.
enum class Act : int {
  none = 0,
  relu = 1,
  gelu_tanh = 2,
  gelu_erf = 3,
  tanh = 4,
  sigmoid = 5,
  leaky_relu = 6,
  elu = 7,
  hard_sigmoid = 8,
  selu = 9,
  softplus = 10,
  softsign = 11,
  thresholded_relu = 12,
  celu = 13,
  swish = 14,
  scaled_tanh = 15
};
struct Activated {
  Act act = Act::none;
  float a = 0, b = 0;
};

/// A matrix of each index of the batch axes. Steps and strides count elements; broadcasting sets strides to 0.
struct Side {
  Dims batch, strides;
  int64_t rows = 1, columns = 1, row_step = 0, column_step = 1;
};
/// The matrices of a tensor of rank 2 or more. `batch_first`: the first axis is not one of the batch but that of rows,
/// which is what transBatchA of FusedMatMul means. `transposed`: swaps rows and columns after that.
Side side_of(const Dims& dims, bool transposed, bool batch_first);

/// Products that have all strides in common: one for each of `begins`.
struct ProductSet {
  Product product;  ///< without epilogue
  struct Begin {
    int64_t a = 0, b = 0, d = 0;  ///< elements
  };
  std::vector<Begin> begins;
};
/// The products of all matrices of `a` and `b`, whose batch axes broadcast to `batch`. The results lie in row-major order,
/// or as `d` says, whose columns are adjacent. Nothing if cuBLASLt cannot describe the order of an operand.
std::optional<ProductSet> product_set(const Side& a, const Side& b, const Dims& batch, const Side* d = nullptr);

/// How sums become results: activation(alpha * sums + bias + beta * addend).
struct Ending {
  float alpha = 1, beta = 1;
  std::optional<Operand> bias;    ///< as many as D has columns
  std::optional<Operand> addend;  ///< of D's shape, in row-major order
  Activated activated;
  /// Of float8, in float32: a factor of A, and one of B or one for each of its columns. They come before alpha.
  std::optional<Operand> scale_a, scale_b;
  /// D is float8: a float32 number by which results are multiplied last, and the type of the bias.
  std::optional<Operand> scale_d;
  Type wide = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
};

/// Adds the steps of products. `d` has memory for them; an empty one needs no steps.
void emit_products(Emitter& e, const ProductSet& set, const Operand& a, const Operand& b, const Operand& d,
                   const Ending& ending);
/// The same by cuBLASLt alone; false if it cannot. Operands have their types.
bool emit_library(Emitter& e, const ProductSet& set, const Operand& a, const Operand& b, const Operand& d,
                  const Ending& ending);
/// The same for float8; float8.cc.
void emit_float8(Emitter& e, const ProductSet& set, const Operand& a, const Operand& b, const Operand& d,
                 const Ending& ending);
/// How warps share the columns of a product of few rows: columns of a warp, and warps that share them (COLUMNS and SPLIT of
/// kernels/gemv.cu). A warp reads `chunk` elements along k at once; `wanted`: warps that keep the memory busy.
struct Warps {
  int64_t columns = 1, split = 1;
};
Warps warps_for(int64_t n, int64_t k, int64_t chunk, int64_t wanted, int64_t most_columns);
/// A kernel of a file that includes products.cuh.
Kernel product_kernel(Emitter& e, const std::string& file, const std::string& entry, Defines defines, Activated act,
                      size_t shared_bytes = 0);

/// y = activated(alpha * A · B + bias + beta * addend) for MatMul, Gemm and the like, whose inputs are A and B.
struct ProductOp : public Op {
  bool transposed_a = false, transposed_b = false, batch_first_a = false, batch_first_b = false;
  bool swapped = false;  ///< the output has its last two axes swapped
  float alpha = 1, beta = 1;
  int bias = -1, addend = -1;      ///< indices of inputs; the addend's shape is broadcast with the product's
  int scale_a = -1, scale_b = -1;  ///< the same, for factors of float8
  int scale_d = -1;                ///< the same, for a result that is float8
  Type wide = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;    ///< of the bias, if the result is float8
  Type result = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;  ///< that of A, unless given
  Activated activated;
  bool tf32 = false;
  bool plain_matrices = false;  ///< Gemm: A and B have two axes

  void emit(Emitter& e) const override;

 private:
  void emit_spread(Emitter& e, const ProductSet& set, const Dims& dims) const;
};

/// How MatMulNBits multiplies; all but `any`, and numbers other than 0, are for measurements.
struct NBitsForm {
  enum Kind : int {
    any,
    few,    ///< nbits_gemv
    cores,  ///< nbits_cores
    lanes,  ///< nbits_lanes
    many    ///< the codes become elements, then cuBLASLt
  };
  Kind kind = any;
  int64_t tiles = 0, split = 0;  ///< TILES and SPLIT of the kernels by tensor cores
};
/// MatMulNBits: inputs are A, the codes, scales, zero points or nothing, nothing, and a bias or nothing; `columns` of
/// each output, whose weights lie one after the other.
std::unique_ptr<Op> nbits_op(int64_t k, std::vector<int64_t> columns, int64_t bits, int64_t block, bool tf32,
                             NBitsForm form = {});

/// MatMulInteger and the nodes after it that make numbers of its sums.
struct ScaledCodes {
  const Value *a_scale = nullptr, *b_scale = nullptr, *bias = nullptr, *out = nullptr;
};
std::unique_ptr<Op> scaled_codes_op(const Node& node, Builder& builder, const ScaledCodes& scaled);
/// Adds the steps of DynamicQuantizeLinear. `codes` may have no memory: only scale and zero point are expected.
void emit_dynamic_codes(Emitter& e, const Operand& x, const Operand& codes, const Operand& scale, const Operand& zero);

void fuse_siblings(Fusing& f);         ///< fuse_siblings.cc
void fuse_nbits(Fusing& f);            ///< fuse_nbits.cc
void fuse_codes(Fusing& f);            ///< dynamic_codes.cc
void add_code_products(Kinds& kinds);  ///< products_codes.cc
void add_dynamic_codes(Kinds& kinds);  ///< dynamic_codes.cc
void fuse_blocked_codes(Fusing& f);    ///< blocked_codes.cc
void add_blocked_codes(Kinds& kinds);  ///< blocked_codes.cc: constants; after add_blocked, which takes the rest
/// The number that has these bits as a float16.
float half_to_float(uint16_t bits);
void add_einsum(Kinds& kinds);  ///< products_einsum.cc

/// Whether A has at most kFewRows rows, or an unknown number.
bool may_be_few(const Value* a);
/// A matrix with both axes exchanged.
std::vector<char> exchanged_matrix(const TensorView& view);
/// The number of B, a matrix that is multiplied by A. A constant is stored with both axes exchanged, and `transposed`
/// changes, where that is faster: rows that are not whole multiples of 16 bytes make any product slow, and products of few
/// rows read n x k faster than k x n.
int number_of_weights(Builder& builder, const Value* a, const Value* b, bool& transposed);
/// "" if cuBLASLt or a kernel multiplies matrices of the type.
std::string refuses_product_type(const Value* value);
/// The activation of FusedGemm; nothing for one that is not known.
std::optional<Activated> activation_of(const std::string& name, float alpha, float beta, float gamma);

}  // namespace providers::cuda
