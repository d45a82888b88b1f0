// Conversion of sparse tensors in a model to dense ones.
#pragma once
#include "tensor/tensor.h"

namespace retort {

/// Accepts COO with linear or per-axis indices. Throws invalid_graph on indices outside the shape.
Tensor dense(const SparseTensor& sparse);

}  // namespace retort
