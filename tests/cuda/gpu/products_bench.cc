// Times matrix products on a GPU as the provider plans them, beside cuBLASLt alone: TFLOP/s and GB/s, and whether some
// elements are right. Build it by build_products_bench.sh.
//   products_bench [part of a case's name]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "cuda/core/planner.h"
#include "cuda/ops/products.h"

namespace providers::cuda {
namespace {

constexpr Type kF32 = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, kF16 = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16,
               kBf16 = ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16, kU8 = ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8;

float half_value(uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const float size =
      exponent == 0 ? std::ldexp(float(fraction), -24) : std::ldexp(float(fraction + 1024), exponent - 25);
  return bits & 0x8000 ? -size : size;
}
uint16_t half_bits(float v) {  // truncated; exponents of the values here fit
  uint32_t b = 0;
  std::memcpy(&b, &v, 4);
  const int exponent = int(b >> 23 & 255) - 112;
  return uint16_t((b >> 16 & 0x8000) | (exponent <= 0 ? 0 : uint32_t(exponent) << 10 | (b >> 13 & 1023)));
}

/// A tensor of random numbers, on the host and in several copies on the device, so that repeated products read memory.
class Tensor {
 public:
  Tensor(Device& device, Type type, Dims dims, int copies, float size) : type_(type), dims_(std::move(dims)) {
    size_t count = 1;
    for (const int64_t d : dims_) count *= size_t(d);
    host_.resize(count * size_of(type));
    std::minstd_rand random{unsigned(count)};
    const size_t drawn = std::min<size_t>(count, 1000003);  // then they repeat
    for (size_t i = 0; i < drawn; ++i) {
      const auto number = unsigned(random());
      set(i, type == kU8 ? 0 : size * (float(number % 2001) / 1000 - 1), number);
    }
    for (size_t at = drawn * size_of(type); at < host_.size(); at += drawn * size_of(type))
      std::memcpy(&host_[at], host_.data(), std::min(drawn * size_of(type), host_.size() - at));
    for (int i = 0; i < copies; ++i) blocks_.emplace_back(device, host_.size());
    for (const Block& block : blocks_)
      check(driver().copy_to_device(block.address(), host_.data(), host_.size(), nullptr), "copying");
    check(driver().context_synchronize(), "waiting");
  }
  Type type() const { return type_; }
  const Dims& dims() const { return dims_; }
  size_t bytes() const { return host_.size(); }
  Address at(size_t copy) const { return blocks_[copy % blocks_.size()].address(); }
  uint8_t byte(size_t i) const { return host_[i]; }
  double value(size_t i) const {
    if (type_ == kF32) {
      float v = 0;
      std::memcpy(&v, &host_[4 * i], 4);
      return v;
    }
    uint16_t bits = 0;
    std::memcpy(&bits, &host_[2 * i], 2);
    if (type_ == kF16) return half_value(bits);
    const uint32_t wide = uint32_t(bits) << 16;
    float v = 0;
    std::memcpy(&v, &wide, 4);
    return v;
  }
  void download() {
    check(driver().copy_to_host(host_.data(), blocks_[0].address(), host_.size(), nullptr), "copying");
    check(driver().context_synchronize(), "waiting");
  }

 private:
  void set(size_t i, float v, unsigned random) {
    if (type_ == kU8) host_[i] = uint8_t(random >> 5);
    if (type_ == kF32) std::memcpy(&host_[4 * i], &v, 4);
    uint32_t wide = 0;
    std::memcpy(&wide, &v, 4);
    const uint16_t bits = type_ == kF16 ? half_bits(v) : uint16_t(wide >> 16);
    if (type_ == kF16 || type_ == kBf16) std::memcpy(&host_[2 * i], &bits, 2);
  }
  Type type_;
  Dims dims_;
  std::vector<uint8_t> host_;
  std::vector<Block> blocks_;
};

class Bench {
 public:
  explicit Bench(std::string only) : device_(Device::get(0)), only_(std::move(only)) {
    device_.enter();
    check(driver().stream_create(&stream_, kStreamNonBlocking), "creating a stream");
    check(driver().event_create(&begin_, 0), "creating an event");
    check(driver().event_create(&end_, 0), "creating an event");
  }
  bool wants(const std::string& name) const { return name.find(only_) != std::string::npos; }
  Device& device() { return device_; }
  CUstream stream() { return stream_; }

