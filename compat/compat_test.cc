// Tests the functions of this folder. The program is linked like a shipped one, so it calls these functions, as its C
// library has none with these names.
#include "compat.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <random>
#include <set>
#include <thread>

extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier): names of the C library, which only newer headers declare
uint32_t arc4random() noexcept;
void arc4random_buf(void* buffer, size_t size) noexcept;
extern char __libc_single_threaded;
long __isoc23_strtol(const char* text, char** end, int base) noexcept;
unsigned long __isoc23_strtoul(const char* text, char** end, int base) noexcept;
long long __isoc23_strtoll(const char* text, char** end, int base) noexcept;
unsigned long long __isoc23_strtoull(const char* text, char** end, int base) noexcept;
int __isoc23_sscanf(const char* text, const char* format, ...) noexcept;
// NOLINTEND(bugprone-reserved-identifier)
}

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

int constructed = 0;
struct Counted {
  Counted() { ++constructed; }
} counted;

TEST(Start, ConstructorsRunOnce) { EXPECT_EQ(constructed, 1); }

TEST(Start, ArgumentsOfConstructors) { EXPECT_FALSE(testing::internal::GetArgvs().empty()); }

class Files : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("retort_compat." + std::to_string(getpid()));
    std::filesystem::create_directory(folder_);
    file_ = folder_ / "file";
    link_ = folder_ / "link";
    std::ofstream(file_) << "seven b";
    std::filesystem::create_symlink("file", link_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_, file_, link_;
};

TEST_F(Files, StatFollowsLinks) {
  struct stat s {};
  ASSERT_EQ(stat(link_.c_str(), &s), 0);
  EXPECT_TRUE(S_ISREG(s.st_mode));
  EXPECT_EQ(s.st_size, 7);
}

TEST_F(Files, LstatDoesNot) {
  struct stat s {};
  ASSERT_EQ(lstat(link_.c_str(), &s), 0);
  EXPECT_TRUE(S_ISLNK(s.st_mode));
}

TEST_F(Files, FstatAndFstatat) {
  const int folder = open(folder_.c_str(), O_RDONLY | O_DIRECTORY);
  struct stat of_folder {
  }, of_link{}, of_file{};
  ASSERT_EQ(fstat(folder, &of_folder), 0);
  EXPECT_TRUE(S_ISDIR(of_folder.st_mode));
  ASSERT_EQ(fstatat(folder, "link", &of_file, 0), 0);
  EXPECT_EQ(of_file.st_size, 7);
  ASSERT_EQ(fstatat(folder, "link", &of_link, AT_SYMLINK_NOFOLLOW), 0);
  EXPECT_TRUE(S_ISLNK(of_link.st_mode));
  close(folder);
}

TEST_F(Files, MissingFiles) {
  struct stat s {};
  errno = 0;
  EXPECT_EQ(stat((folder_ / "absent").c_str(), &s), -1);
  EXPECT_EQ(errno, ENOENT);
  errno = 0;
  EXPECT_EQ(fstat(-1, &s), -1);
  EXPECT_EQ(errno, EBADF);
}

TEST_F(Files, AsTheCppLibraryCallsThem) {
  EXPECT_TRUE(std::filesystem::is_symlink(link_));
  EXPECT_EQ(std::filesystem::file_size(link_), 7U);
  EXPECT_TRUE(std::filesystem::equivalent(file_, link_));
  int entries = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::recursive_directory_iterator(folder_)) ++entries;
  EXPECT_EQ(entries, 2);
}

TEST(Random, NumbersDiffer) {
  std::set<uint32_t> seen;
  for (int i = 0; i < 64; ++i) seen.insert(arc4random());
  EXPECT_GT(seen.size(), 60U);
  std::random_device device;
  EXPECT_NE(uint64_t(device()) << 32 | device(), uint64_t(device()) << 32 | device());
}

TEST(Random, EveryByteIsFilledAndNoneAfter) {
  std::vector<unsigned char> any(1000, 0);
  for (int round = 0; round < 16; ++round) {
    std::vector<unsigned char> bytes(any.size() + 1, 0);
    errno = 77;
    arc4random_buf(bytes.data(), any.size());
    EXPECT_EQ(errno, 77);
    EXPECT_EQ(bytes.back(), 0);
    for (size_t i = 0; i < any.size(); ++i) any[i] |= bytes[i];
  }
  EXPECT_EQ(std::count(any.begin(), any.end(), 0), 0);
}

