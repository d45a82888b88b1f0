// Measures the speed of the vector kernels in GB/s (bytes read + written), beside a memcpy of as many bytes. One
// thread; the fastest of many short interleaved repeats. RETORT_ISA=v2|avx2|avx512 chooses the level.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/cpu.h"
#include "base/isa_choice.h"
#include "kernels/elementwise/binary.h"
#include "kernels/elementwise/cast.h"
#include "kernels/elementwise/unary.h"
#include "kernels/move/gather.h"
#include "kernels/move/pad.h"
#include "kernels/move/strided_copy.h"
#include "kernels/norm/group_norm.h"
#include "kernels/norm/row_norm.h"
#include "kernels/norm/softmax.h"
#include "kernels/reduce/reduce.h"

namespace {

using namespace retort;
using namespace retort::kernels;

struct Case {
  std::string name;
  size_t bytes;  ///< read + written by one call
  std::function<void()> run;
  double best = 1e30;       ///< seconds of one call
  double best_copy = 1e30;  ///< seconds of a memcpy that reads and writes as many bytes together
};

constexpr size_t kLargest = 8 << 20;

/// Aligned to 64 bytes like the engine's memory; buffers start at different offsets within a page.
class Buffer {
 public:
  explicit Buffer(size_t page_offset)
      : memory_(std::aligned_alloc(4096, kLargest + 8192)), data_(static_cast<float*>(memory_) + page_offset / 4) {
    std::memset(memory_, 0, kLargest + 8192);
  }
  ~Buffer() { std::free(memory_); }
  Buffer(const Buffer&) = delete;
  float* data() { return data_; }

