// Dropout returns its input, and a mask of ones: only training needs the operator.
#include "base/error.h"
#include "lift/rewriter.h"

namespace retort {
namespace {

bool trains(Rewriter& r) {
  if (!r.has(2)) return false;
  const Tensor* mode = r.constant_input(2);
  return !mode || (mode->dtype() == DType::boolean && mode->count() == 1 && *mode->data<bool>());
}

// Before opset 10 the mask had the type of the data.
Tensor one_of(DType type) {
  if (type == DType::boolean) {
    Tensor one(DType::boolean, {1});
    *one.mutable_data<bool>() = true;
    return one;
  }
  return float_scalar(type, 1).reshaped({1});
}

void replace(Rewriter& r, DType mask_type) {
  if (r.output_used(1)) {
    const ValueId shape = r.add({.type = "Shape", .inputs = {r.input(0)}});
    r.replace_output(
        1, r.add({.type = "ConstantOfShape", .inputs = {shape}, .attributes = {{"value", one_of(mask_type)}}}));
  }
  r.replace_output(0, r.input(0));
  r.remove();
}

void old_form(Rewriter& r) { replace(r, r.type(0).dtype); }
void new_form(Rewriter& r) {
  for (const size_t i : {1, 2})
    require(!r.has(i) || !r.type(i).ranked || r.type(i).rank() == 0, ErrorCode::invalid_argument,
            "input {} has shape {}, expected a scalar", i, r.has(i) ? r.graph().dims().text(r.type(i).shape) : "");
  if (!trains(r)) replace(r, DType::boolean);
}

constexpr LiftRule kDropoutRules[] = {{"Dropout", 10, old_form}, {"Dropout", kAlways, new_form}};

}  // namespace

extern const LiftRules lift_dropout;
constinit const LiftRules lift_dropout{kDropoutRules};

}  // namespace retort
