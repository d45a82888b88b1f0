// A bound session of a model with inputs of floats, for programs that measure its runs.
#pragma once
#include <algorithm>
#include <retort/retort.hpp>
#include <vector>

namespace retort::bench {

/// Binds each input to floats of 0.5, with symbolic extents of 1, and each output to memory of the host, which the engine
/// makes. The binding keeps the memory of the inputs.
inline api::IoBinding bound_floats(api::Session& session) {
  api::IoBinding binding(session);
  for (const api::Port& port : session.inputs()) {
    std::vector<int64_t> shape = port.tensor.shape;
    std::replace(shape.begin(), shape.end(), int64_t(-1), int64_t(1));
    api::Value value = api::Value::tensor<float>(shape);
    std::ranges::fill(value.data<float>(), 0.5f);
    binding.input(port.name.c_str(), value);
  }
  for (const api::Port& port : session.outputs()) binding.output(port.name.c_str(), api::MemoryInfo::cpu());
  return binding;
}

}  // namespace retort::bench
