// What cuDNN does with the convolutions of known networks: each plan that the provider would try, its time, and its
// result beside that of a direct kernel. Prints one line per plan; the exit status is 1 if a result is wrong.
//   conv_probe [seconds] [part of a case's name]
// tests/cuda/gpu/build_conv_probe.sh builds it from the objects of the provider.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>

#include "cuda/core/convolutions.h"
#include "cuda/core/device.h"
#include "cuda/core/kernels.h"
#include "cuda/core/memory.h"
#include "cuda/core/plan.h"

namespace providers::cuda {
namespace {

constexpr Type kFloat = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, kHalf = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16,
               kBfloat = ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16;

struct Case {
  std::string name;
  int64_t batch, in, out, group;
  Dims size, filter, strides, dilations, begins, ends;
  bool transposed = false;
};

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
int64_t volume(const Dims& dims) {
  int64_t n = 1;
  for (const int64_t d : dims) n *= d;
  return n;
}

/// 2-D, the same padding on all sides.
Case conv(const std::string& name, int64_t batch, int64_t in, int64_t out, int64_t size, int64_t filter,
          int64_t stride = 1, int64_t group = 1) {
  const int64_t pad = filter / 2;
  return {name,   batch,      in,        out, group, {size, size}, {filter, filter}, {stride, stride},
          {1, 1}, {pad, pad}, {pad, pad}};
}

std::vector<Case> resnet(int64_t n) {
  const std::string r = "resnet50 n" + std::to_string(n) + " ";
  std::vector<Case> all{conv(r + "stem", n, 3, 64, 224, 7, 2)};
  struct Stage {
    int64_t size, in, width, stride;
  };
  for (const Stage& s : {Stage{56, 64, 64, 1}, {56, 256, 128, 2}, {28, 512, 256, 2}, {14, 1024, 512, 2}}) {
    const int64_t small = s.size / s.stride, wide = 4 * s.width;
    const std::string t = r + std::to_string(small) + " ";
    all.push_back(conv(t + "first", n, s.in, s.width, s.size, 1));
    if (s.stride > 1) all.push_back(conv(t + "3x3/2", n, s.width, s.width, s.size, 3, 2));
    all.push_back(conv(t + "3x3", n, s.width, s.width, small, 3));
    all.push_back(conv(t + "up", n, s.width, wide, small, 1));
    all.push_back(conv(t + "down", n, wide, s.width, small, 1));
    all.push_back(conv(t + "shortcut", n, s.in, wide, s.size, 1, s.stride));
  }
  return all;
}

std::vector<Case> others() {
  std::vector<Case> all{conv("depthwise 112 32", 1, 32, 32, 112, 3, 1, 32),
                        conv("depthwise 112/2 96", 1, 96, 96, 112, 3, 2, 96),
                        conv("depthwise 28 192", 1, 192, 192, 28, 3, 1, 192),
                        conv("depthwise 14 576", 1, 576, 576, 14, 3, 1, 576),
                        conv("depthwise n8 14 576", 8, 576, 576, 14, 3, 1, 576),
                        conv("grouped 28", 1, 128, 128, 28, 3, 1, 32),
                        conv("odd channels", 2, 37, 53, 19, 3)};
  all.push_back({"asymmetric", 1, 32, 64, 1, {28, 28}, {3, 3}, {2, 2}, {1, 1}, {0, 0}, {1, 1}});
  all.push_back({"dilated", 1, 64, 64, 1, {28, 28}, {3, 3}, {1, 1}, {2, 2}, {2, 2}, {2, 2}});
  all.push_back({"1-D", 2, 64, 96, 1, {1, 300}, {1, 5}, {1, 1}, {1, 1}, {0, 2}, {0, 2}});
  all.push_back({"3-D", 1, 32, 32, 1, {16, 28, 28}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}});
  all.push_back({"transposed", 1, 64, 32, 1, {28, 28}, {4, 4}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, true});
  return all;
}

ConvProblem problem_of(const Case& c, Type type, bool tf32, bool last) {
  ConvProblem p;
  p.type = type;
  p.tf32 = tf32;
  p.channels_last = last;
  p.transposed = c.transposed;
  p.x = {c.batch, c.in};
  p.y = {c.batch, c.out};
  p.w = c.transposed ? Dims{c.in, c.out / c.group} : Dims{c.out, c.in / c.group};
  for (size_t i = 0; i < c.size.size(); ++i) {
    const int64_t span = (c.filter[i] - 1) * c.dilations[i] + 1, pads = c.begins[i] + c.ends[i];
    p.x.push_back(c.size[i]);
    p.w.push_back(c.filter[i]);
    p.y.push_back(c.transposed ? (c.size[i] - 1) * c.strides[i] + span - pads
                               : (c.size[i] + pads - span) / c.strides[i] + 1);
  }
  p.strides = c.strides;
  p.dilations = c.dilations;
  p.begins = c.begins;
  p.ends = c.ends;
  return p;
}

/// The argument of kernel `direct`.
struct Direct {
  int64_t count;
  int32_t channels, group_in, group_out, last, in[3], out[3], filter[3], stride[3], dilation[3], begin[3];
  int64_t xn, xc, xs[3], wk, wc, ws[3], yn, yc, ys[3];
};

void strides_of(const Dims& dims, bool last, int64_t& n, int64_t& c, int64_t* s) {
  int64_t step = last ? dims[1] : 1;
  for (size_t i = 0; i < 3; ++i) {
    const bool there = i < dims.size() - 2;
    s[2 - i] = step;
    step *= there ? dims[dims.size() - 1 - i] : 1;
  }
  c = last ? 1 : step;
  n = volume(dims) / dims[0];
}

Direct direct_of(const ConvProblem& p, int64_t group) {
  Direct d{};
  d.count = volume(p.y);
  d.channels = int32_t(p.y[1]);
  d.group_in = int32_t(p.x[1] / group);
  d.group_out = int32_t(p.y[1] / group);
  d.last = p.channels_last;
  for (size_t i = 0; i < 3; ++i) {
    const size_t missing = 3 - p.strides.size();
    const bool there = i >= missing;
    const size_t a = i - missing;
    d.in[i] = there ? int32_t(p.x[2 + a]) : 1;
    d.out[i] = there ? int32_t(p.y[2 + a]) : 1;
    d.filter[i] = there ? int32_t(p.w[2 + a]) : 1;
    d.stride[i] = there ? int32_t(p.strides[a]) : 1;
    d.dilation[i] = there ? int32_t(p.dilations[a]) : 1;
    d.begin[i] = there ? int32_t(p.begins[a]) : 0;
  }
  strides_of(p.x, p.channels_last, d.xn, d.xc, d.xs);
  strides_of(p.w, p.channels_last, d.wk, d.wc, d.ws);
  strides_of(p.y, p.channels_last, d.yn, d.yc, d.ys);
  return d;
}

uint16_t half_bits(float v, Type type) {
  uint32_t b;
  std::memcpy(&b, &v, 4);
  if (type == kBfloat) return uint16_t((b + 0x7fff + ((b >> 16) & 1)) >> 16);
  const int exponent = int((b >> 23) & 255) - 127 + 15;  // normal numbers only
  if (exponent <= 0) return uint16_t((b >> 16) & 0x8000);
  return uint16_t(((b >> 16) & 0x8000) | (uint32_t(exponent) << 10) | ((b >> 13) & 0x3ff));
}
float half_value(uint16_t h, Type type) {
  if (type == kBfloat) {
    const uint32_t b = uint32_t(h) << 16;
    float v;
    std::memcpy(&v, &b, 4);
    return v;
  }
  const int exponent = (h >> 10) & 31, mantissa = h & 1023;
  const float v = exponent == 0    ? std::ldexp(float(mantissa), -24)
                  : exponent == 31 ? (mantissa ? NAN : INFINITY)
                                   : std::ldexp(float(1024 + mantissa), exponent - 25);
  return h & 0x8000 ? -v : v;
}

/// Memory on the device with a problem's tensors.
class Bench {
 public:
  Bench(Device& device, const ConvProblem& p)
      : device_(device),
        type_(p.type),
        x_(fill(volume(p.x), 1)),
        w_(fill(volume(p.w), 1.0f / std::sqrt(float(volume(p.w) / p.w[0])))),
        bias_(fill(p.y[1], 1)),
        residual_(fill(volume(p.y), 1)),
        y_(device, bytes(volume(p.y))),
        expected_(device, bytes(volume(p.y))) {
    check(driver().stream_create(&stream_, kStreamNonBlocking), "stream");
  }
  ~Bench() {
    driver().stream_synchronize(stream_);
    driver().stream_destroy(stream_);
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  void reference(const ConvProblem& p, int64_t group) {
    Direct d = direct_of(p, group);
    const auto& e = p.epilogue;
    const char* const name = p.type == kHalf ? "f16" : p.type == kBfloat ? "bf16" : "float";
    Defines defines{{"TYPE", name}, {"DIRECT", "1"}, {"ACT", std::to_string(int(e.activation))}};
    if (p.transposed) defines["TRANSPOSED"] = "1";
    const Kernel k = device_.kernels().get("conv.cu", "direct", defines);
    Address x = x_.address(), w = w_.address(), b = e.bias ? bias_.address() : 0,
            r = e.residual ? residual_.address() : 0, y = expected_.address();
    float alpha = e.alpha, beta = e.beta;
    void* arguments[] = {&x, &w, &b, &r, &y, &d, &alpha, &beta};
    check(
        driver().launch(k.function(), unsigned((d.count + 255) / 256), 1, 1, 256, 1, 1, 0, stream_, arguments, nullptr),
        "direct kernel");
    check(driver().stream_synchronize(stream_), "direct kernel");
    want_ = read(expected_, d.count);
  }

  /// Microseconds of the provider's kernel for depthwise convolutions, with 1, 2 or 4 outputs of a row per thread.
  float depthwise(const ConvProblem& p, int strip) {
    struct {
      int64_t count;
      int32_t channels, height, width, out_height, out_width, top, left, unused = 0;
    } d{};
    const int64_t v = int64_t(16 / size_of(type_));
    d.channels = int32_t(p.x[1]);
    d.height = int32_t(p.x[2]);
    d.width = int32_t(p.x[3]);
    d.out_height = int32_t(p.y[2]);
    d.out_width = int32_t(p.y[3]);
    d.top = d.left = int32_t(p.begins[0]);
    d.count = p.y[0] * p.y[2] * ((p.y[3] + strip - 1) / strip) * (p.x[1] / v);
    const std::string stride = std::to_string(p.strides[0]);
    const Kernel k = device_.kernels().get("conv.cu", "depthwise",
                                           {{"TYPE", type_ == kHalf ? "f16" : "float"},
                                            {"DEPTHWISE", "1"},
                                            {"VEC", std::to_string(v)},
                                            {"FH", "3"},
                                            {"FW", "3"},
                                            {"SH", stride},
                                            {"SW", stride},
                                            {"DH", "1"},
                                            {"DW", "1"},
                                            {"STRIP", std::to_string(strip)}});
    Address x = x_.address(), w = w_.address(), none = 0, y = y_.address();
    float zero = 0;
    void* arguments[] = {&x, &w, &none, &none, &y, &d, &zero, &zero};
    CUevent begin = nullptr, end = nullptr;
    check(driver().event_create(&begin, 0), "event");
    check(driver().event_create(&end, 0), "event");
    constexpr int kTimes = 200;  // the queue is never empty
    for (int i = 0; i < kTimes; ++i) {
      if (i == kTimes / 2) check(driver().event_record(begin, stream_), "event");
      check(driver().launch(k.function(), unsigned((d.count + 127) / 128), 1, 1, 128, 1, 1, 0, stream_, arguments,
                            nullptr),
            "depthwise kernel");
    }
    check(driver().event_record(end, stream_), "event");
    check(driver().event_synchronize(end), "depthwise kernel");
    float milliseconds = 0;
    check(driver().event_elapsed(&milliseconds, begin, end), "event");
    driver().event_destroy(begin);
    driver().event_destroy(end);
    return milliseconds * 1000 / (kTimes / 2);
  }

  /// The largest difference over the root mean square of what is expected.
  double difference(const ConvPlan& plan, const ConvProblem& p) {
    const Block workspace(device_, plan.workspace());
    check(driver().fill_bytes(y_.address(), 0xff, y_.bytes(), stream_), "fill");
    plan.run(stream_, {x_.address(), w_.address(), y_.address(), bias_.address(), residual_.address(),
                       plan.workspace() ? workspace.address() : 0});
    check(driver().stream_synchronize(stream_), "run");
    const auto got = read(y_, volume(p.y));
    double most = 0, squares = 0;
    for (size_t i = 0; i < got.size(); ++i) {
      const double d = std::fabs(double(got[i]) - want_[i]);
      most = d > most || d != d ? d : most;
      squares += double(want_[i]) * want_[i];
    }
    return most / std::sqrt(squares / double(got.size()) + 1e-30);
  }

 private:
  size_t bytes(int64_t count) const { return size_t(count) * size_of(type_); }
  Block fill(int64_t count, float scale) {
    static std::mt19937 random(7);
    std::uniform_real_distribution<float> draw(-scale, scale);
    std::vector<float> wide(static_cast<size_t>(count));
    std::vector<uint16_t> narrow(wide.size());
    for (size_t i = 0; i < wide.size(); ++i) {
      wide[i] = draw(random);
      if (type_ != kFloat) narrow[i] = half_bits(wide[i], type_);
    }
    Block block(device_, bytes(count));
    const void* from = type_ == kFloat ? static_cast<const void*>(wide.data()) : narrow.data();
    check(driver().copy_to_device(block.address(), from, bytes(count), nullptr), "upload");
    check(driver().stream_synchronize(nullptr), "upload");
    return block;
  }
  std::vector<float> read(const Block& block, int64_t count) const {
    std::vector<float> values(static_cast<size_t>(count));
    std::vector<uint16_t> narrow(values.size());
    void* to = type_ == kFloat ? static_cast<void*>(values.data()) : narrow.data();
    check(driver().copy_to_host(to, block.address(), bytes(count), stream_), "download");
    check(driver().stream_synchronize(stream_), "download");
    if (type_ != kFloat)
      for (size_t i = 0; i < values.size(); ++i) values[i] = half_value(narrow[i], type_);
    return values;
  }

  Device& device_;
  Type type_;
  CUstream stream_ = nullptr;
  Block x_, w_, bias_, residual_, y_, expected_;
  std::vector<float> want_;
};

int wrong = 0;

void probe(Device& device, const Case& c, Type type, bool tf32, const ConvEpilogue& epilogue, const char* what) {
  const bool last = type != kFloat || tf32;
  ConvProblem p = problem_of(c, type, tf32, last);
  p.epilogue = epilogue;
  const char* const name = type == kHalf ? "f16" : type == kBfloat ? "bf16" : tf32 ? "tf32" : "f32";
  std::string reasons;
  const double start = now();
  try {
    Bench bench(device, p);
    bench.reference(p, c.transposed ? c.out / p.w[1] : c.in / p.w[1]);
    const double begin = now();
    const auto plans = device.convolutions().candidates(p, 6, true, reasons);
    const double seconds = now() - begin;
    const double operations = 2.0 * double(volume(c.transposed ? p.x : p.y)) * double(volume(p.w)) / double(p.w[0]);
    std::printf("%s %s %s: %zu plans in %.2f s\n", c.name.c_str(), name, what, plans.size(), seconds);
    const double allowed = type == kHalf ? 0.02 : type == kBfloat ? 0.12 : tf32 ? 0.02 : 2e-4;
    for (const auto& plan : plans) {
      const double d = bench.difference(*plan, p);
      const bool bad = !(d <= allowed);
      wrong += bad;
      std::printf("  %8.2f us %7.1f TFLOP/s  error %.1e%s  workspace %zu  %s\n", plan->microseconds(),
                  operations / plan->microseconds() / 1e6, d, bad ? " WRONG" : "", plan->workspace(),
                  plan->engine().c_str());
    }
    if (c.group == c.in && c.filter == Dims{3, 3})
      for (const int strip : {1, 2, 4})
        std::printf("  %8.2f us by the provider's kernel, %d outputs per thread\n", bench.depthwise(p, strip), strip);
  } catch (const std::exception& e) {
    std::printf("%s %s %s: FAILED after %.2f s: %s\n", c.name.c_str(), name, what, now() - start, e.what());
  }
  if (!reasons.empty()) std::printf("  refused:\n%.*s", int(std::min<size_t>(reasons.size(), 1500)), reasons.c_str());
  std::fflush(stdout);
}

struct Epilogues {
  ConvEpilogue none, relu, sum, bias;
  Epilogues() {
    bias.bias = relu.bias = sum.bias = sum.residual = true;
    relu.activation = sum.activation = ConvActivation::relu;
  }
};

int run(double most, const std::string& part) {
  Device& device = Device::get(0);
  device.enter();
  std::printf("%s, cuDNN %zu\n", device.name().c_str(), dnn::table().version());
  const double end = now() + most;
  const Epilogues e;
  const auto all = [&](const std::vector<Case>& cases, Type type, bool tf32, const ConvEpilogue& epilogue,
                       const char* what) {
    for (const Case& c : cases)
      if ((c.name + " " + what).find(part) != std::string::npos && now() < end)
        probe(device, c, type, tf32, epilogue, what);
  };
  const auto stem = std::vector<Case>{conv("stem of 4 channels", 1, 4, 64, 224, 7, 2)};
  const auto stem8 = std::vector<Case>{conv("stem of 8 channels", 1, 8, 64, 224, 7, 2)};
  const auto plain = std::vector<Case>{conv("plain 56", 1, 64, 64, 56, 3)};
  all(plain, kHalf, false, e.none, "bare");
  all(plain, kFloat, true, e.none, "bare");
  all(plain, kFloat, false, e.none, "bare");
  all(plain, kFloat, false, e.relu, "bias relu");
  all(plain, kBfloat, false, e.relu, "bias relu");
  all(plain, kHalf, false, e.bias, "bias");
  all(resnet(1), kHalf, false, e.relu, "bias relu");
  all(plain, kHalf, false, e.sum, "sum bias relu");
  all(stem8, kHalf, false, e.relu, "bias relu");
  all(stem, kFloat, true, e.relu, "bias relu");
  all(others(), kHalf, false, e.none, "bare");
  all(others(), kFloat, true, e.none, "bare");
  all(resnet(1), kFloat, true, e.relu, "bias relu");
  all(resnet(1), kHalf, false, e.none, "bare");
  all(resnet(8), kHalf, false, e.sum, "sum bias relu");
  all(resnet(8), kFloat, true, e.sum, "sum bias relu");
  std::printf("%d wrong results%s\n", wrong, now() < end ? "" : "; out of time");
  return wrong ? 1 : 0;
}

}  // namespace
}  // namespace providers::cuda

int main(int count, char** arguments) {
  try {
    return providers::cuda::run(count > 1 ? std::atof(arguments[1]) : 75, count > 2 ? arguments[2] : "");
  } catch (const std::exception& e) {
    std::printf("%s\n", e.what());
    return 2;
  }
}
