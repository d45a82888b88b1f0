// Tests that a file appears completely or not at all, on every kind of file system.
#include "onnx/new_file.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <filesystem>

#include "onnx/model_testing.h"

namespace retort::onnx {
namespace {

bool has_nameless_files(const Folder& folder) {
  const int file = open((folder / "").c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
  if (file >= 0) close(file);
  return file >= 0;
}

void write_file(const std::string& path, std::string_view bytes) {
  NewFile file(path);
  file.write_at(0, bytes);
  file.finish();
}

/// This process gets `error` from linkat() from now on. Returns false if the system has no such filters.
bool refuse_links(unsigned error) {
  sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_linkat, 0, 1),
                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program{std::size(code), code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// Nothing is left of a process that is killed while it writes.
TEST(NewFile, HasNoNameBeforeItIsComplete) {
  const Folder folder;
  if (!has_nameless_files(folder)) GTEST_SKIP() << "the file system has no files without a name";
  NewFile file(folder / "whole.onnx");
  file.write_at(0, "bytes");
  EXPECT_TRUE(std::filesystem::is_empty(folder / ""));
  file.finish();
  EXPECT_EQ(folder.read("whole.onnx"), "bytes");
  write_file(folder / "whole.onnx", "new");
  EXPECT_EQ(folder.read("whole.onnx"), "new");
}

TEST(NewFile, IsCopiedWhereTheFileSystemGivesNoNames) {
  const Folder folder;
  if (!has_nameless_files(folder)) GTEST_SKIP() << "the file system has no files without a name";
  const std::string bytes(9 << 20, 'b');
  write_file(folder / "m.onnx", "old");
  constexpr int kNoFilter = 77;
  const pid_t child = fork();
  if (child == 0) {
    if (!refuse_links(EPERM)) _exit(kNoFilter);
    try {
      write_file(folder / "m.onnx", bytes);
    } catch (const std::exception&) {
      _exit(1);
    }
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoFilter) GTEST_SKIP() << "the system filters no calls";
  EXPECT_EQ(status, 0);
  EXPECT_EQ(folder.read("m.onnx"), bytes);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder / ""), {}), 1);
}

}  // namespace
}  // namespace retort::onnx
