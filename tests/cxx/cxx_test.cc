// The C++ interface (include/retort/retort.hpp) on an engine library: what the C interface says must not be lost in it.
//
//   cxx_test LIBRARY
#define RETORT_API_DLOPEN
#include <cstdio>
#include <retort/retort.hpp>
#include <string>
#include <vector>

namespace api = retort::api;

namespace {

int failed = 0;

void expect(bool holds, const char* what) {
  if (!holds) std::printf("FAIL %s\n", what);
  failed += !holds;
}

void texts_come_back() {
  const std::vector<std::string> texts{std::string("a\0b", 3), "", "\xc3\xa4", std::string(1000, 'x')};
  const int64_t shape[] = {2, 2};
  const api::Value value = api::Value::strings(texts, shape);
  expect(value.texts() == texts, "texts of a tensor are those that were given, NUL included");
}

void errors_are_exceptions() {
  try {
    const float one = 1;
    const int64_t shape[] = {2};
    api::Value::wrap(std::span(&one, 1), shape);
    expect(false, "a buffer that is too small throws");
  } catch (const std::exception& e) {
    expect(std::string(e.what()).find("4") != std::string::npos, "the message tells the bytes");
  }
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::fprintf(stderr, "usage: cxx_test LIBRARY\n");
    return 2;
  }
  api::Library::load(argv[1]);
  texts_come_back();
  errors_are_exceptions();
  return failed != 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "FAIL %s\n", e.what());
  return 1;
}
