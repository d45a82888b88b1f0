// Gelu: x · Φ(x), exactly by erf or approximated by tanh.
#include "ops/nn/common/gelu.h"
#include "ops/elementwise.h"

namespace retort::ops {
namespace {

struct Gelu : UnaryElementwise {
  std::string approximate = "none";
  static constexpr std::tuple attributes{attr("approximate", &Gelu::approximate)};

  void check() const {
    require(approximate == "none" || approximate == "tanh", ErrorCode::invalid_argument, "approximate is '{}'",
            approximate);
  }
  template <std::floating_point T>
  void reference(RunContext& c) const {
    const auto x = c.input<T>(0);
    const auto y = c.output<T>();
    const bool exact = approximate == "none";
    for (size_t i = 0; i < x.size(); ++i) y[i] = exact ? gelu_erf(x[i]) : gelu_tanh(x[i]);
  }
};

}  // namespace

extern const OpDef op_gelu;
constinit const OpDef op_gelu = define<Gelu>({
    .name = "Gelu",
    .since = {20},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
