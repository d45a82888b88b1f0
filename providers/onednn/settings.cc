#include "settings.h"

#include <omp.h>

#include <algorithm>
#include <charconv>
#include <sstream>

#include "operators.h"

namespace onednn {
namespace {

constexpr int kMostThreads = 1024;

using providers::Error;
using providers::text;

int threads_of(const std::string& value) {
  int n = -1;
  const auto end = std::from_chars(value.data(), value.data() + value.size(), n);
  if (end.ec != std::errc() || end.ptr != value.data() + value.size() || n < 0 || n > kMostThreads)
    throw Error(text("OneDnnExecutionProvider: option 'threads' is '", value,
                     "'; give a number from 0 (all processors) to ", kMostThreads),
                ORT_INVALID_ARGUMENT);
  return n;
}

bool switch_of(const std::string& name, const std::string& value) {
  if (value != "0" && value != "1")
    throw Error(text("OneDnnExecutionProvider: option '", name, "' is '", value, "'; give 0 or 1"),
                ORT_INVALID_ARGUMENT);
  return value == "1";
}

void check_bf16() {
  const auto isa = int(dnnl::get_effective_cpu_isa());
  constexpr auto least = int(dnnl::cpu_isa::avx512_core);
  if ((isa & least) != least)
    throw Error(
        "OneDnnExecutionProvider: option 'bf16' is 1, but oneDNN multiplies 16-bit floats only on processors with "
        "AVX-512; leave it at 0",
        ORT_INVALID_ARGUMENT);
}

std::set<std::string> operators_of(const std::string& value) {
  std::set<std::string> names;
  std::istringstream list(value);
  for (std::string name; std::getline(list, name, ',');) {
    name.erase(std::remove(name.begin(), name.end(), ' '), name.end());
    if (name.empty()) continue;
    if (!is_operator(name))
      throw Error(text("OneDnnExecutionProvider: option 'disable' names '", name,
                       "', which is no operator that this provider runs; give some of ", operator_names()),
                  ORT_INVALID_ARGUMENT);
    names.insert(name);
  }
  return names;
}

}  // namespace

Settings read_settings(const providers::Options& options) {
  Settings s;
  for (const auto& [name, value] : options) {
    if (name == "threads")
      s.threads = threads_of(value);
    else if (name == "bf16")
      s.bf16 = switch_of(name, value);
    else if (name == "disable")
      s.disabled = operators_of(value);
    else
      throw Error(text("OneDnnExecutionProvider has no option '", name, "'; there are threads, bf16 and disable"),
                  ORT_INVALID_ARGUMENT);
  }
  if (s.bf16) check_bf16();
  return s;
}

Threads::Threads(int count) : before_(omp_get_max_threads()) {
  omp_set_num_threads(count ? count : omp_get_num_procs());
}
Threads::~Threads() { omp_set_num_threads(before_); }

}  // namespace onednn
