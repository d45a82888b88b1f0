// Texts that the engine writes beside its results: profiles, reports, lists.
#pragma once
#include <cstdio>
#include <string>
#include <string_view>

namespace retort {

/// What the user can do about a file that cannot be written, by errno.
const char* write_hint(int error);

/// A text file of which nothing is left if it cannot be written completely.
class TextFile {
 public:
  /// Errors call the file `what`, such as "the profile". All functions throw ErrorCode::fail.
  TextFile(std::string path, const char* what);
  ~TextFile();
  TextFile(const TextFile&) = delete;
  void put(std::string_view text);
  void finish();

 private:
  [[noreturn]] void fail_write() const;
  std::string path_;
  const char* what_;
  std::FILE* file_;
};

}  // namespace retort
