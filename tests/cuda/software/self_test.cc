// Tests the stand-ins themselves: self_test FOLDER.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "core/driver.h"
#include "counts.h"

using namespace providers::cuda;

static Driver cuda;
static std::string folder, kernels;
static int checks = 0, failures = 0;

#define EXPECT(condition)                                                   \
  do {                                                                      \
    ++checks;                                                               \
    if (!(condition)) {                                                     \
      std::printf("%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
      ++failures;                                                           \
    }                                                                       \
  } while (false)

static void* open_library(const char* name) {
  void* const handle = dlopen((folder + "/" + name).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) std::printf("%s\n", dlerror()), std::exit(1);
  return handle;
}

static std::string read(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

static SoftwareCudaCounted counted() {
  static void* const handle = open_library("libcuda.so.1");
  SoftwareCudaCounted c;
  reinterpret_cast<void (*)(SoftwareCudaCounted*)>(dlsym(handle, "SoftwareCudaCounts"))(&c);
  return c;
}

/// Compiles prelude.cuh, tensor_cores.cuh and `text`; the log goes to `log`.
static std::vector<char> compile(const std::string& text, std::string* log = nullptr) {
  static void* const n = open_library("libnvrtc.so.13");
  const auto find = [](const char* name) { return dlsym(n, name); };
  void* p = nullptr;
  const std::string whole = read(kernels + "/prelude.cuh") + read(kernels + "/tensor_cores.cuh") + text;
  reinterpret_cast<int (*)(void**, const char*, const char*, int, void*, void*)>(find("nvrtcCreateProgram"))(
      &p, whole.c_str(), "test.cu", 0, nullptr, nullptr);
  const char* const options[] = {"-arch=sm_90", "-std=c++17", "-default-device", "-DTWO=2"};
  const int result =
      reinterpret_cast<int (*)(void*, int, const char* const*)>(find("nvrtcCompileProgram"))(p, 4, options);
  size_t size = 0;
  reinterpret_cast<int (*)(void*, size_t*)>(find("nvrtcGetProgramLogSize"))(p, &size);
  std::string message(size, 0);
  reinterpret_cast<int (*)(void*, char*)>(find("nvrtcGetProgramLog"))(p, message.data());
  if (log) *log = message;
  if (result != 0 && !log) std::printf("%s\n", message.c_str()), std::exit(1);
  std::vector<char> image;
  if (result == 0) {
    reinterpret_cast<int (*)(void*, size_t*)>(find("nvrtcGetCUBINSize"))(p, &size);
    image.resize(size);
    reinterpret_cast<int (*)(void*, char*)>(find("nvrtcGetCUBIN"))(p, image.data());
  }
  reinterpret_cast<int (*)(void**)>(find("nvrtcDestroyProgram"))(&p);
  return image;
}

static CUfunction kernel(const std::string& text, const char* name) {
  const auto image = compile(text);
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  EXPECT(cuda.module_load(&module, image.data()) == 0);
  EXPECT(cuda.module_function(&function, module, name) == 0);
  return function;
}

static Address allocate(size_t bytes) {
  Address a = 0;
  EXPECT(cuda.allocate(&a, bytes) == 0);
  return a;
}

template <typename T>
static Address upload(const std::vector<T>& values, CUstream s) {
  const Address a = allocate(values.size() * sizeof(T));
  EXPECT(cuda.copy_to_device(a, values.data(), values.size() * sizeof(T), s) == 0);
  return a;
}

template <typename T>
static std::vector<T> download(Address a, size_t count, CUstream s) {
  std::vector<T> values(count);
  EXPECT(cuda.copy_to_host(values.data(), a, count * sizeof(T), s) == 0);
  EXPECT(cuda.stream_synchronize(s) == 0);
  return values;
}

static CUresult launch(CUfunction f, unsigned blocks, unsigned threads, size_t shared, CUstream s,
                       std::vector<void*> arguments) {
  return cuda.launch(f, blocks, 1, 1, threads, 1, 1, unsigned(shared), s, arguments.data(), nullptr);
}

static void test_sums(CUstream s) {
  const CUfunction f = kernel(R"(
    extern "C" __global__ void __launch_bounds__(256) sum(const float* x, float* y, int n) {
      __shared__ float room[32];
      float v = 0;
      for (int i = threadIdx.x; i < n; i += blockDim.x) v += x[blockIdx.x * n + i];
      v = reduce_block<Sum>(v, 0.f, room);
      if (threadIdx.x == 0) y[blockIdx.x] = v * TWO;
    })",
                              "sum");
  std::vector<float> x(3 * 1000);
  for (size_t i = 0; i < x.size(); ++i) x[i] = float(i % 7);
  const Address a = upload(x, s);
  Address b = allocate(12), pa = a;
  int n = 1000;
  EXPECT(launch(f, 3, 256, 0, s, {&pa, &b, &n}) == 0);
  const auto y = download<float>(b, 3, s);
  for (int r = 0; r < 3; ++r) {
    float sum = 0;
    for (int i = 0; i < 1000; ++i) sum += x[size_t(r * 1000 + i)];
    EXPECT(y[size_t(r)] == 2 * sum);
  }
  EXPECT(launch(f, 3, 512, 0, s, {&pa, &b, &n}) == 701);
  EXPECT(launch(f, 0, 256, 0, s, {&pa, &b, &n}) == 1);
  cuda.release(a);
  cuda.release(b);
}

static void test_halves(CUstream s) {
  const CUfunction f = kernel(R"(
    struct Pair { const f16* from; f16* to; };
    extern "C" __global__ void round_trip(Pair p, u64 bits, long long n) {
      const i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x;
      if (i < n) p.to[i] = to_f16(to_float(p.from[i]));
    })",
                              "round_trip");
  std::vector<uint16_t> x(65536);
  for (size_t i = 0; i < x.size(); ++i) x[i] = uint16_t(i);
  struct {
    Address from, to;
  } pair = {upload(x, s), allocate(131072)};
  unsigned long long bits = 5;
  long long n = 65536;
  EXPECT(launch(f, 256, 256, 0, s, {&pair, &bits, &n}) == 0);
  const auto y = download<uint16_t>(pair.to, 65536, s);
  int wrong = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const bool nan = (x[i] & 0x7fff) > 0x7c00;
    wrong += nan ? (y[i] & 0x7fff) <= 0x7c00 : y[i] != x[i];
  }
  EXPECT(wrong == 0);
  cuda.release(pair.from);
  cuda.release(pair.to);
}

