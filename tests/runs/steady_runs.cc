// Checks any model: a bound run with unchanged shapes allocates and copies nothing, with memory of the caller and with
// memory that the binding keeps; and the outputs have the same bits for any number of threads.
//
//   steady_runs LIBRARY MODEL FOLDER THREADS...      FOLDER holds input_0.pb, input_1.pb, …; THREADS: inside operators, "1+4":
//                                                    and for branches
//
// Prints one line "ALLOCATIONS<tab>COPIED<tab>BITS": heap allocations of a run (the maximum over all numbers of threads
// and both kinds of memory; "-" if this build does not count them), bytes that a run copied (likewise), and "same" or
// the difference. The exit code is 0 unless a run failed.
#define RETORT_API_DLOPEN
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <retort/retort.hpp>

#include "measure/allocations.h"
#include "value.h"

namespace {

namespace api = retort::api;
namespace conformance = retort::conformance;

constexpr int kWarmRuns = 3, kCountedRuns = 4;

struct Input {
  conformance::Value data;
  api::Value value;  // points into `data`
};

std::vector<Input> read_inputs(const std::filesystem::path& folder) {
  std::vector<Input> inputs;
  for (size_t i = 0; std::filesystem::exists(folder / ("input_" + std::to_string(i) + ".pb")); ++i) {
    const auto path = folder / ("input_" + std::to_string(i) + ".pb");
    inputs.push_back({conformance::read_value(path, conformance::FileKind::tensor), {}});
  }
  for (Input& in : inputs) {
    conformance::Value& d = in.data;
    in.value = d.elem == conformance::Elem::string
                   ? api::Value::strings(d.strings, d.dims)
                   : api::Value::wrap(api::MemoryInfo::cpu(), d.bytes.data(), d.bytes.size(), d.dims,
                                      ONNXTensorElementDataType(int(d.elem)));
  }
  return inputs;
}

/// Shape and bytes of a tensor, so that equal texts mean equal tensors; "" for strings and for values that are not
/// tensors.
std::string bits(const api::Value& value) {
  if (!value.is_tensor()) return {};
  const api::TensorType type = value.type();
  if (type.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) return {};
  std::string text(reinterpret_cast<const char*>(type.shape.data()), type.shape.size() * sizeof(int64_t));
  const size_t bytes = conformance::bytes_of(conformance::Elem(int(type.type)), value.count());
  return bytes ? text.append(static_cast<const char*>(value.raw()), bytes) : text;
}

struct Cost {
  uint64_t allocations = 0, copied = 0;  // of one run
  void raise(const Cost& other) {
    allocations = std::max(allocations, other.allocations);
    copied = std::max(copied, other.copied);
  }
};

struct Result {
  Cost cost;
  std::map<std::string, std::string> outputs;
};

/// The costs of a run that is the same as the runs before it.
Cost steady_cost(const api::Session& session, api::IoBinding& binding) {
  const bool counted = retort::cli::allocations_are_counted();  // otherwise a single run into the same memory suffices
  for (int i = 0; counted && i < kWarmRuns; ++i) binding.run();
  const uint64_t copied = session.copied_bytes().value(), before = retort::cli::allocations();
  for (int i = 0; i < (counted ? kCountedRuns : 1); ++i) binding.run();
  return {.allocations = (retort::cli::allocations() - before + kCountedRuns - 1) / kCountedRuns,
          .copied = session.copied_bytes().value() - copied};
}

Result run(const api::Env& env, const char* model, std::vector<Input>& inputs, const std::string& threads) {
  api::SessionOptions options;
  options.threads(std::stoi(threads));
  if (const size_t plus = threads.find('+'); plus != std::string::npos)
    options.parallel(std::stoi(threads.substr(plus + 1)));
  api::Session session(env, model, options);
  api::IoBinding binding(session);
  for (const Input& in : inputs) binding.input(in.data.name.c_str(), in.value);
  const api::MemoryInfo cpu = api::MemoryInfo::cpu();
  const auto ports = session.outputs();
  for (const api::Port& out : ports) binding.output(out.name.c_str(), cpu);
  Result result;
  result.cost = steady_cost(session, binding);
  const std::vector<api::Value> made = binding.outputs();
  for (size_t i = 0; i < ports.size(); ++i) {
    if (made[i].is_tensor()) binding.output(ports[i].name.c_str(), made[i]);
  }
  result.cost.raise(steady_cost(session, binding));
  for (size_t i = 0; i < ports.size(); ++i) result.outputs[ports[i].name] = bits(made[i]);
  return result;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 5) {
    std::fprintf(stderr, "usage: steady_runs LIBRARY MODEL FOLDER THREADS...\n");
    return 2;
  }
  api::Library::load(argv[1]);
  const api::Env env(ORT_LOGGING_LEVEL_ERROR);
  std::vector<Input> inputs = read_inputs(argv[3]);
  Cost cost;
  std::map<std::string, std::string> first;
  std::string difference = "same";
  for (int i = 4; i < argc; ++i) {
    Result result = run(env, argv[2], inputs, argv[i]);
    cost.raise(result.cost);
    if (i == 4) first = std::move(result.outputs);
    for (const auto& [name, text] : result.outputs) {
      if (i > 4 && text != first[name]) difference = "output '" + name + "' with " + argv[i] + " threads";
    }
  }
  std::printf("%s\t%llu\t%s\n", retort::cli::allocations_are_counted() ? std::to_string(cost.allocations).c_str() : "-",
              static_cast<unsigned long long>(cost.copied), difference.c_str());
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "FAIL %s\n", e.what());
  return 1;
}
