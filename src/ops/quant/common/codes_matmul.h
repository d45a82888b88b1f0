// The matrix product of codes that MatMulInteger and QLinearMatMul share.
#pragma once
#include "ops/nn/common/matrix.h"
#include "ops/quant/common/codes.h"

namespace retort::ops {

/// Matrices packed by pack_code_panels(), one after the other.
struct PackedCodes : State {
  std::shared_ptr<const void> memory;
  size_t stride = 0;  ///< bytes
};

/// Which inputs are multiplied.
struct CodesMatMul {
  size_t a, b, a_zero, b_zero;

  Shape infer(InferContext& c) const { return infer_matmul(c.dims(), c.shape(a), c.shape(b)); }
  /// Packs B where it and its zero points are constant.
  std::unique_ptr<State> prepare(PrepareContext& c) const;
  MatMulShape shape(const RunContext& c) const { return matmul_shape(c.shape(a), c.shape(b)); }
  size_t scratch(const RunContext& c) const { return Memory(c, *this, nullptr).parts.bytes(); }
  /// `y`: its data are those of the first product. `row_scale`: scales of the rows of A, or null.
  void run(const RunContext& c, kernels::CodesResult y, const ScaleFactors* row_scale = nullptr) const;
  /// Room for a number of each column, in the scratch memory.
  float* columns(const RunContext& c) const { return Memory(c, *this, c.scratch()).columns; }

 private:
  struct Memory {
    ScratchParts parts;
    int8_t* codes;
    kernels::CodeRow* rows;
    float* columns;
    char* panels;
    Memory(const RunContext& c, const CodesMatMul& op, void* base);
  };
};

}  // namespace retort::ops
