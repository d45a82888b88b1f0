#include "onnx/new_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <random>

#include "base/error.h"
#include "base/later.h"
#include "base/loading.h"

namespace retort::onnx {
namespace {

[[noreturn]] void fail_write(const std::string& path) {
  fail(ErrorCode::fail, "cannot write '{}': {}; choose a writable path", path, std::strerror(errno));
}

/// The file that `path` leads to through symbolic links. A device or a pipe would be replaced, not written to.
std::string file_behind(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code missing;
  const auto there = fs::status(path, missing);
  require(!fs::exists(there) || fs::is_regular_file(there), ErrorCode::invalid_argument,
          "cannot write '{}': it is not a regular file, and only such a file can be replaced; choose another name",
          path);
  fs::path file = path;
  for (int links = 0; fs::is_symlink(fs::symlink_status(file, missing)); ++links) {
    errno = ELOOP;
    if (links == 40) fail_write(path);
    file = file.parent_path() / fs::read_symlink(file);
  }
  return file.string();
}

}  // namespace

NewFile::NewFile(const std::string& path) : path_(file_behind(path)) {
  temporary_ = cat("{}.{:08x}.part", path_, std::random_device()());
  fd_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd_ < 0) fail_write(path_);
}

NewFile::~NewFile() {
  if (fd_ < 0) return;
  unlink(temporary_.c_str());
  close_later(fd_);
}

void NewFile::write_at(size_t offset, std::string_view bytes) {
  in_pieces(bytes.size(), [&](size_t begin, size_t size) {
    for (const size_t end = begin + size; begin < end;) {
      const ssize_t done = pwrite(fd_, bytes.data() + begin, end - begin, off_t(offset + begin));
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) fail_write(path_);
      begin += size_t(done);
    }
  });
}

void NewFile::finish() {
  if (rename(temporary_.c_str(), path_.c_str()) != 0) fail_write(path_);
  close(fd_);
  fd_ = -1;
}

}  // namespace retort::onnx
