#include "session_options.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "library.h"
#include "place.h"

namespace providers::cuda {
namespace {

using Pairs = std::map<std::string, std::string>;

// Hosts pass a provider's options as entries of the session's configuration: Retort after the provider's name in lower
// case, ONNX Runtime after a short name that it has for this one.
constexpr const char* kPrefixes[] = {"ep.cuda.", "ep.cudaexecutionprovider."};
// Entries that the official library has after the short name, besides the options of its provider.
constexpr const char* kOthers[] = {"arena.",         "fpa_intb_",   "gqa_workspace_", "matmul_nbits_",
                                   "matmul_packed_", "moe_packed_", "runtime_fusion."};

[[noreturn]] void refuse(const std::string& key, const std::string& value, const std::string& wanted) {
  throw Error(text(kName, ": option '", key, "' is '", value, "'; give ", wanted), ORT_INVALID_ARGUMENT);
}

uint64_t number(const std::string& key, const std::string& value, uint64_t most, const std::string& wanted) {
  uint64_t n = 0;
  const bool hex = value.size() > 2 && value[0] == '0' && (value[1] == 'x' || value[1] == 'X');
  const char *begin = value.data() + (hex ? 2 : 0), *const end = value.data() + value.size();
  const auto read = std::from_chars(begin, end, n, hex ? 16 : 10);
  if (read.ec != std::errc() || read.ptr != end || n > most) refuse(key, value, wanted);
  return n;
}

bool flag(const std::string& key, const std::string& value) {
  if (value == "1" || value == "true" || value == "True") return true;
  if (value == "0" || value == "false" || value == "False") return false;
  refuse(key, value, "0 or 1");
}

/// Options of ONNX Runtime's own CUDA provider that have no counterpart here: their values, or none for numbers.
struct Idle {
  std::set<std::string> values;
  const char* why;
};
const std::map<std::string, Idle>& idle_options() {
  static const std::set<std::string> flags{"0", "1", "true", "false", "True", "False"};
  static const std::map<std::string, Idle>& all = *new std::map<std::string, Idle>{
      {"arena_extend_strategy",
       {{"kNextPowerOfTwo", "kSameAsRequested", "0", "1", "-1"}, "memory is cut from segments of fixed sizes"}},
      {"cudnn_conv_use_max_workspace", {flags, "convolutions take the memory that their algorithm needs"}},
      {"cudnn_conv1d_pad_to_nc1d", {flags, "convolutions of one axis have their own form"}},
      {"do_copy_in_default_stream", {flags, "copies are ordered on the stream that the host names"}},
      {"prefer_nhwc", {flags, "the layout is chosen for each part"}},
      {"tunable_op_enable", {flags, "there are no tunable operators"}},
      {"tunable_op_tuning_enable", {flags, "there are no tunable operators"}},
      {"tunable_op_max_tuning_duration_ms", {{}, "there are no tunable operators"}},
      {"enable_skip_layer_norm_strict_mode", {flags, "sums are always made in float32"}},
      {"use_ep_level_unified_stream", {flags, "a session has one stream in any case"}},
      {"fuse_conv_bias", {flags, "biases are always fused"}},
      {"has_user_compute_stream", {flags, "user_compute_stream says it"}},
  };
  return all;
}

std::string names_of_options() {
  std::string all =
      "device_id, user_compute_stream, gpu_mem_limit, enable_cuda_graph, use_tf32, cudnn_conv_algo_search, sdpa_kernel "
      "and kernel_cache_dir, and without effect ";
  for (const auto& [name, idle] : idle_options()) all += (name == idle_options().begin()->first ? "" : ", ") + name;
  return all;
}

void read_idle(const std::string& key, const std::string& value, const OrtLogger* log) {
  const auto at = idle_options().find(key);
  if (at == idle_options().end())
    throw Error(text(kName, " has no option '", key, "'; its options are ", names_of_options()), ORT_INVALID_ARGUMENT);
  const std::set<std::string>& values = at->second.values;
  std::string listed;
  for (const std::string& v : values) listed += (listed.empty() ? "one of " : ", ") + v;
  if (!values.empty() && !values.count(value)) refuse(key, value, listed);
  if (values.empty()) number(key, value, INT32_MAX, "a number");
  tell(log, text(kName, ": option '", key, "' changes nothing here: ", at->second.why));
}

/// Whether convolutions take the first plan of cuDNN's heuristics, without measuring some.
bool by_heuristic(const std::string& key, const std::string& value) {
  for (const char* all : {"EXHAUSTIVE", "0"})
    if (value == all) return false;
  for (const char* first : {"HEURISTIC", "DEFAULT", "1", "2"})
    if (value == first) return true;
  refuse(key, value, "one of EXHAUSTIVE, HEURISTIC, DEFAULT");
}

/// Numbers of ONNX Runtime: 0 for the provider's choice, or a sum of kinds of kernels, of which 8 is that of cuDNN.
void read_attention(uint64_t kinds, SessionOptions& options) {
  options.settings["attention_by_cudnn"] = (kinds & 8) != 0;
  options.settings["attention_by_kernels"] = kinds != 0 && (kinds & 8) == 0;
}

void read(const std::string& key, const std::string& value, SessionOptions& options, const OrtLogger* log) {
  if (key == "device_id")
    options.device = int(number(key, value, INT32_MAX, "the number of a CUDA device"));
  else if (key == "user_compute_stream")
    options.stream = reinterpret_cast<CUstream>(number(key, value, UINTPTR_MAX, "the address of a CUDA stream"));
  else if (key == "gpu_mem_limit")
    options.memory_limit = size_t(number(key, value, UINT64_MAX, "a number of bytes"));
  else if (key == "enable_cuda_graph")
    options.settings[key] = options.captures_runs = flag(key, value);
  else if (key == "use_tf32")
    options.settings[key] = flag(key, value);
  else if (key == "cudnn_conv_algo_search")
    options.settings["conv_heuristic"] = by_heuristic(key, value);
  else if (key == "sdpa_kernel")
    read_attention(number(key, value, INT32_MAX, "a number"), options);
  else if (key == "kernel_cache_dir")
    options.kernel_folder = value == "none" ? "" : value;
  else if (std::any_of(std::begin(kOthers), std::end(kOthers), [&](const char* o) { return key.rfind(o, 0) == 0; }))
    tell(log, text(kName, ": option '", key, "' changes nothing here"));
  else
    read_idle(key, value, log);
}

Pairs options_of(const OrtSessionOptions* session) {
  Pairs options;
  if (!session) return options;
  OrtKeyValuePairs* made = nullptr;
  check(api().GetSessionOptionsConfigEntries(session, &made));
  const Owned<OrtKeyValuePairs> pairs(made, api().ReleaseKeyValuePairs);
  const char *const *keys = nullptr, *const *values = nullptr;
  size_t count = 0;
  api().GetKeyValuePairs(made, &keys, &values, &count);
  for (const std::string prefix : kPrefixes)
    for (size_t i = 0; i < count; ++i)
      if (const std::string key = keys[i]; key.rfind(prefix, 0) == 0) options[key.substr(prefix.size())] = values[i];
  return options;
}

}  // namespace

SessionOptions read_options(const OrtSessionOptions* session, const OrtLogger* log) {
  SessionOptions options;
  options.settings["use_tf32"] = true;
  options.kernel_folder = usual_kernel_folder();
  for (const auto& [key, value] : options_of(session)) read(key, value, options, log);
  // Without a limit, ONNX Runtime's provider has the largest number.
  if (options.memory_limit == SIZE_MAX) options.memory_limit = 0;
  return options;
}

}  // namespace providers::cuda
