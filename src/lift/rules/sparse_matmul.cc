// com.microsoft.SparseToDenseMatMul: the reader of the model has made a sparse initializer dense, so the node becomes a
// MatMul. A sparse matrix that the caller gives stays sparse.
#include "base/error.h"
#include "lift/rewriter.h"

namespace retort {
namespace {

ValueId turned_matrix(Rewriter& r, size_t i, const char* attribute) {
  if (r.attributes().get_or<int64_t>(attribute, 0) == 0) return r.input(i);
  return transpose(r, r.input(i), {1, 0});
}

void sparse_to_dense_matmul(Rewriter& r) {
  const ValueType a = r.type(0), b = r.type(1);
  if (a.kind == ValueType::Kind::sparse) return;
  require(a.is_tensor(), ErrorCode::invalid_graph, "A is neither a sparse tensor nor a dense one");
  require((!a.ranked || a.rank() == 2) && (!b.ranked || b.rank() == 2), ErrorCode::invalid_argument,
          "A and B have shapes {} and {}, expected matrices", r.graph().dims().text(a.shape),
          r.graph().dims().text(b.shape));
  const bool floats = a.dtype == DType::f32 || a.dtype == DType::f64;
  const float alpha = r.attributes().get_or<float>("alpha", 1);
  require(floats || alpha == 1, ErrorCode::not_implemented, "alpha {} for {}, expected 1", alpha, dtype_name(a.dtype));
  ValueId y = r.add({.type = "MatMul", .inputs = {turned_matrix(r, 0, "transA"), turned_matrix(r, 1, "transB")}});
  if (alpha != 1) y = r.add({.type = "Mul", .inputs = {y, r.constant(float_scalar(a.dtype, alpha))}});
  r.replace_output(0, y);
  r.remove();
}

constexpr LiftRule kSparseMatmulRules[] = {{"SparseToDenseMatMul", kAlways, sparse_to_dense_matmul, "com.microsoft"}};

}  // namespace

extern const LiftRules lift_sparse_matmul;
constinit const LiftRules lift_sparse_matmul{kSparseMatmulRules};

}  // namespace retort
