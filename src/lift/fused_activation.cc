#include "lift/fused_activation.h"

#include "base/error.h"

namespace retort {

ValueId activated(Rewriter& r, ValueId x, const std::string& name, const std::vector<float>& parameters) {
  const auto parameter = [&](size_t i) {
    require(i < parameters.size(), ErrorCode::invalid_graph, "activation {} needs {} activation_params, there are {}",
            name, i + 1, parameters.size());
    return parameters[i];
  };
  if (name.empty()) return x;
  if (name == "Relu" || name == "Tanh" || name == "Sigmoid" || name == "HardSwish")
    return r.add({.type = name, .inputs = {x}});
  if (name == "LeakyRelu") return r.add({.type = name, .inputs = {x}, .attributes = {{"alpha", parameter(0)}}});
  if (name == "HardSigmoid") {
    return r.add({.type = name, .inputs = {x}, .attributes = {{"alpha", parameter(0)}, {"beta", parameter(1)}}});
  }
  require(name == "Clip", ErrorCode::not_implemented, "activation {} is not supported", name);
  const DType type = r.type(0).dtype;
  return r.add(
      {.type = name,
       .inputs = {x, r.constant(float_scalar(type, parameter(0))), r.constant(float_scalar(type, parameter(1)))}});
}

}  // namespace retort
