// Kernels that are compiled when they are needed, and kept.
#include <filesystem>
#include <fstream>
#include <set>
#include <string_view>
#include <thread>

#include "cuda/core/kernel_cache.h"
#include "cuda/core/kernel_texts.h"
#include "cuda/core/kernels.h"
#include "cuda/core/nvrtc.h"
#include "host_testing.h"

namespace providers::cuda {
namespace {

namespace fs = std::filesystem;

constexpr const char* kScale = R"(
extern "C" __global__ void scale(float* x, i64 n) {
  const i64 i = blockIdx.x * i64(blockDim.x) + threadIdx.x;
  if (i < n) x[i] *= FACTOR;
}
extern "C" __global__ void turn(float* x, int n) {
  extern __shared__ float room[];
  room[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = room[n - 1 - threadIdx.x];
}
)";

class KernelsTest : public CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    if (!find_driver()) return;
    try {
      Nvrtc::get();
    } catch (const Error& e) {
      GTEST_SKIP() << e.what();
    }
    device().enter();
  }
  static std::vector<float> scaled(const Kernel& kernel, const std::vector<float>& values) {
    const Block block(device(), values.size() * sizeof(float));
    Address address = block.address();
    int64_t n = int64_t(values.size());
    void* arguments[] = {&address, &n};
    const CUstream stream = begin_stream(device());
    write(address, values, stream);
    check(driver().launch(kernel.function(), unsigned(n + 255) / 256, 1, 1, 256, 1, 1, 0, stream, arguments, nullptr),
          "launching");
    const auto result = read(address, values.size(), stream);
    end_stream(device(), stream);
    return result;
  }
};

TEST_F(KernelsTest, GeneratedText) {
  const Kernel three = device().kernels().compile(kScale, "scale", {{"FACTOR", "3"}});
  const Kernel four = device().kernels().compile(kScale, "scale", {{"FACTOR", "4"}});
  EXPECT_EQ(three.function(), device().kernels().compile(kScale, "scale", {{"FACTOR", "3"}}).function());
  EXPECT_EQ(scaled(three, {1, 2, 3}), (std::vector<float>{3, 6, 9}));
  EXPECT_EQ(scaled(four, std::vector<float>(1000, 1)), std::vector<float>(1000, 4));
}

TEST_F(KernelsTest, SharedMemory) {
  const Kernel turn = device().kernels().compile(kScale, "turn", {{"FACTOR", "3"}}, 64 << 10);
  const Block block(device(), 3 * sizeof(float));
  Address address = block.address();
  int n = 3;
  void* arguments[] = {&address, &n};
  const CUstream stream = begin_stream(device());
  write(address, {1, 2, 3}, stream);
  check(driver().launch(turn.function(), 1, 1, 1, 3, 1, 1, 64 << 10, stream, arguments, nullptr), "launching");
  EXPECT_EQ(read(address, 3, stream), (std::vector<float>{3, 2, 1}));
  end_stream(device(), stream);
  EXPECT_THROW(device().kernels().compile(kScale, "turn", {{"FACTOR", "3"}}, size_t(1) << 30), Error);
}

