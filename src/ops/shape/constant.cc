// Constant: a tensor from the model. The lift turns these nodes into graph constants, whichever attribute holds the
// value; the operator itself serves nodes that are folded before the lift.
#include "ops/op.h"
#include "ops/shape/common/element.h"

namespace retort::ops {
namespace {

struct Constant {
  Tensor value;
  static constexpr std::tuple attributes{required("value", &Constant::value)};

  void infer(InferContext& c) const { c.set(0, value.dtype(), value.shape()); }
  void run(RunContext& c) const { copy(value.dtype(), value.data(), c.out_data(), value.count(), c.parallel()); }
};

}  // namespace

extern const OpDef op_constant;
constinit const OpDef op_constant = define<Constant>({
    .name = "Constant",
    .since = {1, 9, 11, 12, 13, 19, 21, 23, 24, 25},
    .outputs = {"output: T"},
});

}  // namespace retort::ops
