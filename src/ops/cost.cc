#include "ops/cost.h"

#include "ops/op.h"

namespace retort {

bool CostContext::has(size_t i) const { return input(i); }
double CostContext::count(size_t i) const { return count_of(input(i)); }
double CostContext::out_count(size_t i) const { return count_of(output(i)); }
double CostContext::extent(size_t i, int axis) const { return extent_of(input(i), axis); }
double CostContext::out_extent(size_t i, int axis) const { return extent_of(output(i), axis); }

size_t CostContext::rank(size_t i) const {
  const ValueType* type = input(i);
  return type && type->ranked ? type->rank() : 0;
}

double CostContext::count_of(const ValueType* type) const {
  if (!type) return 0;
  if (!type->is_tensor() || !type->ranked) return kUnknown;
  double n = 1;
  for (const Dim d : type->shape) n *= number(d);
  return n;
}

double CostContext::extent_of(const ValueType* type, int axis) const {
  if (!type) return 0;
  const int rank = type->ranked ? int(type->rank()) : 0, at = axis < 0 ? rank + axis : axis;
  return at >= 0 && at < rank ? number(type->shape[size_t(at)]) : kUnknown;
}

Cost cost_of(const OpDef& op, const void* params, const CostContext& context) {
  if (op.cost) return op.cost(params, context);
  return {.operations = op.has(kElementwise) && !op.has(kView) ? context.out_count() : 0};
}

}  // namespace retort
