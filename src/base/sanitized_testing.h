// Tests with many generated cases take some of them under AddressSanitizer, where each takes ten times as long.
#pragma once

extern "C" void __asan_init() __attribute__((weak));

namespace retort {

/// Whether AddressSanitizer is in this process; the test itself may be compiled without it (cmake/sanitized.cmake).
inline bool sanitized() { return __asan_init != nullptr; }

}  // namespace retort
