// Not: negation of booleans.
#include "kernels/elementwise/logic.h"
#include "ops/math/unary.h"

namespace retort::ops {
namespace {

struct Not {
  void infer(InferContext& c) const {
    infer_unary(c, DType::boolean, [](Dim x) { return is_known(x) ? std::optional<Dim>(x == 0) : std::nullopt; });
  }
  template <std::same_as<uint64_t> T>  // the carrier of bool
  void reference(RunContext& c) const {
    const auto x = c.input<T>(0);
    for (size_t i = 0; i < x.size(); ++i) c.output<T>()[i] = x[i] == 0;
  }
  void fast(RunContext& c, std::type_identity<bool>) const {
    kernels::logic_not(c.input<bool>(0).data(), c.output<bool>().data(), c.count(0), c.parallel());
  }
};

}  // namespace

extern const OpDef op_not;
constinit const OpDef op_not = define<Not>({
    .name = "Not",
    .since = {1},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kBool,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
