// Sparse tensors of the model as dense ones.
#pragma once
#include "tensor/tensor.h"

namespace retort {

/// COO with linear or per-axis indices. Throws invalid_graph on indices that leave the shape.
Tensor dense(const SparseTensor& sparse);

}  // namespace retort
