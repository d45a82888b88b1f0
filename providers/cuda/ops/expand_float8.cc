// GemmFloat8 of com.microsoft: Y = scaleY * activation(alpha * scaleA * A * scaleB * B + beta * C). Products of float8
// are those of float8.cc where it can make them, since Gemm reads the numbers of codes here.
#include "elementwise.h"
#include "expand.h"

namespace providers::cuda {
namespace {

constexpr Type kFloat = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;

bool is_wide(Type type) {
  return type == kFloat || type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16 ||
         type == ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16;
}
Type result_type(const Node& n) { return Type(n.integer("dtype", kFloat)); }

// Results of 16 bits are made in their type, unless there is more to do with the sums than the product's kernel does.
Type computed(const Node& n) {
  const Type to = result_type(n);
  const bool codes = is_float8(n.input(0)->type) && is_float8(n.input(1)->type);
  const bool same = n.input(0)->type == to && n.input(1)->type == to;
  return is_wide(to) && !n.input(5) && (codes || same) ? to : kFloat;
}

const Value* cast(Expansion& e, const Value* x, Type to) {
  return x->type == to ? x : e.add({"Cast"}, {x}, to, x, {{"to", int64_t(to)}});
}

// A factor as numbers of type `to`.
const Value* numbers(Expansion& e, size_t i, size_t scale, Type to) {
  const Value *const x = e.of().input(i), *const factor = e.of().input(scale);
  if (!factor) return cast(e, x, to);
  if (is_float8(x->type)) return e.add({"DequantizeLinear"}, {x, factor}, to, x);
  return cast(e, e.add({"Mul"}, {cast(e, x, kFloat), factor}, kFloat, x), to);
}

void gemm(Expansion& e) {
  const Node& n = e.of();
  const Type to = computed(n), out = result_type(n);
  const float beta = n.number("beta", 0);
  const Value* const added = beta != 0 && n.input(2) ? cast(e, n.input(2), to) : nullptr;
  const Expansion::Given given{{"alpha", n.number("alpha", 1)},
                               {"beta", beta},
                               {"transA", n.integer("transA", 0)},
                               {"transB", n.integer("transB", 0)}};
  const Value *const a = numbers(e, 0, 3, to), *const b = numbers(e, 1, 4, to);
  const std::string function = n.string("activation", "");
  const bool activates = function == "RELU" || function == "GELU", more = n.input(5) || to != out;
  const auto add = [&](const Expansion::Form& form, const std::vector<const Value*>& in, const Expansion::Given& with,
                       bool last) {
    if (!last) return e.add(form, in, to, n.out[0], with);
    e.make(form, in, {n.out[0]}, with);
    return n.out[0];
  };
  const Value* y = add({"Gemm", 13}, {a, b, added}, given, !activates && !more);
  if (function == "RELU") y = add({"Relu"}, {y}, {}, !more);
  if (function == "GELU") y = add({"Gelu"}, {y}, {{"approximate", std::string("tanh")}}, !more);
  if (n.input(5)) y = add({"Mul"}, {y, n.input(5)}, {}, to == out);
  if (to != out) e.make({"Cast"}, {y}, {n.out[0]}, {{"to", int64_t(out)}});
}

std::string refuses(const Node& n) {
  for (const size_t i : {0, 1, 2}) {
    const Value* const x = n.input(i);
    if (x ? !is_wide(x->type) && (i == 2 || !is_float8(x->type)) : i < 2)
      return text("input ", i, " is ", x ? name_of(x->type) : "omitted");
  }
  for (const size_t i : {3, 4, 5})
    if (const Value* const scale = n.input(i);
        scale &&
        (scale->type != kFloat || !scale->fixed() || scale->rank() > 1 || (scale->rank() == 1 && scale->dims[0] != 1)))
      return text("input ", i, ", a scale, is not one float32");
  const Type to = result_type(n);
  if (!is_wide(to) && !is_float8(to)) return text("dtype is ", name_of(to));
  const std::string function = n.string("activation", "");
  return function.empty() || function == "NONE" || function == "RELU" || function == "GELU"
             ? ""
             : text("activation '", function, "' is not known");
}

}  // namespace

void expand_float8(Kinds& kinds) { kinds[{"com.microsoft", "GemmFloat8"}] = expanded(refuses, gemm); }

}  // namespace providers::cuda