static void test_products(CUstream s) {
  const CUfunction f = kernel(R"(
    extern "C" __global__ void product(const f16* a, const f16* b, float* d) {
      extern __shared__ __align__(16) f16 shared[];
      f16* const bs = shared + 256;
      const int l = threadIdx.x, g = l / 4, t = l % 4;
      copy16_async(shared + l * 8, a + l * 8);
      copy_async_commit();
      if (l < 16) copy16_async(bs + l * 8, b + l * 8);
      copy_async_commit();
      copy_async_wait<0>();
      __syncthreads();
      u32 ra[4], rb[4], two[2];
      ldmatrix_x4(ra, shared + (l % 16) * 16 + l / 16 * 8);
      ldmatrix_x4_trans(rb, bs + (l % 16) * 8);
      two[0] = rb[0];
      two[1] = rb[1];
      float r[4] = {1, 1, 1, 1};
      mma_f16(r, ra, two);
      for (int i = 0; i < 4; ++i) d[(g + i / 2 * 8) * 8 + 2 * t + i % 2] = r[i];
    })",
                              "product");
  const auto half = [](int v) {  // small integers
    const float x = float(v);
    uint32_t bits;
    std::memcpy(&bits, &x, 4);
    return v == 0 ? uint16_t(0) : uint16_t((bits >> 16 & 0x8000) | (((bits & 0x7fffffff) >> 13) - (112 << 10)));
  };
  std::vector<uint16_t> a, b;
  std::vector<int> ai, bi;
  for (int i = 0; i < 256; ++i) ai.push_back(i * 7 % 13 - 6), a.push_back(half(ai.back()));
  for (int i = 0; i < 128; ++i) bi.push_back(i * 5 % 11 - 5), b.push_back(half(bi.back()));
  Address pa = upload(a, s), pb = upload(b, s), pd = allocate(512);
  EXPECT(launch(f, 1, 32, 768, s, {&pa, &pb, &pd}) == 0);
  const auto d = download<float>(pd, 128, s);
  int wrong = 0;
  for (int r = 0; r < 16; ++r) {
    for (int c = 0; c < 8; ++c) {
      int sum = 1;
      for (int k = 0; k < 16; ++k) sum += ai[size_t(r * 16 + k)] * bi[size_t(k * 8 + c)];
      wrong += d[size_t(r * 8 + c)] != float(sum);
    }
  }
  EXPECT(wrong == 0);
  for (const Address x : {pa, pb, pd}) cuda.release(x);
}

