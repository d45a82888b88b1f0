#include "ops/op_test.h"

namespace retort::ops {
namespace {

const OpTest sparse_to_dense_matmul("SparseToDenseMatMul", {},
                                    {.domain = "com.microsoft",
                                     .own_test = "SparseInput in session/engine_tests/sparse_test.cc"});

}  // namespace
}  // namespace retort::ops
