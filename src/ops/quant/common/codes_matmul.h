// The matrix product of codes that MatMulInteger and QLinearMatMul share. Zero points and scales are a single number,
// one per row of A or column of B, or one per row or column of each matrix in a batch.
#pragma once
#include "ops/nn/common/matrix.h"
#include "ops/quant/common/codes.h"

namespace retort::ops {

/// Matrices packed by pack_code_panels(), one after the other.
struct PackedCodes : State {
  std::shared_ptr<const void> memory;
  size_t stride = 0;           ///< in bytes
  std::vector<size_t> excess;  ///< of corrected sums: where that of each matrix is in the memory
  kernels::CodesSums sums = kernels::CodesSums::exact;
};

/// The indices of the inputs.
struct CodesMatMul {
  size_t a, b, a_zero, b_zero;

  Shape infer(InferContext& c) const { return infer_matmul(c.dims(), c.shape(a), c.shape(b)); }
  /// Packs B if it and its zero points are constant. `any_a`: the sums may also saturate if A is signed.
  std::unique_ptr<State> prepare(PrepareContext& c, bool any_a = false) const;
  MatMulShape shape(const RunContext& c) const { return matmul_shape(c.shape(a), c.shape(b)); }
  size_t scratch(const RunContext& c) const { return Memory(c, *this, nullptr).parts.bytes(); }
  /// The factors by which sums are multiplied before they are quantised.
  struct Scales {
    ScaleFactors a, b;
    float y;
    /// Those of columns from `first` on: the scale of a is one of its rows' unless it is single.
    void of_columns(size_t first, std::span<float> to) const;
  };
  /// The scales in inputs `a_scale` and `b_scale`, divided by `y`. Their shapes are checked.
  Scales scales(const RunContext& c, size_t a_scale, size_t b_scale, float y) const;
  /// `y` points to the data of the first product. `scales` are needed unless the result has sums.
  void run(const RunContext& c, kernels::CodesResult y, const Scales* scales = nullptr) const;

 private:
  struct Memory {
    ScratchParts parts;
    int8_t* codes;
    kernels::CodeRow* rows;
    float* columns;
    char* panels;
    uint8_t* transposed;
    Memory(const RunContext& c, const CodesMatMul& op, void* base);
  };
};

}  // namespace retort::ops