  /// Milliseconds of one of `count` submissions, as a graph.
  double time(int count, const std::function<void(int)>& submit) {
    submit(0);
    check(driver().stream_synchronize(stream_), "waiting");
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    check(driver().capture_begin(stream_, kCaptureThreadLocal), "capturing");
    for (int i = 0; i < count; ++i) submit(i);
    check(driver().capture_end(stream_, &graph), "capturing");
    check(driver().graph_instantiate(&exec, graph, 0), "instantiating");
    float least = 1e30f;
    for (int i = 0; i < 4; ++i) {
      check(driver().event_record(begin_, stream_), "recording");
      check(driver().graph_launch(exec, stream_), "launching");
      check(driver().event_record(end_, stream_), "recording");
      check(driver().event_synchronize(end_), "waiting");
      float took = 0;
      check(driver().event_elapsed(&took, begin_, end_), "reading the time");
      if (i) least = std::min(least, took);
    }
    driver().graph_exec_destroy(exec);
    driver().graph_destroy(graph);
    return double(least) / count;
  }

  /// An operator with these inputs, of which `y` is the output. Milliseconds.
  double run(std::unique_ptr<Op> op, const std::vector<const Tensor*>& inputs, Tensor& y, int copies) {
    Program program;
    std::vector<Operand> operands;
    op->who = "bench";
    for (const Tensor* t : inputs) {
      op->in.push_back(t ? int(program.values.size()) : -1);
      if (!t) continue;
      program.values.push_back({});
      program.values.back().input = int(operands.size());
      Operand o;
      o.type = t->type();
      o.dims = t->dims();
      operands.push_back(o);
    }
    op->out = {int(program.values.size())};
    program.values.push_back({});
    program.values.back().output = 0;
    program.inputs = operands.size();
    program.outputs = 1;
    program.ops.push_back(std::move(op));
    PlanState state(program, device_, stream_);
    const auto plan = state.make(operands);
    return time(copies, [&](int i) {
      std::vector<Address> at;
      for (const Tensor* t : inputs)
        if (t) at.push_back(t->at(size_t(i)));
      plan->submit(device_, stream_, at, {y.at(0)});
    });
  }

  /// cuBLASLt alone; negative if it has no algorithm.
  double library(const Product& p, const Tensor& a, const Tensor& b, const Tensor& y, int copies) {
    const auto plan = device_.products().plan(p);
    if (!plan) return -1;
    const Block workspace(device_, std::max<size_t>(plan->workspace, 256));
    return time(copies, [&](int i) {
      device_.products().submit(*plan, stream_, {a.at(0), b.at(size_t(i)), 0, y.at(0), 0, workspace.address()});
    });
  }

