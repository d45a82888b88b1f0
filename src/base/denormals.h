// Treats denormal numbers as zeros, a state of the floating-point unit of each thread.
#pragma once
#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace retort {

/// During its lifetime, and if `on`, arithmetic of this thread reads denormal numbers as zeros and returns zeros for
/// them. If not `on`, the state of the thread is unchanged. Must be destroyed on the thread that made it.
class FlushDenormals {
 public:
  explicit FlushDenormals(bool on) : on_(on) {
    if (!on_) return;
    before_ = control();
    set_control(before_ | kFlush);
  }
  ~FlushDenormals() {
    if (on_) set_control(before_);
  }
  FlushDenormals(const FlushDenormals&) = delete;

 private:
#if defined(__x86_64__)
  using Control = uint32_t;
  static constexpr Control kFlush = 0x8040;  // results (FTZ) and operands (DAZ)
  static Control control() { return _mm_getcsr(); }
  static void set_control(Control c) { _mm_setcsr(c); }
#elif defined(__aarch64__)
  using Control = uint64_t;
  static constexpr Control kFlush = Control(1) << 24;  // FZ: both
  static Control control() {
    Control c;
    asm volatile("mrs %0, fpcr" : "=r"(c));
    return c;
  }
  static void set_control(Control c) { asm volatile("msr fpcr, %0" : : "r"(c)); }
#else
#error "the way to flush denormals on this processor is unknown"
#endif
  bool on_;
  Control before_ = 0;
};

}  // namespace retort
