#include "provider_choice.h"

#include "text.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

namespace nb = nanobind;

namespace retort::python {
namespace {

// The name by which SessionOptionsAppendExecutionProvider knows a provider, where it differs from the class name
// without its end.
std::string short_name(const std::string& name) {
  static const Pairs known = {{"XnnpackExecutionProvider", "XNNPACK"}, {"AzureExecutionProvider", "AZURE"},
                              {"WebGpuExecutionProvider", "WebGPU"},   {"JsExecutionProvider", "JS"},
                              {"DmlExecutionProvider", "DML"},         {"DnnlExecutionProvider", "Dnnl"}};
  const auto found = known.find(name);
  if (found != known.end()) {
    return found->second;
  }
  constexpr std::string_view end = "ExecutionProvider";
  return name.ends_with(end) ? name.substr(0, name.size() - end.size()) : name;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

const std::vector<std::string>& all_providers() {
  static const std::vector<std::string> names = {"TensorrtExecutionProvider",
                                                 "CUDAExecutionProvider",
                                                 "MIGraphXExecutionProvider",
                                                 "OpenVINOExecutionProvider",
                                                 "DnnlExecutionProvider",
                                                 "VitisAIExecutionProvider",
                                                 "QNNExecutionProvider",
                                                 "NnapiExecutionProvider",
                                                 "VSINPUExecutionProvider",
                                                 "JsExecutionProvider",
                                                 "CoreMLExecutionProvider",
                                                 "DmlExecutionProvider",
                                                 "RknpuExecutionProvider",
                                                 "WebNNExecutionProvider",
                                                 "WebGpuExecutionProvider",
                                                 "XnnpackExecutionProvider",
                                                 "CANNExecutionProvider",
                                                 "AzureExecutionProvider",
                                                 kCpuProvider};
  return names;
}

std::vector<std::string> available_providers() {
  char** names = nullptr;
  int count = 0;
  check(api().GetAvailableProviders(&names, &count));
  std::vector<std::string> result(names, names + count);
  check(api().ReleaseAvailableProviders(names, count));
  return result;
}

void append_devices(OrtSessionOptions* handle, const ProviderRequest& request) {
  const PairPointers options(request.options);
  check(api().SessionOptionsAppendExecutionProvider_V2(handle, &env(), request.devices.data(), request.devices.size(),
                                                       options.keys.data(), options.values.data(),
                                                       options.keys.size()));
}

void append_provider(OrtSessionOptions* handle, const ProviderRequest& request) {
  if (!request.devices.empty()) {
    return append_devices(handle, request);
  }
  if (request.name == kCpuProvider) {
    return;
  }
  ProviderRequest found{request.name, devices_of(request.name), request.options};
  if (!found.devices.empty()) {
    return append_devices(handle, found);
  }
  if (!contains(available_providers(), request.name)) {
    if (contains(all_providers(), request.name)) {
      return;
    }
    throw std::runtime_error("Unknown Provider Type: " + request.name);  // the text of the official package
  }
  const PairPointers options(request.options);
  check(api().SessionOptionsAppendExecutionProvider(handle, c_text(short_name(request.name)), options.keys.data(),
                                                    options.values.data(), options.keys.size()));
}

OrtStatus* select_devices(const OrtEpDevice** devices, size_t count, const OrtKeyValuePairs* model,
                          const OrtKeyValuePairs* runtime, const OrtEpDevice** selected, size_t most,
                          size_t* selected_count, void* state) noexcept {
  return with_python("the provider selection delegate", [&] {
    nb::list views;
    for (size_t i = 0; i < count; ++i) {
      views.append(EpDevice{devices[i]});
    }
    nb::object chosen = static_cast<Callback*>(state)->function(views, pairs_of(model), pairs_of(runtime), most);
    const size_t number = nb::len(chosen);
    if (number > most) {
      throw Error(ORT_INVALID_ARGUMENT, "no exception, but returned " + std::to_string(number) + " devices; at most " +
                                            std::to_string(most) + " can be selected");
    }
    for (size_t i = 0; i < number; ++i) {
      selected[i] = nb::cast<EpDevice>(chosen[i]).handle;
    }
    *selected_count = number;
  });
}

}  // namespace retort::python