// Kernels that are launched while others run must wait for them; those that do not wait are launched after them.
TEST_F(KernelsTest, WaitForTheKernelsBefore) {
  const auto count = [](const std::string& text, const std::string& words) {
    int n = 0;
    for (size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++n;
    return n;
  };
  // These did not run on a GPU while others run.
  const std::set<std::string_view> in_turn{"attention_counts.cu", "experts_cores.cu", "floats8.cu"};
  for (const auto& [file, text] : kernel_texts())
    EXPECT_EQ(count(text, "\n  begin_kernel();"), in_turn.contains(file) ? 0 : count(text, "__global__")) << file;
  const bool can = Nvrtc::get().code_for(device().architecture()) >= 90;
  const char* const kWaits = "extern \"C\" __global__ void one(float* x) {\n  begin_kernel();\n  x[0] = 1;\n}\n";
  EXPECT_EQ(device().kernels().compile(kWaits, "one").waits, can);
  EXPECT_FALSE(device().kernels().compile(std::string(kWaits) + kScale, "one", {{"FACTOR", "3"}}).waits);
}

TEST_F(KernelsTest, ErrorsHaveTheLog) {
  try {
    device().kernels().compile("extern \"C\" __global__ void wrong(float* x) { x[0] = no_such_name; }", "wrong",
                               {{"TYPE", "float"}});
    FAIL() << "it compiles";
  } catch (const Error& e) {
    const std::string said = e.what();
    EXPECT_NE(said.find("generated kernel wrong (TYPE=float)"), std::string::npos) << said;
    EXPECT_NE(said.find("no_such_name"), std::string::npos) << said;
  }
  EXPECT_THROW(device().kernels().compile(kScale, "no_such_entry", {{"FACTOR", "3"}}), Error);
  EXPECT_THROW(device().kernels().get("no_such_file.cu", "entry"), Error);
}

TEST_F(KernelsTest, SeveralThreadsCompileOnce) {
  std::vector<CUfunction> functions(8);
  std::vector<std::thread> threads;
  for (auto& f : functions)
    threads.emplace_back([&f] { f = device().kernels().compile(kScale, "scale", {{"FACTOR", "17"}}).function(); });
  for (auto& t : threads) t.join();
  for (const CUfunction f : functions) EXPECT_EQ(f, functions[0]);
}

TEST_F(KernelsTest, FilesOfAnotherProcess) {
  const fs::path folder = fs::temp_directory_path() / ("retort_kernels_" + std::to_string(getpid()));
  const auto files = [&] { return std::distance(fs::directory_iterator(folder), fs::directory_iterator()); };
  {
    Kernels first(device());
    first.keep_in(folder.string());
    EXPECT_EQ(scaled(first.compile(kScale, "scale", {{"FACTOR", "5"}}), {1}), std::vector<float>{5});
    EXPECT_EQ(files(), 1);
  }
  Kernels second(device());
  second.keep_in(folder.string());
  EXPECT_EQ(scaled(second.compile(kScale, "scale", {{"FACTOR", "5"}}), {1}), std::vector<float>{5});
  EXPECT_EQ(files(), 1);
  const fs::path file = fs::directory_iterator(folder)->path();
  const auto size = fs::file_size(file);
  for (const size_t left : {size_t(0), size_t(30), size_t(size - 1)}) {  // cut: it is compiled again
    fs::resize_file(file, left);
    Kernels again(device());
    again.keep_in(folder.string());
    EXPECT_EQ(scaled(again.compile(kScale, "scale", {{"FACTOR", "5"}}), {1}), std::vector<float>{5});
    EXPECT_EQ(fs::file_size(file), size);
  }
  fs::remove_all(folder);
}

// Kernels of one text, kernels of other texts, and one that does not compile.
TEST_F(KernelsTest, CompiledAhead) {
  std::vector<Kernel> kernels;
  {
    CompileAhead ahead;
    for (int i = 0; i < 12; ++i)
      kernels.push_back(device().kernels().compile(kScale, "scale", {{"FACTOR", std::to_string(100 + i / 2)}}));
    ahead.wait();
    kernels.push_back(device().kernels().compile(kScale, "turn", {{"FACTOR", "100"}}));  // at once
    EXPECT_NE(kernels.back().function(), nullptr);
  }
  for (size_t i = 0; i < 12; ++i)
    EXPECT_EQ(scaled(kernels[i], {1, 2}), (std::vector<float>{100.f + i / 2, 200.f + i / 2 * 2}));
  {
    CompileAhead ahead;
    const Kernel wrong = device().kernels().compile("extern \"C\" __global__ void wrong() { no_such_name; }", "wrong");
    const Kernel right = device().kernels().compile(kScale, "scale", {{"FACTOR", "112"}});
    try {
      ahead.wait();
      FAIL() << "it compiles";
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find("no_such_name"), std::string::npos) << e.what();
    }
    EXPECT_EQ(wrong.function(), nullptr);
    EXPECT_NE(right.function(), nullptr);
  }
}

TEST(KernelCacheTest, OldFilesAreRemoved) {
  const fs::path folder = fs::temp_directory_path() / ("retort_limit_" + std::to_string(getpid()));
  KernelCache cache(folder.string(), 1000);
  EXPECT_EQ(cache.problem(), "");
  EXPECT_EQ(fs::status(folder).permissions(), fs::perms::owner_all);
  const std::string image(150, 'x');
  for (int i = 0; i < 4; ++i) {
    cache.store(std::to_string(i), image);
    for (const auto& file : fs::directory_iterator(folder))
      fs::last_write_time(file, fs::last_write_time(file) - std::chrono::hours(1));
  }
  EXPECT_TRUE(cache.find("0"));  // is used now
  for (int i = 4; i < 6; ++i) cache.store(std::to_string(i), image);
  EXPECT_TRUE(cache.find("0"));
  EXPECT_FALSE(cache.find("1"));
  EXPECT_TRUE(cache.find("5"));
  fs::remove_all(folder);
}

TEST(KernelCacheTest, FoldersThatCannotBeWritten) {
  const fs::path file = fs::temp_directory_path() / ("retort_file_" + std::to_string(getpid()));
  std::ofstream(file) << "no folder";
  KernelCache cache((file / "deep").string());
  EXPECT_NE(cache.problem().find("nothing can be written"), std::string::npos) << cache.problem();
  cache.store("a", "image");
  EXPECT_FALSE(cache.find("a"));
  fs::remove(file);
}

TEST(KernelCacheTest, KeysAndImages) {
  const fs::path folder = fs::temp_directory_path() / ("retort_cache_" + std::to_string(getpid()));
  KernelCache cache((folder / "deep").string()), none("");
  const std::string image("\0\n\xff image", 9);
  EXPECT_FALSE(cache.find("a"));
  cache.store("a", image);
  EXPECT_EQ(cache.find("a"), image);
  EXPECT_FALSE(cache.find("b"));
  none.store("a", image);
  EXPECT_FALSE(none.find("a"));
  const fs::path file = fs::directory_iterator(folder / "deep")->path();
  std::ofstream(file, std::ios::app) << "more";
  EXPECT_FALSE(cache.find("a"));
  fs::remove_all(folder);
}

}  // namespace
}  // namespace providers::cuda
