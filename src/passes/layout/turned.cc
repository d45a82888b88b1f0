// Permutations between both layouts, and constants in the other one.
#include "ops/evaluate.h"
#include "passes/layout/image_op.h"

namespace retort {

std::vector<int64_t> perm_to_last(size_t rank) {
  std::vector<int64_t> p{0};
  for (size_t i = 2; i < rank; ++i) p.push_back(int64_t(i));
  p.push_back(1);
  return p;
}

std::vector<int64_t> perm_to_first(size_t rank) {
  std::vector<int64_t> p{0, int64_t(rank) - 1};
  for (size_t i = 1; i + 1 < rank; ++i) p.push_back(int64_t(i));
  return p;
}

Tensor broadcast_to_last(const Tensor& constant, size_t rank) {
  Shape shape;
  for (size_t i = constant.shape().rank(); i < rank; ++i) shape.push_back(1);
  for (int64_t d : constant.shape()) shape.push_back(d);
  Node n;
  n.type = "Transpose";
  n.attributes.set("perm", perm_to_last(rank));
  n.outputs = {ValueId(0)};
  resolve(n);
  const Value in(constant.reshaped(shape));
  const Value* inputs[] = {&in};
  return *evaluate(n, inputs)[0].tensor();
}

}  // namespace retort