static void test_capture(CUstream s) {
  const CUfunction f = kernel(R"(
    extern "C" __global__ void add(int* x, int v) { atomicAdd(x, v); })",
                              "add");
  Address x = upload(std::vector<int>{0}, s);
  CUstream other = nullptr;
  CUevent fork = nullptr, join = nullptr;
  EXPECT(cuda.stream_create(&other, kStreamNonBlocking) == 0 && cuda.event_create(&fork, kEventDisableTiming) == 0 &&
         cuda.event_create(&join, kEventDisableTiming) == 0);
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  int one = 1, ten = 10;
  EXPECT(cuda.capture_begin(s, kCaptureThreadLocal) == 0);
  EXPECT(launch(f, 1, 4, 0, s, {&x, &one}) == 0);
  EXPECT(cuda.event_record(fork, s) == 0 && cuda.stream_wait_event(other, fork, 0) == 0);
  EXPECT(launch(f, 1, 1, 0, other, {&x, &ten}) == 0);
  EXPECT(cuda.event_record(join, other) == 0 && cuda.stream_wait_event(s, join, 0) == 0);
  EXPECT(cuda.capture_end(s, &graph) == 0);
  EXPECT(cuda.graph_instantiate(&exec, graph, 0) == 0);
  for (int i = 0; i < 3; ++i) EXPECT(cuda.graph_launch(exec, s) == 0);
  EXPECT(download<int>(x, 1, s)[0] == 42);
  EXPECT(cuda.graph_destroy(graph) == 0 && cuda.graph_exec_destroy(exec) == 0);
  // What is not allowed.
  Address more = 0;
  EXPECT(cuda.capture_begin(s, kCaptureThreadLocal) == 0);
  EXPECT(cuda.allocate(&more, 4) == 900);
  EXPECT(launch(f, 1, 1, 0, s, {&x, &one}) == 901);
  EXPECT(cuda.capture_end(s, &graph) == 901);
  EXPECT(cuda.capture_begin(s, kCaptureThreadLocal) == 0);
  EXPECT(cuda.stream_synchronize(s) == 900);
  EXPECT(cuda.capture_end(s, &graph) == 901);
  EXPECT(cuda.capture_begin(s, kCaptureThreadLocal) == 0);
  EXPECT(cuda.event_record(fork, s) == 0 && cuda.stream_wait_event(other, fork, 0) == 0);
  EXPECT(launch(f, 1, 1, 0, other, {&x, &ten}) == 0);
  EXPECT(cuda.capture_end(s, &graph) == 904);
  EXPECT(download<int>(x, 1, s)[0] == 42);
  cuda.stream_destroy(other);
  cuda.event_destroy(fork);
  cuda.event_destroy(join);
  cuda.release(x);
}

/// Runs `what` in another process, which must abort.
static void expect_abort(const char* name, const std::string& what) {
  const std::string command = "/proc/self/exe";
  const pid_t pid = fork();
  if (pid == 0) {
    if (!std::freopen("/dev/null", "w", stderr)) _exit(2);
    execl(command.c_str(), command.c_str(), folder.c_str(), kernels.c_str(), what.c_str(), nullptr);
    _exit(2);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  if (!WIFSIGNALED(status)) std::printf("%s: the process did not abort\n", name), ++failures;
}

static void abort_now(const std::string& what, CUstream s) {
  Address x = allocate(1000);
  if (what == "divergent") {
    launch(kernel(R"(extern "C" __global__ void f(int* x) {
      if (threadIdx.x < 32) __syncthreads(); else __shfl_sync(0xffffffffu, 1, 0);
      if (threadIdx.x >= 32) return;
      if (threadIdx.x == 0) __syncwarp(3); else if (threadIdx.x == 1) __syncthreads(); })",
                  "f"),
           1, 64, 0, s, {&x});
  } else if (what == "behind") {
    launch(kernel(R"(extern "C" __global__ void f(int* x) { x[256] = 1; })", "f"), 1, 1, 0, s, {&x});
  } else if (what == "guard") {
    launch(kernel(R"(extern "C" __global__ void f(int* x) { x[250] = 1; })", "f"), 1, 1, 0, s, {&x});
    cuda.release(x);
  } else if (what == "host") {
    *reinterpret_cast<volatile int*>(x) = 1;
  }
  cuda.stream_synchronize(s);
}

int main(int argc, char** argv) {
  if (argc < 3) return std::printf("self_test FOLDER KERNELS\n"), 2;
  folder = argv[1];
  kernels = argv[2];
  void* const handle = open_library("libcuda.so.1");
#define F(name, symbol, arguments)                                           \
  cuda.name = reinterpret_cast<decltype(cuda.name)>(dlsym(handle, #symbol)); \
  EXPECT(cuda.name);
  RETORT_CUDA_DRIVER(F)
#undef F
  CUcontext context = nullptr;
  Address none = 0;
  EXPECT(cuda.init(0) == 0);
  EXPECT(cuda.allocate(&none, 4) == 201);
  EXPECT(cuda.primary_retain(&context, 0) == 0 && cuda.context_set(context) == 0);
  CUstream s = nullptr;
  EXPECT(cuda.stream_create(&s, kStreamNonBlocking) == 0);
  if (argc > 3) return abort_now(argv[3], s), 0;
  test_sums(s);
  test_halves(s);
  test_products(s);
  test_capture(s);
  std::string log;
  EXPECT(compile("extern \"C\" __global__ void f() { return 1 }", &log).empty() && log.find("error") != log.npos);
  for (const char* what : {"divergent", "behind", "guard", "host"}) expect_abort(what, what);
  EXPECT(cuda.stream_destroy(s) == 0);
  const SoftwareCudaCounted c = counted();
  EXPECT(c.blocks == 0 && c.bytes == 0 && c.streams == 0 && c.events == 0 && c.graphs == 0 && c.execs == 0);
  std::printf("%d passed, %d failed\n", checks - failures, failures);
  return failures != 0;
}
