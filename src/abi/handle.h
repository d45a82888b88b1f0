// Objects behind opaque handles. Each begins with a tag of its kind (OrtMemoryInfo has it further back), so that a
// wrong handle causes an error instead of a crash: the check reads one word.
#pragma once
#include <memory>

#include "abi/guard.h"

namespace retort::abi {

/// Packs four letters into a number.
constexpr uint32_t tag_of(const char (&letters)[5]) {
  return uint32_t(letters[0]) | uint32_t(letters[1]) << 8 | uint32_t(letters[2]) << 16 | uint32_t(letters[3]) << 24;
}

/// The base of every struct behind a handle.
template <uint32_t kKind>
struct Handle {
  static constexpr uint32_t kTag = kKind;
  uint32_t tag = kTag;
};

[[noreturn]] void fail_kind(const char* what);

/// Returns the object behind a handle; throws invalid_argument if it is null or of another kind.
template <typename T>
T& handle(T* pointer, const char* what) {
  T& object = need(pointer, what);
  if (object.tag != T::kTag) [[unlikely]]
    fail_kind(what);
  return object;
}

/// Gives a new object to the caller.
template <typename T>
void give(T** out, const char* what, std::unique_ptr<T> object) {
  T*& to = need(out, what);  // first, since need() may throw, and the right side of `=` would release before
  to = object.release();
}

/// Frees the argument of a Release function; ignores null and handles of another kind.
template <typename T>
void release(T* pointer) noexcept {
  if (!pointer || pointer->tag != T::kTag) return;
  pointer->tag = 0;
  delete pointer;
}

}  // namespace retort::abi
