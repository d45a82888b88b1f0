// The instruction level of this processor, and the number of processors that a process may use.
#pragma once
#include <cstdint>

namespace retort {

/// Instruction levels that kernels are compiled for, each a superset of the one before. `v2` is supported by every
/// processor that the build targets: x86-64-v2, or NEON on AArch64, which is the only level there.
enum class Isa : uint8_t { v2, avx2, avx512 };
#if defined(__x86_64__)
inline constexpr int kIsaCount = 3;
#else
inline constexpr int kIsaCount = 1;
#endif

const char* isa_name(Isa isa);

/// The best level of this processor, limited by the environment variable RETORT_ISA=isa_name(); determined once.
Isa best_isa();

/// The level in use: best_isa() unless a test forces a lower one. Packed weights are only valid at the level for which
/// they were packed.
Isa current_isa();

/// Forces a level during the lifetime of the object. For tests; not thread-safe.
class ScopedIsa {
 public:
  explicit ScopedIsa(Isa isa);
  ~ScopedIsa();
  ScopedIsa(const ScopedIsa&) = delete;

 private:
  Isa before_;
};

/// Number of processors that this process may use: the affinity mask limited by the cgroup quota (rounded up), at least
/// 1.
int usable_cpus();

}  // namespace retort
