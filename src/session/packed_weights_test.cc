// session.packed_weights_cache: what a second start reuses, and when it must not.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "onnx/writer.h"
#include "session/session_testing.h"

namespace retort {
namespace {

constexpr int64_t kWide = 512;  // 1 MiB per weight

class Packed : public ::testing::Test {
 protected:
  Packed() {
    std::string name = (std::filesystem::temp_directory_path() / "retort_kept_XXXXXX").string();
    folder_ = mkdtemp(name.data());
    options_.config["session.packed_weights_cache"] = cache();
    options_.log.sink = [this](LogLevel level, std::string_view, std::string_view, std::string_view,
                               std::string_view text) {
      log_ += (level >= LogLevel::warning ? "!" : "") + std::string(text);
    };
    options_.threads.intra_threads = 2;
  }
  ~Packed() override { std::filesystem::remove_all(folder_); }
  std::string cache() const { return folder_ + "/cache"; }

  /// Products and a convolution with weights, one of them in both branches of an If.
  static Model model(float scale = 1) {
    TestGraph t;
    const ValueId x = t.input("x", {2, kWide}), yes = t.input("yes", {}, DType::boolean);
    ValueId y = t.add("MatMul", {x, t.weight("w", {kWide, kWide})});
    y = t.add("Mul", {y, t.scalar(scale)});
    std::vector<Body> bodies;
    for (const char* branch : {"then_branch", "else_branch"}) {
      TestGraph b(t.g.shared_dims());
      const ValueId in = b.input("in", {2, kWide});
      b.output(b.add("MatMul", {in, b.weight(branch, {kWide, kWide})}), "out");
      bodies.push_back({branch, b.g.clone()});
    }
    y = t.add_with_bodies("If", {yes, y}, 1, std::move(bodies), 1)[0];
    t.output(t.add("Conv", {t.add("Reshape", {y, t.ints({2, kWide, 1})}), t.weight("k", {kWide, kWide, 1})}), "y");
    return writable_model(t.g);
  }
  static std::string bytes(float scale = 1) { return write_model(model(scale)); }
  std::unique_ptr<Session> load(const std::string& bytes) const {
    return std::make_unique<Session>(std::make_shared<Environment>(EnvironmentOptions{}),
                                     std::as_bytes(std::span(bytes)), options_);
  }
  static std::string compute(Session& session) {
    Tensor x(DType::f32, {2, kWide});
    for (size_t i = 0; i < x.count(); ++i) x.mutable_data<float>()[i] = float(i % 17) - 8;
    std::string all;
    for (const bool yes : {true, false}) {
      const std::vector<Value> results = run(session, {x, Tensor::of<bool>({}, {yes})});
      all.append(results[0].tensor()->data<char>(), results[0].tensor()->bytes());
    }
    return all;
  }
  /// The bytes of the results without a cache.
  static std::string expected(const std::string& bytes) {
    SessionOptions plain;
    plain.threads.intra_threads = 1;
    Session session(std::make_shared<Environment>(EnvironmentOptions{}), std::as_bytes(std::span(bytes)), plain);
    return compute(session);
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    if (!std::filesystem::exists(cache())) return names;
    for (const auto& f : std::filesystem::directory_iterator(cache())) names.push_back(f.path().string());
    return names;
  }
  /// Whether this process has a file of the cache mapped.
  bool mapped() const {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      if (line.find(cache()) != std::string::npos) return true;
    }
    return false;
  }

  std::string folder_;
  mutable std::string log_;
  SessionOptions options_;
};

TEST_F(Packed, WeightsAreFoundByTheNextSession) {
  const std::string model = bytes(), y = expected(model);
  EXPECT_EQ(compute(*load(model)), y);
  ASSERT_EQ(files().size(), 1u);
  const auto written = std::filesystem::last_write_time(files()[0]);
  EXPECT_FALSE(mapped());
  options_.threads.intra_threads = 1;
  const auto second = load(model);
  EXPECT_TRUE(mapped());
  EXPECT_EQ(compute(*second), y);
  EXPECT_EQ(std::filesystem::last_write_time(files()[0]), written);
  std::filesystem::remove(files()[0]);  // only the mapping keeps it now
  EXPECT_EQ(compute(*second), y);
  EXPECT_EQ(log_, "");
}

TEST_F(Packed, WeightsAreFoundByAnotherProcess) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer ends a forked child that starts a thread";
#endif
  const std::string model = bytes(), y = expected(model);
  std::vector<pid_t> children;
  for (int i = 0; i < 2; ++i) {  // two at once: each one writes, and the last one's file stays
    children.push_back(fork());
    if (children.back() == 0) _exit(compute(*load(model)) == y && log_.empty() ? 0 : 1);
  }
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(files().size(), 1u);
  const auto session = load(model);
  EXPECT_TRUE(mapped());
  EXPECT_EQ(compute(*session), y);
  EXPECT_EQ(log_, "");
}

TEST_F(Packed, WeightsOfOtherModelsAndOptionsAreOthers) {
  const std::string a = bytes(1), b = bytes(2);
  load(a);
  EXPECT_EQ(compute(*load(b)), expected(b));
  EXPECT_EQ(files().size(), 2u);
  options_.config["session.strict"] = "1";
  load(a);
  options_.optimization = OptimizationLevel::none;
  load(a);
  EXPECT_EQ(files().size(), 4u);
  Tensor given(DType::f32, {kWide, kWide});  // replaces w
  std::fill_n(given.mutable_data<float>(), given.count(), 0.5f);
  options_.initializers.emplace("w", given);
  const std::string y = compute(*load(a));
  EXPECT_EQ(compute(*load(a)), y);
  EXPECT_NE(y, expected(a));
  given.mutable_data<float>()[0] = 1;
  EXPECT_NE(compute(*load(a)), y);
}

