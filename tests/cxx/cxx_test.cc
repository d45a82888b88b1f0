// Tests the C++ interface (include/retort/retort.hpp) on an engine library: it must not lose information of the C
// interface.
//
//   cxx_test LIBRARY
//
// Without LIBRARY, the tests use the one that RETORT_ORACLE names, official ONNX Runtime.
#define RETORT_API_DLOPEN
#include "cxx_test.h"

#include <cstdlib>

namespace api = retort::api;
using cxx_test::expect;

namespace {

constexpr int kSkipped = 77;

void texts_come_back() {
  const std::vector<std::string> texts{std::string("a\0b", 3), "", "\xc3\xa4", std::string(1000, 'x')};
  const int64_t shape[] = {2, 2};
  const api::Value value = api::Value::strings(texts, shape);
  expect(value.texts() == texts, "texts of a tensor are the given ones, including NUL");
}

void errors_are_exceptions() {
  try {
    const float one = 1;
    const int64_t shape[] = {2};
    api::Value::wrap(std::span(&one, 1), shape);
    expect(false, "a buffer that is too small throws");
  } catch (const std::exception& e) {
    expect(std::string(e.what()).find("4") != std::string::npos, "the message has the number of bytes");
  }
}

}  // namespace

int main(int argc, char** argv) try {
  const char* library = argc > 1 ? argv[1] : std::getenv("RETORT_ORACLE");
  if (!library || !*library) {
    std::puts("RETORT_ORACLE names no library");
    return kSkipped;
  }
#ifdef __SANITIZE_THREAD__
  if (argc == 1) {
    std::puts("the official library was compiled without the sanitizer, so its threads cannot be watched");
    return kSkipped;
  }
#endif
  api::Library::load(library);
  texts_come_back();
  errors_are_exceptions();
  cxx_test::bindings();
  cxx_test::devices();
  cxx_test::sessions();
  return cxx_test::failed != 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "FAIL %s\n", e.what());
  return 1;
}
