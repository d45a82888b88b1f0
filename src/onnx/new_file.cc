#include "onnx/new_file.h"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <random>
#include <utility>

#include "base/error.h"
#include "base/later.h"
#include "base/loading.h"
#include "base/text_file.h"

namespace retort::onnx {
namespace {

[[noreturn]] void fail_write(const std::string& path) {
  fail(ErrorCode::fail, "cannot write '{}': {}; {}", path, std::strerror(errno), write_hint(errno));
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

std::string temporary_name(const std::string& path) { return cat("{}.{:08x}.part", path, std::random_device()()); }

std::string entry_of(int fd) { return cat("/proc/self/fd/{}", fd); }

/// Opens a file without a name in the folder of `path`, of which nothing is left if the process is killed; negative if
/// the file system does not support this.
int open_nameless(const std::string& path) {
  const size_t folder = path.rfind('/') + 1;
  const int fd = open(folder == 0 ? "." : path.substr(0, folder).c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0666);
  if (fd < 0 || access(entry_of(fd).c_str(), F_OK) == 0) return fd;
  close(fd);  // it could not get a name, since there is no /proc
  return -1;
}

}  // namespace

NewFile::NewFile(const std::string& path) : path_(file_behind(path)), fd_(open_nameless(path_)) {
  if (fd_ < 0) open_named();
}

void NewFile::open_named() {
  const std::string name = temporary_name(path_);
  fd_ = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd_ < 0) fail_write(path_);
  temporary_ = name;
}

NewFile::~NewFile() {
  if (fd_ < 0) return;
  if (!temporary_.empty()) unlink(temporary_.c_str());
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

bool NewFile::take_free_name() {
  return linkat(AT_FDCWD, entry_of(fd_).c_str(), AT_FDCWD, path_.c_str(), AT_SYMLINK_FOLLOW) == 0;
}

void NewFile::give_name() {
  const std::string name = temporary_name(path_);  // linkat() does not replace a file, and rename() needs a name
  if (linkat(AT_FDCWD, entry_of(fd_).c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
    temporary_ = name;
    return;
  }
  // Some file systems have files without a name and cannot give them one.
  struct Nameless {
    const int fd;
    ~Nameless() { close_later(fd); }
  } const written{std::exchange(fd_, -1)};
  open_named();
  struct stat status = {};
  if (fstat(written.fd, &status) != 0) fail_write(path_);
  in_pieces(size_t(status.st_size), [&](size_t begin, size_t size) {
    for (off_t at = off_t(begin); at < off_t(begin + size);) {
      const ssize_t done = sendfile(fd_, written.fd, &at, begin + size - size_t(at));
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) fail_write(path_);
    }
  });
}

void NewFile::finish() {
  if (temporary_.empty() && !take_free_name()) give_name();
  if (!temporary_.empty() && rename(temporary_.c_str(), path_.c_str()) != 0) fail_write(path_);
  close(fd_);
  fd_ = -1;
}

}  // namespace retort::onnx