 private:
  Device& device_;
  std::string only_;
  CUstream stream_ = nullptr;
  CUevent begin_ = nullptr, end_ = nullptr;
};

// Enough copies of the weights that the cache does not hold them all.
int copies_for(size_t bytes) { return int(std::clamp<size_t>((size_t(256) << 20) / bytes, 4, 64)); }

void report(const std::string& name, double ms, double other, double operations, double bytes, double error) {
  std::printf("%-46s %9.2f us %8.1f TFLOP/s %7.0f GB/s  library %9.2f us  error %.1e%s\n", name.c_str(), ms * 1e3,
              operations / ms * 1e-9, bytes / ms * 1e-6, other * 1e3, error, error < 2e-2 ? "" : "  WRONG");
  std::fflush(stdout);
}

struct Dense {
  const char* type;
  int64_t m, k, n;
  bool transposed, ending;
};

double dense_error(const Dense& d, const Tensor& a, const Tensor& b, const Tensor& bias, Tensor& y) {
  y.download();
  std::minstd_rand random(3);
  double worst = 0;
  for (int i = 0; i < 40; ++i) {
    const auto row = int64_t(random()) % d.m, column = int64_t(random()) % d.n;
    double sum = d.ending ? bias.value(size_t(column)) : 0;
    for (int64_t k = 0; k < d.k; ++k)
      sum += a.value(size_t(row * d.k + k)) * b.value(size_t(d.transposed ? column * d.k + k : k * d.n + column));
    if (d.ending) sum = std::max(sum, 0.0);
    const double got = y.value(size_t(row * d.n + column));
    worst = std::isfinite(got) ? std::max(worst, std::abs(got - sum)) : 1e9;
  }
  return worst;  // results have a size of about 1
}

void dense(Bench& bench, const Dense& d) {
  const std::string type = d.type;
  const std::string name =
      text(type, " ", d.m, "x", d.k, "x", d.n, d.transposed ? " NxK" : " KxN", d.ending ? " bias relu" : "");
  if (!bench.wants(name)) return;
  const Type kind = type == "f16" ? kF16 : type == "bf16" ? kBf16 : kF32;
  const int copies = d.m > 64 ? 4 : copies_for(size_t(d.k * d.n) * size_of(kind));
  const float size = 1 / std::sqrt(float(d.k));
  const Tensor a(bench.device(), kind, {d.m, d.k}, 1, 2), bias(bench.device(), kind, {d.n}, 1, 1);
  const Tensor b(bench.device(), kind, d.transposed ? Dims{d.n, d.k} : Dims{d.k, d.n}, copies, size);
  Tensor y(bench.device(), kind, {d.m, d.n}, 1, 0);
  auto op = std::make_unique<ProductOp>();
  op->transposed_b = d.transposed;
  op->tf32 = type == "tf32";
  if (d.ending) {
    op->bias = 2;
    op->activated.act = Act::relu;
  }
  std::vector<const Tensor*> inputs{&a, &b};
  if (d.ending) inputs.push_back(&bias);
  const double ms = bench.run(std::move(op), inputs, y, copies);
  const double error = dense_error(d, a, b, bias, y);
  Product p;
  p.type = p.out = kind;
  p.tf32 = type == "tf32";
  p.m = d.m;
  p.n = d.n;
  p.k = d.k;
  p.transposed_b = d.transposed;
  const double other = bench.library(p, a, b, y, copies);
  report(name, ms, other, p.operations(), double(a.bytes() + b.bytes() + y.bytes()), error);
}

struct Coded {
  int64_t m, k, n, bits, block;
  NBitsForm form = {};
  Type type = kF16;
};

void coded(Bench& bench, const Coded& c) {
  const char* const kForms[] = {"", " few", " cores", " many"};
  const std::string name =
      text("nbits ", c.bits, " block ", c.block, " ", c.m, "x", c.k, "x", c.n, c.type == kF32 ? " f32" : "",
           kForms[c.form.kind], c.form.tiles ? text(" ", c.form.tiles, "/", c.form.split) : "");
  if (!bench.wants(name)) return;
  const int64_t blocks = (c.k + c.block - 1) / c.block, blob = c.block * c.bits / 8;
  const int copies = c.m > 16 ? 4 : copies_for(size_t(c.n * blocks * blob));
  const float middle = float(1 << (c.bits - 1)), size = 1 / (std::sqrt(float(c.k)) * middle);
  const Tensor a(bench.device(), c.type, {c.m, c.k}, 1, 2), codes(bench.device(), kU8, {c.n, blocks, blob}, copies, 0);
  const Tensor scales(bench.device(), c.type, {c.n * blocks}, copies, size);
  Tensor y(bench.device(), c.type, {c.m, c.n}, 1, 0);
  const double ms = bench.run(nbits_op(c.k, {c.n}, c.bits, c.block, true, c.form), {&a, &codes, &scales}, y, copies);
  y.download();
  std::minstd_rand random(3);
  double worst = 0;
  for (int i = 0; i < 40; ++i) {
    const auto row = int64_t(random()) % c.m, column = int64_t(random()) % c.n;
    double sum = 0;
    for (int64_t k = 0; k < c.k; ++k) {
      const int64_t bit = k * c.bits;
      const int code = codes.byte(size_t(column * blocks * blob + bit / 8)) >> (bit % 8) & ((1 << c.bits) - 1);
      sum += a.value(size_t(row * c.k + k)) * (code - middle) * scales.value(size_t(column * blocks + k / c.block));
    }
    const double got = y.value(size_t(row * c.n + column));
    worst = std::isfinite(got) ? std::max(worst, std::abs(got - sum)) : 1e9;
  }
  report(name, ms, 0, 2.0 * double(c.m) * double(c.k) * double(c.n),
         double(a.bytes() + codes.bytes() + scales.bytes() + y.bytes()), worst);
}

void integers(Bench& bench, int64_t m, int64_t k, int64_t n) {
  const std::string name = text("int8 ", m, "x", k, "x", n);
  if (!bench.wants(name)) return;
  Product p;
  p.type = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8;
  p.out = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32;
  p.m = m;
  p.n = n;
  p.k = k;
  p.transposed_b = true;
  const Tensor a(bench.device(), kU8, {m, k}, 1, 0), b(bench.device(), kU8, {n, k}, 4, 0);
  Tensor y(bench.device(), kF32, {m, n}, 1, 0);
  const double ms = bench.library(p, a, b, y, 4);
  if (ms < 0) {
    std::printf("%-46s no algorithm\n", name.c_str());
    return;
  }
  y.download();
  double wrong = 0;
  for (int64_t i = 0; i < 40; ++i) {
    const int64_t row = i * 7 % m, column = i * 13 % n;
    int64_t sum = 0;
    for (int64_t j = 0; j < k; ++j) sum += int8_t(a.byte(size_t(row * k + j))) * int8_t(b.byte(size_t(column * k + j)));
    const auto got = float(y.value(size_t(row * n + column)));
    int32_t bits = 0;
    std::memcpy(&bits, &got, 4);
    wrong += bits != sum;
  }
  report(name, ms, ms, p.operations(), double(a.bytes() + b.bytes() + y.bytes()), wrong);
}

void copy(Bench& bench) {
  if (!bench.wants("copy")) return;
  const size_t bytes = size_t(512) << 20;
  const Block from(bench.device(), bytes), to(bench.device(), bytes);
  const double ms = bench.time(
      4, [&](int) { check(driver().copy_on_device(to.address(), from.address(), bytes, bench.stream()), "copying"); });
  report("copy 512 MiB", ms, ms, 0, 2.0 * double(bytes), 0);
}

// The most telling ones first.
void coded_all(Bench& bench) {
  constexpr auto kFew = NBitsForm::few, kCores = NBitsForm::cores, kMany = NBitsForm::many;
  for (const auto& [k, n] : {std::pair<int64_t, int64_t>{4096, 4096}, {4096, 11008}, {11008, 4096}, {768, 3072}})
    for (const auto kind : {kFew, kCores}) coded(bench, {1, k, n, 4, 32, {kind}});
  for (const int64_t m : {8, 16, 32, 64, 128}) coded(bench, {m, 4096, 11008, 4, 32, {kCores}});
  for (const int64_t m : {16, 64, 128}) coded(bench, {m, 4096, 11008, 4, 32, {kMany}});
  for (const int64_t m : {1, 8, 16, 32})
    for (const auto& [tiles, split] : {std::pair<int64_t, int64_t>{1, 8}, {1, 4}, {1, 2}, {2, 8}, {2, 4}, {2, 2}})
      if (m <= 16 || split < 8) coded(bench, {m, 4096, 11008, 4, 32, {kCores, tiles, split}});
  for (const auto& [tiles, split] : {std::pair<int64_t, int64_t>{1, 4}, {2, 8}, {2, 4}})
    coded(bench, {1, 4096, 4096, 4, 32, {kCores, tiles, split}});
  coded(bench, {1, 4096, 11008, 4, 128, {kFew}});
  coded(bench, {1, 4096, 11008, 4, 128, {kCores}});
  for (const int64_t bits : {8, 2}) {
    coded(bench, {1, 4096, 11008, bits, 32, {kFew}});
    coded(bench, {1, 4096, 11008, bits, 32, {kCores}});
    coded(bench, {16, 4096, 11008, bits, 32, {kCores}});
  }
  coded(bench, {1, 4096, 11008, 4, 32, {kFew}, kF32});
  coded(bench, {1, 4096, 11008, 4, 32, {kCores}, kF32});
  for (const int64_t m : {8, 32, 96}) coded(bench, {m, 4096, 11008, 4, 32, {kCores}, kF32});
  coded(bench, {96, 4096, 11008, 4, 32, {kMany}, kF32});
  coded(bench, {512, 4096, 11008, 4, 32});
}

void all(Bench& bench) {
  copy(bench);
  for (const bool transposed : {false, true})
    for (const auto& [k, n] :
         {std::pair<int64_t, int64_t>{768, 768}, {768, 3072}, {3072, 768}, {4096, 4096}, {4096, 11008}, {11008, 4096}})
      dense(bench, {"f16", 1, k, n, transposed, n == 3072});
  for (const int64_t m : {2, 4, 8}) {
    dense(bench, {"f16", m, 4096, 11008, false, false});
    dense(bench, {"f16", m, 4096, 11008, true, false});
    for (const bool transposed : {false, true}) {
      dense(bench, {"f16", m, 768, 3072, transposed, false});
      dense(bench, {"f16", m, 4096, 4096, transposed, false});
      dense(bench, {"f32", m, 768, 3072, transposed, false});
      dense(bench, {"tf32", m, 768, 3072, transposed, false});
    }
  }
  for (const bool transposed : {false, true})
    for (const auto& [k, n] : {std::pair<int64_t, int64_t>{768, 3072}, {768, 50257}, {4096, 4096}})
      dense(bench, {"f32", 1, k, n, transposed, false});
  dense(bench, {"bf16", 1, 4096, 11008, true, false});
  for (const char* type : {"f16", "bf16", "tf32", "f32"}) {
    dense(bench, {type, 4096, 4096, 4096, false, false});
    dense(bench, {type, 4096, 4096, 4096, true, true});
    for (const bool transposed : {false, true}) {
      dense(bench, {type, 128, 768, 3072, transposed, true});
      dense(bench, {type, 128, 3072, 768, transposed, true});
    }
  }
  dense(bench, {"f16", 2048, 4096, 11008, false, false});
  dense(bench, {"bf16", 8192, 8192, 8192, true, false});
  coded_all(bench);
  integers(bench, 128, 768, 3072);
  integers(bench, 4096, 4096, 4096);
}

}  // namespace
}  // namespace providers::cuda

int main(int argc, char** argv) {
  try {
    providers::cuda::Bench bench(argc > 1 ? argv[1] : "");
    std::printf("%s\n", bench.device().name().c_str());
    providers::cuda::all(bench);
  } catch (const std::exception& e) {
    std::printf("%s\n", e.what());
    return 1;
  }
}
