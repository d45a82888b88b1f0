// How kernels/rows.cuh is compiled and launched for rows of one length.
#pragma once
#include "reductions.h"

namespace providers::cuda {

struct RowPlan {
  Defines defines;  ///< STORED, WIDE, THREADS, PACKS
  Grid grid;
};
RowPlan plan_rows(const Emitter& e, Type type, int64_t rows, int64_t length);
/// One launch of norm_rows in kernels/norm.cu. Operands without a buffer are omitted.
struct RowNorm {
  Operand x, skip, bias, scale, shift, y, mean, inverse, sum;
  Operand ids[3];  ///< numbers of the rows that x, skip and bias contribute
  int64_t rows = 0, length = 0;
  int64_t x_rows = 0, skip_rows = 1, bias_rows = 1;
  int64_t groups = 1, area = 0;  ///< area 0: scale and shift have an element for each of a row
  float epsilon = 0;
  bool centred = true;
  Type statistic = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;  ///< of mean and inverse
};
void launch_norm(Emitter& e, const RowNorm& norm);

// Parts of add_norms.
void add_layer_norms(Kinds& kinds);
void add_channel_norms(Kinds& kinds);
void add_other_norms(Kinds& kinds);

}  // namespace providers::cuda
