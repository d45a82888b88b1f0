// For memory that is divided by hand: tells AddressSanitizer which bytes may be accessed. Does nothing in other builds.
#pragma once
#include <cstddef>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

namespace retort {

#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kAccessIsChecked = true;
inline void forbid_access(const void* p, size_t bytes) { __asan_poison_memory_region(p, bytes); }
inline void allow_access(const void* p, size_t bytes) { __asan_unpoison_memory_region(p, bytes); }
#else
inline constexpr bool kAccessIsChecked = false;
inline void forbid_access(const void*, size_t) {}
inline void allow_access(const void*, size_t) {}
#endif

}  // namespace retort
