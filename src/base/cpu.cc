#include "base/cpu.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace retort {
namespace {

Isa detect() {
  Isa isa = Isa::v2;
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
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

// cgroup v2: "max 100000" or "<quota> <period>".
int quota_cpus() {
  long quota = 0, period = 0;
  if (std::FILE* file = std::fopen("/sys/fs/cgroup/cpu.max", "r")) {
    if (std::fscanf(file, "%ld %ld", &quota, &period) != 2) quota = 0;
    std::fclose(file);
  }
  return quota > 0 && period > 0 ? int((quota + period - 1) / period) : 0;
}

}  // namespace

const char* isa_name(Isa isa) {
  switch (isa) {
    case Isa::avx512:
      return "avx512";
    case Isa::avx2:
      return "avx2";
    case Isa::v2:
      return "v2";
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
  cpu_set_t set;
  int cpus = 1;
  if (sched_getaffinity(0, sizeof set, &set) == 0) cpus = std::max(1, CPU_COUNT(&set));
  if (const int quota = quota_cpus(); quota > 0) cpus = std::min(cpus, quota);
  return cpus;
}

}  // namespace retort
