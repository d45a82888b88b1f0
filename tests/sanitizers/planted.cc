// One error of each kind that the sanitizers find, so that a build in which they are switched off cannot pass: ctest
// expects a report of each (cmake/sanitized.cmake).
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <thread>

namespace {

volatile int one = 1;  // a value that the compiler cannot know

int beyond_the_end() {
  char* volatile bytes =
      new char[16]();  // volatile: otherwise the compiler and UndefinedBehaviorSanitizer would know its size
  const int read = bytes[15 + one];
  delete[] bytes;
  return read;
}

int after_its_end() {
  int* value = new int(one);
  delete value;
  return *const_cast<volatile int*>(value);
}

int leak() {
  void* volatile lost = std::malloc(16);
  lost = nullptr;
  return lost != nullptr;
}

int too_large_a_sum() { return std::numeric_limits<int>::max() + one; }

int too_large_a_float() { return static_cast<int>(3e10F * static_cast<float>(one)); }

int counter = 0;

int race() {
  std::thread other([] { ++counter; });
  ++counter;
  other.join();
  return counter;
}

struct Error {
  std::string_view name;
  int (*commit)();
};

constexpr Error kErrors[] = {
    {"beyond_the_end", beyond_the_end},   {"after_its_end", after_its_end},         {"leak", leak},
    {"too_large_a_sum", too_large_a_sum}, {"too_large_a_float", too_large_a_float}, {"race", race}};

}  // namespace

int main(int argc, char** argv) {
  for (const Error& error : kErrors) {
    if (argc == 2 && error.name == argv[1]) {
      std::printf("nothing was found before the end: %d\n", error.commit());
      return 0;
    }
  }
  std::fprintf(stderr, "usage: planted ERROR\n");
  return 2;
}
