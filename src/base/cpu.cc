#include "base/cpu.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/cgroup.h"

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
  if (const char* wanted = std::getenv("RETORT_ISA")) {
    for (int i = 0; i < kIsaCount; ++i) {
      if (std::strcmp(wanted, isa_name(Isa(i))) == 0) return std::min(isa, Isa(i));
    }
  }
  return isa;
}

std::atomic<Isa>& current() {
  static std::atomic<Isa> isa{best_isa()};
  return isa;
}

// Processors in the affinity mask; 0 when that is not known.
int allowed_cpus() {
  for (size_t most = CPU_SETSIZE; most <= size_t(1) << 20; most *= 2) {  // the kernel refuses masks that are too short
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

Isa best_isa() {
  static const Isa isa = detect();
  return isa;
}

Isa current_isa() { return current().load(std::memory_order_relaxed); }

ScopedIsa::ScopedIsa(Isa isa) : before_(current_isa()) { current().store(std::min(isa, best_isa())); }
ScopedIsa::~ScopedIsa() { current().store(before_); }

int usable_cpus() {
  const int cpus = std::max(1, allowed_cpus()), quota = cgroup_cpus();
  return quota > 0 ? std::min(cpus, quota) : cpus;
}

}  // namespace retort
