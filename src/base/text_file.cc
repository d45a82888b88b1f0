#include "base/text_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace retort {

const char* write_hint(int error) {
  return error == ENOSPC || error == EDQUOT ? "free space there, or choose another path" : "choose a writable path";
}

TextFile::TextFile(std::string path, const char* what)
    : path_(std::move(path)), what_(what), file_(std::fopen(path_.c_str(), "w")) {
  if (!file_) fail_write();
}

TextFile::~TextFile() {
  if (!file_) return;
  struct stat status = {};
  // A device or a pipe is not ours to remove.
  if (fstat(fileno(file_), &status) == 0 && S_ISREG(status.st_mode)) unlink(path_.c_str());
  std::fclose(file_);
}

void TextFile::put(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), file_) != text.size()) fail_write();
}

void TextFile::finish() {
  if (std::fflush(file_) != 0) fail_write();
  std::fclose(std::exchange(file_, nullptr));
}

void TextFile::fail_write() const {
  fail(ErrorCode::fail, "cannot write {} '{}': {}; {}", what_, path_, std::strerror(errno), write_hint(errno));
}

}  // namespace retort
