// Gelu: x · Φ(x), exactly by erf or approximated by tanh.
#include "ops/nn/common/gelu.h"
#include "ops/nn/common/activation_op.h"

namespace retort::ops {
namespace {

struct Gelu : ActivationOp<Gelu> {
  std::string approximate = "none";
  static constexpr std::tuple attributes{attr("approximate", &Gelu::approximate)};

  void check() const {
    require(approximate == "none" || approximate == "tanh", ErrorCode::invalid_argument, "approximate is '{}'",
            approximate);
  }
  template <typename T>
  T apply(T x) const {
    return approximate == "none" ? gelu_erf(x) : gelu_tanh(x);
  }
  void kernel(std::span<const float> x, std::span<float> y, const Parallel& par) const {
    activate(approximate == "none" ? kernels::Activation::Kind::gelu_erf : kernels::Activation::Kind::gelu_tanh, x, y,
             par);
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
