// StringConcat: concatenates pairs of strings, with broadcasting.
#include "ops/elementwise.h"

namespace retort::ops {
namespace {

struct StringConcat {
  void infer(InferContext& c) const {
    c.set(0, DType::string);
    c.set(0, DType::string, c.broadcast({0, 1}));
  }
  void run(RunContext& c) const {
    const auto x = c.input<std::string>(0), y = c.input<std::string>(1);
    const auto z = c.output<std::string>();
    for_each_broadcast(c.out_shape(), c.shape(0), c.shape(1),
                       [&](size_t i, size_t a, size_t b) { z[i] = x[a] + y[b]; });
  }
};

}  // namespace

extern const OpDef op_string_concat;
constinit const OpDef op_string_concat = define<StringConcat>({
    .name = "StringConcat",
    .since = {20},
    .inputs = {"X: T", "Y: T"},
    .outputs = {"Z: T"},
    .types = kString,
});

}  // namespace retort::ops
