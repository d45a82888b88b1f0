#include "formats/new_file.h"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "engine/engine.h"

namespace retort::cli {
namespace {

namespace fs = std::filesystem;

/// The file behind symbolic links; nothing if one of them is an entry of /proc, such as /dev/stdout leads to, whose text
/// need not be a path.
std::optional<std::string> behind_links(const std::string& path) {
  std::error_code missing;
  fs::path file = path;
  for (int links = 0; links < 40 && fs::is_symlink(fs::symlink_status(file, missing)); ++links) {
    if (file.string().starts_with("/proc/")) return std::nullopt;
    file = file.parent_path() / fs::read_symlink(file, missing);
  }
  return file.string();
}

std::string entry_of(int file) { return "/proc/self/fd/" + std::to_string(file); }

std::string temporary_name(const std::string& target) { return target + "." + std::to_string(getpid()) + ".part"; }

/// A file without a name in the folder of `target`; negative if there are none.
int open_nameless(const std::string& target) {
  const fs::path folder = fs::path(target).parent_path();
  const int file = open(folder.empty() ? "." : folder.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0666);
  if (file < 0 || access(entry_of(file).c_str(), F_OK) == 0) return file;
  close(file);
  return -1;
}

}  // namespace

NewFile::NewFile(const std::string& path) : path_(path) {
  struct stat old = {};
  const bool exists = stat(path.c_str(), &old) == 0;
  const std::optional<std::string> target = behind_links(path);
  direct_ = !target || (exists && (!S_ISREG(old.st_mode) || old.st_uid != geteuid() || old.st_nlink > 1));
  if (!direct_) {
    target_ = *target;
    open_beside();
    const bool alike =
        !exists || (file_ >= 0 && fchown(file_, gid_t(-1), old.st_gid) == 0 && fchmod(file_, old.st_mode & 0777) == 0);
    if (!alike) discard();
    direct_ = !alike;
  }
  if (direct_) file_ = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file_ < 0) fail();
}

void NewFile::open_beside() {
  file_ = open_nameless(target_);
  if (file_ < 0) open_named();
}

void NewFile::open_named() {
  const std::string name = temporary_name(target_);
  file_ = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file_ >= 0) temporary_ = name;
}

void NewFile::discard() {
  if (file_ < 0) return;
  if (!temporary_.empty()) unlink(temporary_.c_str());
  close(std::exchange(file_, -1));
  temporary_.clear();
}

NewFile::~NewFile() { discard(); }

void NewFile::fail() const { throw Failure("cannot write '" + path_ + "': " + std::strerror(errno)); }

void NewFile::write(const std::string& bytes) {
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t done = ::write(file_, bytes.data() + at, bytes.size() - at);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) fail();
    at += size_t(done);
  }
}

std::string NewFile::place() const { return entry_of(file_); }

bool NewFile::take_free_name() {
  return linkat(AT_FDCWD, place().c_str(), AT_FDCWD, target_.c_str(), AT_SYMLINK_FOLLOW) == 0;
}

void NewFile::give_name() {
  const std::string name = temporary_name(target_);  // linkat() does not replace a file, and rename() needs a name
  if (linkat(AT_FDCWD, place().c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
    temporary_ = name;
    return;
  }
  // Some file systems have files without a name and cannot give them one.
  struct Nameless {
    const int file;
    ~Nameless() { close(file); }
  } const written{std::exchange(file_, -1)};
  struct stat status = {}, named = {};
  open_named();
  if (file_ < 0 || fstat(written.file, &status) != 0 || fstat(file_, &named) != 0) fail();
  const bool same_group = named.st_gid == status.st_gid;  // changing it is refused by some file systems
  if ((!same_group && fchown(file_, uid_t(-1), status.st_gid) != 0) || fchmod(file_, status.st_mode & 0777) != 0)
    fail();
  for (off_t at = 0; at < status.st_size;) {
    const ssize_t done = sendfile(file_, written.file, &at, size_t(status.st_size - at));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) fail();
  }
}

void NewFile::finish() {
  if (!direct_ && temporary_.empty() && !take_free_name()) give_name();
  if (!temporary_.empty() && rename(temporary_.c_str(), target_.c_str()) != 0) fail();
  temporary_.clear();
  if (close(std::exchange(file_, -1)) != 0) fail();  // a network file system may tell of a full disk only now
}

NewFolder::NewFolder(const std::string& path) : path_(path) {
  std::error_code error;
  for (fs::path p = fs::absolute(path); !fs::exists(p, error) && p.has_relative_path(); p = p.parent_path())
    made_.insert(made_.begin(), p);
  fs::create_directories(path_, error);
  if (!error) return;
  remove_made();
  throw Failure("cannot make the folder '" + path + "': " + error.message());
}

NewFolder::~NewFolder() { remove_made(); }

void NewFolder::remove_made() {
  std::error_code ignored;
  for (; !made_.empty(); made_.pop_back()) fs::remove(made_.back(), ignored);
}

void NewFolder::write(const std::string& name, const std::string& bytes) {
  const fs::path path = path_ / name;
  std::error_code missing;
  const bool exists = fs::exists(fs::symlink_status(path, missing));
  NewFile file(path.string());
  file.write(bytes);
  file.finish();
  if (!exists) made_.push_back(path);
}

}  // namespace retort::cli