TEST(Threads, CountersAreAlwaysAtomic) { EXPECT_EQ(__libc_single_threaded, 0); }

timespec time_of(Clock::time_point t) {
  const auto ns = t.time_since_epoch().count();
  return {ns / 1000000000, ns % 1000000000};
}

using Wait = int (*)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*);

// The function that is called, and its behaviour if the system has none of its own.
class Waits : public testing::TestWithParam<Wait> {
 protected:
  pthread_cond_t condition_ = PTHREAD_COND_INITIALIZER;
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};
INSTANTIATE_TEST_SUITE_P(All, Waits, testing::Values(&pthread_cond_clockwait, &retort_compat_wait));

TEST_P(Waits, UntilTheTime) {
  pthread_mutex_lock(&mutex_);
  const auto end = Clock::now() + 150ms;
  const timespec until = time_of(end);
  int code = 0;
  while (code == 0) code = GetParam()(&condition_, &mutex_, CLOCK_MONOTONIC, &until);
  EXPECT_EQ(code, ETIMEDOUT);
  EXPECT_GE(Clock::now(), end);
  pthread_mutex_unlock(&mutex_);
}

TEST_P(Waits, NotForTimesThatHavePassed) {
  pthread_mutex_lock(&mutex_);
  for (const timespec until : {time_of(Clock::now() - 1s), timespec{0, 0}, time_of(Clock::now() - 1ns)})
    EXPECT_EQ(GetParam()(&condition_, &mutex_, CLOCK_MONOTONIC, &until), ETIMEDOUT);
  pthread_mutex_unlock(&mutex_);
}

TEST_P(Waits, UntilItIsWoken) {
  bool ready = false;
  std::thread other([&] {
    std::this_thread::sleep_for(30ms);
    pthread_mutex_lock(&mutex_);
    ready = true;
    pthread_cond_signal(&condition_);
    pthread_mutex_unlock(&mutex_);
  });
  const timespec until = time_of(Clock::now() + 1h);
  pthread_mutex_lock(&mutex_);
  int code = 0;
  while (!ready && code == 0) code = GetParam()(&condition_, &mutex_, CLOCK_MONOTONIC, &until);
  pthread_mutex_unlock(&mutex_);
  other.join();
  EXPECT_EQ(code, 0);
  EXPECT_TRUE(ready);
}

TEST_P(Waits, ByTheClockOfDays) {
  timespec until{};
  clock_gettime(CLOCK_REALTIME, &until);
  pthread_mutex_lock(&mutex_);
  EXPECT_EQ(GetParam()(&condition_, &mutex_, CLOCK_REALTIME, &until), ETIMEDOUT);
  pthread_mutex_unlock(&mutex_);
}

TEST_P(Waits, RejectsInvalidTimes) {
  pthread_mutex_lock(&mutex_);
  for (const long nanoseconds : {-1L, 1000000000L}) {
    const timespec until = {time_of(Clock::now()).tv_sec, nanoseconds};
    EXPECT_EQ(GetParam()(&condition_, &mutex_, CLOCK_MONOTONIC, &until), EINVAL);
  }
  const timespec until = time_of(Clock::now());
  EXPECT_EQ(GetParam()(&condition_, &mutex_, CLOCK_PROCESS_CPUTIME_ID, &until), EINVAL);
  pthread_mutex_unlock(&mutex_);
}

TEST(Threads, AsTheCppLibraryCallsThem) {
  std::mutex mutex;
  std::condition_variable condition;
  std::unique_lock lock(mutex);
  const auto start = Clock::now();
  EXPECT_FALSE(condition.wait_for(lock, 50ms, [] { return false; }));
  EXPECT_GE(Clock::now() - start, 50ms);
}

TEST(Numbers, AreRead) {
  char* end = nullptr;
  const char* text = "-42 rest";
  EXPECT_EQ(__isoc23_strtol(text, &end, 10), -42);
  EXPECT_STREQ(end, " rest");
  EXPECT_EQ(__isoc23_strtoul("ff", nullptr, 16), 255U);
  EXPECT_EQ(__isoc23_strtoll("-9223372036854775808", nullptr, 0), INT64_MIN);
  EXPECT_EQ(__isoc23_strtoull("18446744073709551615", nullptr, 0), UINT64_MAX);
  int number = 0;
  char word[8] = "";
  EXPECT_EQ(__isoc23_sscanf("7 seas", "%d %7s", &number, word), 2);
  EXPECT_EQ(number, 7);
  EXPECT_STREQ(word, "seas");
}

}  // namespace
