// What this processor can do, and how much of it a process may use.
#pragma once
#include <cstdint>

namespace retort {

/// Instruction levels that kernels are compiled for, each a superset of the one before. `v2` is what every processor of the
/// build has: x86-64-v2, NEON on AArch64, where there is no other.
enum class Isa : uint8_t { v2, avx2, avx512 };
#if defined(__x86_64__)
inline constexpr int kIsaCount = 3;
#else
inline constexpr int kIsaCount = 1;
#endif

const char* isa_name(Isa isa);

/// The best level of this processor (bounded by RETORT_ISA=isa_name() in the environment), found once.
Isa best_isa();

/// The level in use: best_isa() unless a test forces a lower one. Packed weights are only valid at the level they were
/// packed for.
Isa current_isa();

/// Forces a level for the life of the object. For tests; not thread-safe.
class ScopedIsa {
 public:
  explicit ScopedIsa(Isa isa);
  ~ScopedIsa();
  ScopedIsa(const ScopedIsa&) = delete;

 private:
  Isa before_;
};

/// Processors that this process may use: the affinity mask bounded by the cgroup quota (rounded up), at least 1.
int usable_cpus();

}  // namespace retort
