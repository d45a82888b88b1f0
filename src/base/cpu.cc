#include "base/cpu.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>

#include "base/cgroup.h"
#include "base/error.h"
#include "base/features.h"
#include "base/isa_choice.h"

namespace retort {
namespace {

Isa detect() {
  Isa isa = Isa::v2;
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c") &&
                    __builtin_cpu_supports("bmi2");
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512cd") &&
                      __builtin_cpu_supports("avx512vl");
  if (avx2) isa = avx512 ? Isa::avx512 : Isa::avx2;
#endif
  return isa;
}

// "v2, avx2, avx512", from the lowest to `most`.
std::string isa_names(Isa most) {
  std::string names;
  for (int i = 0; i <= int(most); ++i) names += (i ? ", " : "") + std::string(isa_name(Isa(i)));
  return names;
}

// "-vnni, -bf16, -amx".
std::string feature_names() {
  std::string names;
  for (int i = 0; i < kFeatureCount; ++i) names += (i ? ", -" : "-") + std::string(feature_name(Feature(i)));
  return names;
}

const IsaChoice& choice() {
  static const IsaChoice chosen = choose_isa(std::getenv("RETORT_ISA"), processor_isa());
  return chosen;
}

std::atomic<Isa>& current() {
  static std::atomic<Isa> isa{best_isa()};
  return isa;
}

// Number of processors in the affinity mask; 0 if it is unknown.
int allowed_cpus() {
  for (size_t most = CPU_SETSIZE; most <= size_t(1) << 20; most *= 2) {  // the kernel rejects masks that are too short
    const size_t bytes = CPU_ALLOC_SIZE(most);
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(most), [](cpu_set_t* s) { CPU_FREE(s); });
    if (set && sched_getaffinity(0, bytes, set.get()) == 0) return CPU_COUNT_S(bytes, set.get());
  }
  return 0;
}

}  // namespace

const char* isa_name(Isa isa) {
  switch (isa) {
    case Isa::avx512:
      return "avx512";
    case Isa::avx2:
      return "avx2";
    case Isa::v2:
#if defined(__aarch64__)
      return "neon";
#else
      return "v2";
#endif
  }
  return "?";
}

const char* feature_name(Feature feature) {
  switch (feature) {
    case Feature::vnni:
      return "vnni";
    case Feature::bf16:
      return "bf16";
    case Feature::amx:
      return "amx";
    case Feature::vbmi:
      return "vbmi";
  }
  return "?";
}

IsaChoice choose_isa(const char* wanted, Isa best) {
  const std::string_view name = wanted ? wanted : "";
  if (name.empty()) return {best, {}};
  size_t end = std::min(name.find('-'), name.size());
  int level = 0;
  while (level < kIsaCount && name.substr(0, end) != isa_name(Isa(level))) ++level;
  if (level == kIsaCount) {
    return {best,
            cat("the environment variable RETORT_ISA is '{}', which is not an instruction level; set it to v2, avx2 "
                "or avx512 on x86-64, to neon on AArch64, or unset it",
                name)};
  }
  if (Isa(level) > best) {
    return {best, cat("the environment variable RETORT_ISA is '{}', but this processor supports only {}; set it to "
                      "that or a lower level ({}), or unset it",
                      name, isa_name(best), isa_names(best))};
  }
  IsaChoice choice{Isa(level), {}};
  while (end < name.size()) {
    const size_t begin = end + 1;
    end = std::min(name.find('-', begin), name.size());
    const std::string_view word = name.substr(begin, end - begin);
    int feature = 0;
    while (feature < kFeatureCount && word != feature_name(Feature(feature))) ++feature;
    if (feature == kFeatureCount) {
      return {best, cat("the environment variable RETORT_ISA is '{}', but there is no feature '{}' that can be taken "
                        "away from a level; write a level ({}) and, after it, any of {}",
                        name, word, isa_names(Isa(kIsaCount - 1)), feature_names())};
    }
    choice.without |= uint8_t(1 << feature);
  }
  return choice;
}

Isa processor_isa() {
  static const Isa isa = detect();
  return isa;
}

Isa best_isa() { return choice().isa; }
bool allows(Feature feature) { return !(choice().without >> int(feature) & 1); }

void require_chosen_isa() { require(choice().problem.empty(), ErrorCode::invalid_argument, "{}", choice().problem); }

Isa current_isa() { return current().load(std::memory_order_relaxed); }

ScopedIsa::ScopedIsa(Isa isa) : before_(current_isa()) { current().store(std::min(isa, best_isa())); }
ScopedIsa::~ScopedIsa() { current().store(before_); }

int usable_cpus() {
  const int cpus = std::max(1, allowed_cpus()), quota = cgroup_cpus();
  return quota > 0 ? std::min(cpus, quota) : cpus;
}

}  // namespace retort
