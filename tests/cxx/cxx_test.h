// Checks for the tests of the C++ interface, which run on any engine library.
#pragma once
#include <cstdio>
#include <functional>
#include <retort/retort.hpp>
#include <string>
#include <vector>

namespace cxx_test {

inline int failed = 0;

inline void expect(bool holds, const char* what) {
  if (!holds) std::printf("FAIL %s\n", what);
  failed += !holds;
}

inline constexpr auto kAnyCode = OrtErrorCode(-1);

/// Checks that the call throws an Error of this code whose message contains the text.
inline void expect_error(OrtErrorCode code, const std::string& text, const char* what,
                         const std::function<void()>& call) {
  try {
    call();
    expect(false, what);
  } catch (const retort::api::Error& e) {
    if ((code != kAnyCode && e.code() != code) || std::string(e.what()).find(text) == std::string::npos) {
      std::printf("FAIL %s: code %d, %s\n", what, int(e.code()), e.what());
      ++failed;
    }
  }
}

inline std::string model(const char* name) { return std::string(RETORT_MODELS "/") + name; }

template <typename T>
std::vector<T> elements(const retort::api::Value& value) {
  const auto data = value.data<T>();
  return {data.begin(), data.end()};
}

void bindings();
void devices();
void sessions();

}  // namespace cxx_test
