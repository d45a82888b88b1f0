#include "settings.h"

#include <omp.h>

#include "common/options.h"
#include "operators.h"

namespace onednn {
namespace {

using providers::Error;
using providers::text;

bool switch_of(const std::string& name, const std::string& value) {
  if (value != "0" && value != "1")
    throw Error(text(kName, ": option '", name, "' is '", value, "'; give 0 or 1"), ORT_INVALID_ARGUMENT);
  return value == "1";
}

void check_bf16() {
  const auto isa = int(dnnl::get_effective_cpu_isa());
  constexpr auto least = int(dnnl::cpu_isa::avx512_core);
  if ((isa & least) != least)
    throw Error(text(kName,
                     ": option 'bf16' is 1, but oneDNN multiplies 16-bit floats only on processors with AVX-512; "
                     "leave it at 0"),
                ORT_INVALID_ARGUMENT);
}

}  // namespace

Settings read_settings(const providers::Options& options) {
  Settings s;
  for (const auto& [name, value] : options) {
    if (name == "threads")
      s.threads = providers::threads_of(kName, value);
    else if (name == "bf16")
      s.bf16 = switch_of(name, value);
    else if (name == "disable")
      s.disabled = providers::operators_of(kName, value, operator_names());
    else
      throw Error(text(kName, " has no option '", name, "'; its options are threads, bf16 and disable"),
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
