#include "onnx/weight_file.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/checked.h"
#include "base/loading.h"
#include "memory/host.h"

namespace retort {
namespace {

/// A label that file_range() finds by std::get_deleter.
struct FreeCopy {
  std::shared_ptr<void> memory;
  FileRange range;
  void operator()(void*) { memory.reset(); }
};

}  // namespace

std::optional<FileRange> file_range(const Tensor& tensor) {
  if (const FreeCopy* copy = tensor.owner() ? std::get_deleter<FreeCopy>(tensor.owner()) : nullptr) return copy->range;
  return file_range(tensor.owner(), tensor.data(), tensor.bytes());
}

namespace onnx {

std::shared_ptr<void> copy_weight(std::string_view bytes, const std::shared_ptr<void>& owner) {
  std::shared_ptr<void> memory = allocate_block(bytes.size());
  copy_in_pieces(memory.get(), bytes.data(), bytes.size());
  if (const auto range = file_range(owner, bytes.data(), bytes.size())) {
    void* data = memory.get();
    return std::shared_ptr<void>(data, FreeCopy{std::move(memory), *range});
  }
  return memory;
}

namespace {

constexpr int kOpenFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;  // opening a FIFO must not block

[[noreturn]] void fail_open(int error, std::string_view name) {
  const bool missing = error == ENOENT || error == ENOTDIR || error == ENAMETOOLONG;
  fail(missing ? ErrorCode::no_such_file : ErrorCode::fail, "cannot open '{}': {}", name,
       missing ? "the file does not exist" : std::strerror(error));
}

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
};

bool is_link(int folder, const std::string& name) {
  const int error = errno;
  struct stat s;
  const bool is = fstatat(folder, name.c_str(), &s, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(s.st_mode);
  errno = error;
  return is;
}

/// Opens one component after the other and follows no link.
int walk_beneath(int folder, std::string_view location) {
  Descriptor at{fcntl(folder, F_DUPFD_CLOEXEC, 0)};
  for (size_t begin = 0; at.fd >= 0;) {
    const size_t end = std::min(location.find('/', begin), location.size());
    const std::string part(location.substr(begin, end - begin));
    const bool last = end == location.size();
    if (part == ".." || (part.empty() && begin == 0)) {
      errno = EXDEV;
      return -1;
    }
    if (last || (!part.empty() && part != ".")) {
      const int next = openat(at.fd, part.c_str(), O_NOFOLLOW | (last ? kOpenFlags : O_PATH | O_DIRECTORY | O_CLOEXEC));
      if (next < 0 && is_link(at.fd, part)) errno = ELOOP;  // a link to a folder is reported as not a folder
      if (last || next < 0) return next;
      close(at.fd);
      at.fd = next;
    }
    begin = end + 1;
  }
  return -1;
}

int open_beneath_fd(int folder, const std::string& location, bool by_hand) {
  if (!by_hand) {
    open_how how{};
    how.flags = kOpenFlags;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
    for (int attempt = 0; attempt < 16; ++attempt) {  // EAGAIN: a component was renamed meanwhile
      const long fd = syscall(SYS_openat2, folder, location.c_str(), &how, sizeof(how));
      if (fd >= 0) return int(fd);
      if (errno == ENOSYS || errno == EPERM) break;  // an old kernel, or a sandbox that does not know the call
      if (errno != EAGAIN) return -1;
    }
  }
  return walk_beneath(folder, location);
}

}  // namespace

File::File(int fd, std::string_view name) : fd_(fd) {
  struct stat s;
  const bool ok = fstat(fd, &s) == 0;
  if (!ok || !S_ISREG(s.st_mode)) {
    close(fd);
    fail(ErrorCode::invalid_protobuf, "'{}' is not a regular file", name);
  }
  identity_ = identify(s);
}

File::~File() {
  if (fd_ >= 0) close(fd_);
}

File File::open(const std::string& path) {
  const int fd = ::open(path.c_str(), kOpenFlags);
  if (fd < 0) fail_open(errno, path);
  return File(fd, path);
}

File File::open_beneath(const std::string& folder, std::string_view location, bool by_hand) {
  require(!location.empty(), ErrorCode::invalid_argument, "the location of external data is empty");
  require(location.find('\0') == location.npos, ErrorCode::invalid_argument,
          "the location of external data contains a NUL");
  const Descriptor at{::open(folder.empty() ? "." : folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
  if (at.fd < 0) fail_open(errno, folder);
  const int fd = open_beneath_fd(at.fd, std::string(location), by_hand);
  if (fd < 0 && (errno == EXDEV || errno == ELOOP)) {
    fail(ErrorCode::invalid_argument,
         "'{}' could leave the model's folder: it is absolute, or goes through '..' or a link; move the file into it "
         "and "
         "let the model name it there",
         location);
  }
  if (fd < 0) fail_open(errno, location);
  return File(fd, location);
}

std::shared_ptr<void> File::map() const { return size() ? map_file(fd_, identity_) : nullptr; }

std::shared_ptr<void> File::read(uint64_t offset, size_t size) const {
  std::shared_ptr<void> memory = allocate_block(size);
  for (size_t done = 0; done < size;) {
    const ssize_t got = pread(fd_, static_cast<char*>(memory.get()) + done, size - done, off_t(offset + done));
    if (got < 0 && errno == EINTR) continue;
    require(got > 0, ErrorCode::fail, "cannot read byte {}: {}", offset + done,
            got < 0 ? std::strerror(errno) : "the file became shorter");
    done += size_t(got);
  }
  return memory;
}

}  // namespace onnx
}  // namespace retort
