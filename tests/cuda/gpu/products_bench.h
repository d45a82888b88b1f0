// What programs that time products on a GPU share: tensors with random numbers, and times of operators.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "cuda/core/planner.h"
#include "cuda/ops/products.h"

namespace providers::cuda {

inline constexpr Type kF32 = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, kF16 = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16,
                      kBf16 = ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16, kU8 = ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8,
                      kE4m3 = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FN;

inline float half_value(uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const float size =
      exponent == 0 ? std::ldexp(float(fraction), -24) : std::ldexp(float(fraction + 1024), exponent - 25);
  return bits & 0x8000 ? -size : size;
}
inline uint16_t half_bits(float v) {  // truncated; exponents of the values here fit
  uint32_t b = 0;
  std::memcpy(&b, &v, 4);
  const int exponent = int(b >> 23 & 255) - 112;
  return uint16_t((b >> 16 & 0x8000) | (exponent <= 0 ? 0 : uint32_t(exponent) << 10 | (b >> 13 & 1023)));
}

inline float float8_value(uint8_t bits) {
  const int exponent = bits >> 3 & 15, fraction = bits & 7;
  const float size = exponent ? std::ldexp(float(8 + fraction), exponent - 10) : std::ldexp(float(fraction), -9);
  return bits & 0x80 ? -size : size;
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
      set(i, type == kU8 || type == kE4m3 ? 0 : size * (float(number % 2001) / 1000 - 1), number);
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
    if (type_ == kE4m3) return float8_value(host_[i]);
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
    if (type_ == kE4m3) host_[i] = uint8_t((random >> 5 & 0x80) | (random >> 5 & 0x7f) % 0x50);  // up to 1.875
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
      if (t->type() == kF32 && t->bytes() == 4) {  // as a constant
        auto known = std::make_shared<Known>();
        known->reals = {t->value(0)};
        o.known = std::move(known);
      }
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

}  // namespace providers::cuda
