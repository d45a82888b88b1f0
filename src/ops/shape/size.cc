// Size: the number of elements of the input, a scalar.
#include "ops/op.h"

namespace retort::ops {
namespace {

struct Size {
  void infer(InferContext& c) const {
    c.set(0, DType::i64, Shape{});
    c.set_value(0, std::array{c.dims().product(c.shape(0))});
  }
  void run(RunContext& c) const { c.output<int64_t>()[0] = int64_t(c.count(0)); }
};

}  // namespace

extern const OpDef op_size;
constinit const OpDef op_size = define<Size>({
    .name = "Size",
    .since = {1, 13, 19, 21, 23, 24, 25},
    .inputs = {"data: T"},
    .outputs = {"size: int64"},
});

}  // namespace retort::ops
