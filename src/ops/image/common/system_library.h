// Shared libraries of the system that decode images. They are opened when the first image of their format is decoded,
// so the engine is built and loaded without them. Only functions whose binary interface is stable are called, and their
// declarations are written out where they are used, so headers are not needed either.
#pragma once
#include <initializer_list>
#include <string_view>
#include <type_traits>

namespace retort::ops {

/// The address of a function, as a pointer of the type that is asked for.
struct Symbol {
  void* address = nullptr;
  template <typename F>
  requires std::is_function_v<F>
  operator F*() const {  // NOLINT(google-explicit-constructor): a member of that type takes it
    return reinterpret_cast<F*>(address);
  }
};

/// A library that stays open until the process ends, because its functions may be in use on any thread.
class SystemLibrary {
 public:
  /// Opens the first of `names` that the system has. Throws not_implemented naming `format`, the library and `package`,
  /// that of Debian which contains it.
  SystemLibrary(std::string_view format, std::initializer_list<const char*> names, std::string_view package);
  /// Throws not_implemented if the library has no such function.
  Symbol function(const char* name) const;
  /// A null address if the library has no such function.
  Symbol optional(const char* name) const;

 private:
  std::string_view format_, package_;
  const char* name_ = "";
  void* handle_ = nullptr;
};

}  // namespace retort::ops