 private:
  void* memory_;
  float* data_;
};

struct Data {
  Buffer a{0}, b{1088}, c{2112}, d{3136};
  Data() {
    for (size_t i = 0; i < kLargest / 4; ++i) {
      a.data()[i] = float(int(uint32_t(i) * 2654435761u >> 20) - 2048) / 512;
      b.data()[i] = float(i % 17) / 16;
    }
  }
};

double time_once(const std::function<void()>& f, size_t bytes) {
  // About 20 µs per measurement, so that an interruption affects few of them.
  const size_t calls = std::max<size_t>(1, 400000 / bytes);
  const auto start = std::chrono::steady_clock::now();
  for (size_t i = 0; i < calls; ++i) f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / double(calls);
}

void measure(std::vector<Case>& cases, Data& data) {
  for (int repeat = 0; repeat < 300; ++repeat) {
    for (Case& c : cases) {
      if (c.bytes > (4 << 20) && repeat % 10) continue;
      c.best = std::min(c.best, time_once(c.run, c.bytes));
      const size_t half = std::min(c.bytes / 2, kLargest);
      const auto copy = [&] { std::memcpy(data.d.data(), data.a.data(), half); };
      c.best_copy = std::min(c.best_copy, time_once(copy, c.bytes) * (0.5 * double(c.bytes)) / double(half));
    }
  }
}

std::string label(const char* name, size_t bytes) {
  char text[64];
  std::snprintf(text, sizeof text, "%s %zu KiB", name, bytes >> 10);
  return text;
}

void add_elementwise(std::vector<Case>& cases, Data& data) {
  static const Parallel par;
  for (const size_t bytes : {size_t(4) << 10, size_t(256) << 10, kLargest}) {
    const size_t n = bytes / 4;
    const std::span<const float> x(data.a.data(), n);
    const std::span<float> y(data.c.data(), n);
    const auto activation = [&](const char* name, Activation::Kind kind) {
      cases.push_back({label(name, bytes), 2 * bytes, [=] { activate({kind}, x, y, par); }});
    };
    activation("gelu_erf", Activation::Kind::gelu_erf);
    activation("gelu_tanh", Activation::Kind::gelu_tanh);
    activation("silu", Activation::Kind::silu);
    activation("tanh", Activation::Kind::tanh);
    activation("relu", Activation::Kind::relu);
    cases.push_back({label("exp", bytes), 2 * bytes, [=] { unary({Unary::Kind::exp}, x, y, par); }});
    cases.push_back({label("erf", bytes), 2 * bytes, [=] { unary({Unary::Kind::erf}, x, y, par); }});
    cases.push_back({label("log", bytes), 2 * bytes, [=] { unary({Unary::Kind::log}, x, y, par); }});
    cases.push_back({label("sin", bytes), 2 * bytes, [=] { unary({Unary::Kind::sin}, x, y, par); }});
    const int64_t shape[1] = {int64_t(n)}, rows[2] = {int64_t(n / 64), 64}, row[1] = {64};
    const auto same = *BroadcastPlan<2>::make({shape, shape}), by_row = *BroadcastPlan<2>::make({rows, row});
    const auto pair = [&](const char* name, Binary op, const BroadcastPlan<2>& plan, size_t moved) {
      cases.push_back({label(name, bytes), moved,
                       [=, &data] { binary(op, data.a.data(), data.b.data(), data.c.data(), plan, par); }});
    };
    pair("add", Binary::add, same, 3 * bytes);
    pair("add row of 64", Binary::add, by_row, 2 * bytes);
    pair("pow", Binary::pow, same, 3 * bytes);
    const auto conversion = [&](const char* name, DType from, DType to, size_t bytes_each) {
      cases.push_back(
          {label(name, bytes), n * bytes_each, [=, &data] { cast(data.a.data(), from, data.c.data(), to, n, par); }});
    };
    conversion("cast f32 f16", DType::f32, DType::f16, 6);
    conversion("cast f16 f32", DType::f16, DType::f32, 6);
    conversion("cast f32 bf16", DType::f32, DType::bf16, 6);
    conversion("cast f32 u8", DType::f32, DType::u8, 5);
    conversion("cast u8 f32", DType::u8, DType::f32, 5);
    conversion("cast i32 i64", DType::i32, DType::i64, n * 8 > kLargest ? 0 : 12);
  }
  std::erase_if(cases, [](const Case& c) { return c.bytes == 0; });
}

void add_norm(std::vector<Case>& cases, Data& data) {
  static const Parallel par;
  const float *const a = data.a.data(), *const b = data.b.data();
  float *const c = data.c.data(), *const d = data.d.data();
  const auto rows = [&](const char* name, size_t count, size_t width, bool skip, bool simplified) {
    RowNorm args{.rows = count, .width = width, .x = a, .gamma = b, .y = c};
    args.beta = simplified ? nullptr : b + width;
    args.simplified = simplified;
    if (skip) {
      args.skip = b;
      args.skip_rows = count;
      args.bias = b + 2 * width;
      args.sum = d;
    }
    cases.push_back({name, count * width * 4 * (skip ? 4 : 2), [=] { row_norm(args, par); }});
  };
  rows("layernorm 8x768", 8, 768, false, false);
  rows("layernorm 128x768", 128, 768, false, false);
  rows("layernorm 2048x768", 2048, 768, false, false);
  rows("layernorm 1000x96", 1000, 96, false, false);
  rows("skip layernorm 128x768", 128, 768, true, false);
  rows("skip layernorm 2048x768", 2048, 768, true, false);
  rows("rmsnorm 128x768", 128, 768, false, true);
  const auto soft = [&](const char* name, const SoftmaxArgs& args) {
    cases.push_back({name, args.outer * args.extent * args.inner * 8, [=] { softmax(args, par); }});
  };
  soft("softmax 12x128x128", {12 * 128, 128, 1, a, c, false});
  soft("log_softmax 12x128x128", {12 * 128, 128, 1, a, c, true});
  soft("softmax 128x1000", {128, 1000, 1, a, c, false});
  soft("softmax inner 8x32x400", {8, 32, 400, a, c, false});
  const GroupNorm group{
      .batch = 1, .channels = 320, .spatial = 1024, .groups = 32, .x = a, .gamma = b, .beta = b, .y = c};
  cases.push_back({"groupnorm 320x32x32 / 32", 320 * 1024 * 8, [=] { group_norm(group, par); }});
}

void add_reduce(std::vector<Case>& cases, Data& data) {
  static const Parallel par;
  const auto one = [&](const char* name, Reduce op, std::vector<int64_t> shape, std::vector<int64_t> axes) {
    const auto plan = *ReducePlan::make(shape, axes);
    cases.push_back({name, (plan.count + 1) * plan.outputs * 4,
                     [=, &data] { reduce(op, data.a.data(), data.c.data(), plan, par); }});
  };
  one("mean 128x768 last", Reduce::mean, {128, 768}, {1});
  one("mean 8x49x512 middle", Reduce::mean, {8, 49, 512}, {1});
  one("mean 256x56x56 pool", Reduce::mean, {64, 56, 56}, {1, 2});
  one("max 128x768 last", Reduce::max, {128, 768}, {1});
  one("max 8x49x512 middle", Reduce::max, {8, 49, 512}, {1});
  one("log_sum_exp 128x768 last", Reduce::log_sum_exp, {128, 768}, {1});
  one("sum 2M", Reduce::sum, {1 << 21}, {0});
  const ArgReduce rows{1, 50257, 1}, middle{8, 49, 512};
  cases.push_back({"argmax 50257", 50257 * 4,
                   [=, &data] { arg_reduce(rows, data.a.data(), reinterpret_cast<int64_t*>(data.c.data()), par); }});
  cases.push_back({"argmax 8x49x512 middle", 8 * 49 * 512 * 4,
                   [=, &data] { arg_reduce(middle, data.a.data(), reinterpret_cast<int64_t*>(data.c.data()), par); }});
}

void add_move(std::vector<Case>& cases, Data& data) {
  static const Parallel par;
  const auto permute = [&](const char* name, size_t element, std::vector<int64_t> shape, std::vector<int64_t> perm) {
    const auto plan = *StridedCopy::transpose(shape, perm);
    cases.push_back({name, 2 * plan.count * element,
                     [=, &data] { strided_copy(byte_mover(element), plan, data.c.data(), data.a.data(), par); }});
  };
  permute("transpose heads 128x12x64", 4, {128, 12, 64}, {1, 0, 2});
  permute("transpose keys 128x12x64", 4, {128, 12, 64}, {1, 2, 0});
  permute("transpose 128x768", 4, {128, 768}, {1, 0});
  permute("transpose 1024x1024", 4, {1024, 1024}, {1, 0});
  permute("NCHW to NHWC 64x56x56", 4, {64, 56 * 56}, {1, 0});
  permute("NHWC to NCHW 56x56x64", 4, {56 * 56, 64}, {1, 0});
  permute("NHWC to NCHW 224x224x3", 4, {224 * 224, 3}, {1, 0});
  permute("transpose f16 128x768", 2, {128, 768}, {1, 0});
  permute("transpose f64 128x768", 8, {128, 768}, {1, 0});
  static std::vector<int64_t> indices(512);
  for (size_t i = 0; i < indices.size(); ++i) indices[i] = int64_t(i * 619 % 1000);
  cases.push_back({"gather 512 rows of 768", 2 * 512 * 768 * 4, [=, &data] {
                     gather(byte_mover(4), {1, 1000, 768, 512}, data.a.data(), indices.data(), data.c.data(), par);
                   }});
  static const int64_t shape[3] = {64, 56, 56}, border[3] = {0, 1, 1};
  static const float zero = 0;
  cases.push_back(
      {"pad 64x56x56 by 1", 2 * 64 * 56 * 56 * 4, [=, &data] {
         pad(byte_mover(4), {shape, border, border, PadMode::constant, &zero}, data.a.data(), data.c.data(), par);
       }});
}

}  // namespace

int main() try {
  retort::require_chosen_isa();
  Data data;
  std::vector<Case> cases;
  add_elementwise(cases, data);
  add_norm(cases, data);
  add_reduce(cases, data);
  add_move(cases, data);
  measure(cases, data);
  std::printf("level %s\n%-28s %10s %10s %8s\n", isa_name(current_isa()), "kernel", "GB/s", "memcpy", "ratio");
  for (const Case& c : cases) {
    const double speed = double(c.bytes) / c.best * 1e-9, copy = double(c.bytes) / c.best_copy * 1e-9;
    std::printf("%-28s %10.1f %10.1f %8.2f\n", c.name.c_str(), speed, copy, speed / copy);
  }
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 2;
}