TEST_F(Packed, BrokenFilesAreReportedAndReplaced) {
  const std::string model = bytes(), y = expected(model);
  load(model);
  const std::string file = files().at(0);
  const auto size = std::filesystem::file_size(file);
  for (const size_t left : {size_t(0), size_t(100), size / 2}) {
    std::filesystem::resize_file(file, left);
    log_.clear();
    EXPECT_EQ(compute(*load(model)), y);
    EXPECT_CONTAINS(log_, "is cut short: weights are packed anew");
    EXPECT_EQ(std::filesystem::file_size(file), size);
  }
  std::fstream(file, std::ios::in | std::ios::out | std::ios::binary).seekp(8192).write("damage!!", 8);
  log_.clear();
  EXPECT_EQ(compute(*load(model)), y);
  EXPECT_CONTAINS(log_, "is damaged");
  log_.clear();
  EXPECT_EQ(compute(*load(model)), y);
  EXPECT_EQ(log_, "");
}

// As on a full disk: the file cannot grow.
TEST_F(Packed, NewFoldersThatStayEmptyAreRemoved) {
  const std::string model = bytes();
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{4096, 4096};
    setrlimit(RLIMIT_FSIZE, &limit);
    log_.clear();
    const bool ran = compute(*load(model)) == expected(model);
    _exit(!ran || log_.find("packed weights are not saved") == std::string::npos || std::filesystem::exists(cache()));
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  std::filesystem::create_directory(cache());  // a folder of the user stays
  TestGraph without_weights;
  without_weights.output(without_weights.add("Neg", {without_weights.input("x", {2})}), "y");
  const std::string nothing_to_save = write_model(writable_model(without_weights.g));
  load(nothing_to_save);
  EXPECT_TRUE(std::filesystem::exists(cache()));
  std::filesystem::remove(cache());
  load(nothing_to_save);
  EXPECT_FALSE(std::filesystem::exists(cache()));
}

TEST_F(Packed, FoldersThatAreNoneAreErrors) {
  const std::string model = bytes();
  std::ofstream(folder_ + "/file") << "text";
  for (const std::string& wrong : {folder_ + "/file", folder_ + "/not/there", std::string("/proc/none")}) {
    options_.config["session.packed_weights_cache"] = wrong;
    try {
      load(model);
      ADD_FAILURE() << wrong;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
      EXPECT_CONTAINS(std::string(e.what()), "session.packed_weights_cache is '" + wrong + "', which is not a folder");
    }
  }
  options_.config["session.packed_weights_cache"] = "/proc/self";  // not writable
  EXPECT_EQ(compute(*load(model)), expected(model));
  EXPECT_CONTAINS(log_, "packed weights are not saved: cannot create '/proc/self/");
}

TEST_F(Packed, ModelsMadeInMemoryHaveNone) {
  Session session(std::make_shared<Environment>(EnvironmentOptions{}), std::make_shared<Model>(model()), options_);
  EXPECT_CONTAINS(log_, "session.packed_weights_cache has no effect");
  EXPECT_TRUE(files().empty());
}

/// Writes other weights of the same size to the file and restores its modification time.
void change_in_place(const std::string& path, const std::string& content) {
  struct stat before {};
  ASSERT_EQ(stat(path.c_str(), &before), 0);
  ASSERT_EQ(size_t(before.st_size), content.size());
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary)
      .write(content.data(), std::streamsize(content.size()));
  const timespec times[] = {before.st_atim, before.st_mtim};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

// A model with its weights in another file: changes of both files count.
TEST_F(Packed, ChangedFilesAreNoticed) {
  const auto wait = [] { std::this_thread::sleep_for(std::chrono::milliseconds(2100)); };
  const auto content = [](const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const std::string path = folder_ + "/model.v1.onnx", weights = folder_ + "/weights.bin";
  write_model(model(), path, {.external_file = "weights.bin"});
  const auto load_file = [&] {
    return std::make_unique<Session>(std::make_shared<Environment>(EnvironmentOptions{}), path, options_);
  };
  const std::string first = compute(*load_file());
  EXPECT_TRUE(files().empty()) << "a change within the same clock tick would not be noticed";
  wait();
  EXPECT_EQ(compute(*load_file()), first);
  ASSERT_EQ(files().size(), 1u);
  EXPECT_CONTAINS(files()[0], "/cache/model-");
  {
    const auto session = load_file();
    EXPECT_TRUE(mapped());
    EXPECT_EQ(compute(*session), first);
  }
  std::string other = content(weights);
  for (size_t i = 0; i + 4 < other.size(); i += 4) std::swap(other[i + 2], other[other.size() / 4 * 4 - 2 - i]);
  change_in_place(weights, other);
  const std::string second = compute(*load_file());
  EXPECT_NE(second, first);
  wait();
  EXPECT_EQ(compute(*load_file()), second);
  EXPECT_EQ(compute(*load_file()), second);
  change_in_place(path, content(path));  // the same bytes: the change cannot be detected
  wait();
  EXPECT_EQ(compute(*load_file()), second);
  EXPECT_EQ(files().size(), 1u) << "there is one file per model and path";
  EXPECT_EQ(log_, "");
}

}  // namespace
}  // namespace retort
