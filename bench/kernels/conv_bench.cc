// Convolution layers of ResNet50, MobileNetV2 and EfficientNet-B0 (224x224, one image): time, effective GFLOP/s (those
// of the direct sum) and percentage of the multiply-add peak of the threads' cores, which is measured on one core in
// the same run. Minima over interleaved rounds.
//
//   conv_bench [substring of a layer's name [rounds [threads [cold]]]]
//
// A layer runs twice in a row, so that the second run finds its data in the caches as far as it fits; with `cold`,
// once.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "../bench/kernels/conv_bench.cc"  // from src/, the include path
#include <hwy/foreach_target.h>                              // must come before highway.h
#include <hwy/highway.h>

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/isa_choice.h"
#include "base/thread_pool.h"
#include "kernels/conv/conv.h"
#include "kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {

// Runs 12 chains of multiply-adds; returns the number of operations, with a multiply-add as two.
double multiply_add(size_t steps, float* sink) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<float> d;
  const auto factor = hn::Set(d, 0.999f), term = hn::Set(d, 0.001f);
  auto a = hn::Iota(d, 0), b = hn::Iota(d, 1), c = hn::Iota(d, 2), e = hn::Iota(d, 3), f = hn::Iota(d, 4);
  auto g = hn::Iota(d, 5), h = hn::Iota(d, 6), i = hn::Iota(d, 7), j = hn::Iota(d, 8), k = hn::Iota(d, 9);
  auto l = hn::Iota(d, 10), m = hn::Iota(d, 11);
  for (size_t s = 0; s < steps; ++s) {
    a = hn::MulAdd(a, factor, term), b = hn::MulAdd(b, factor, term), c = hn::MulAdd(c, factor, term);
    e = hn::MulAdd(e, factor, term), f = hn::MulAdd(f, factor, term), g = hn::MulAdd(g, factor, term);
    h = hn::MulAdd(h, factor, term), i = hn::MulAdd(i, factor, term), j = hn::MulAdd(j, factor, term);
    k = hn::MulAdd(k, factor, term), l = hn::MulAdd(l, factor, term), m = hn::MulAdd(m, factor, term);
  }
  hn::StoreU(a + b + c + e + f + g + h + i + j + k + l + m, d, sink);
  return 2.0 * 12 * double(steps) * double(hn::Lanes(d));
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

struct Layer {
  const char* model;
  int count;
  size_t in_c, size, out_c, kernel, stride;
  enum Kind { dense, depthwise, first } kind;
};

constexpr Layer kLayers[] = {
    {"resnet50", 1, 3, 224, 64, 7, 2, Layer::first},
    {"resnet50", 1, 64, 56, 64, 1, 1, Layer::dense},
    {"resnet50", 3, 64, 56, 64, 3, 1, Layer::dense},
    {"resnet50", 4, 64, 56, 256, 1, 1, Layer::dense},
    {"resnet50", 2, 256, 56, 64, 1, 1, Layer::dense},
    {"resnet50", 1, 256, 56, 128, 1, 1, Layer::dense},
    {"resnet50", 1, 128, 56, 128, 3, 2, Layer::dense},
    {"resnet50", 4, 128, 28, 512, 1, 1, Layer::dense},
    {"resnet50", 1, 256, 56, 512, 1, 2, Layer::dense},
    {"resnet50", 3, 512, 28, 128, 1, 1, Layer::dense},
    {"resnet50", 3, 128, 28, 128, 3, 1, Layer::dense},
    {"resnet50", 1, 512, 28, 256, 1, 1, Layer::dense},
    {"resnet50", 1, 256, 28, 256, 3, 2, Layer::dense},
    {"resnet50", 6, 256, 14, 1024, 1, 1, Layer::dense},
    {"resnet50", 1, 512, 28, 1024, 1, 2, Layer::dense},
    {"resnet50", 5, 1024, 14, 256, 1, 1, Layer::dense},
    {"resnet50", 5, 256, 14, 256, 3, 1, Layer::dense},
    {"resnet50", 1, 1024, 14, 512, 1, 1, Layer::dense},
    {"resnet50", 1, 512, 14, 512, 3, 2, Layer::dense},
    {"resnet50", 3, 512, 7, 2048, 1, 1, Layer::dense},
    {"resnet50", 1, 1024, 14, 2048, 1, 2, Layer::dense},
    {"resnet50", 2, 2048, 7, 512, 1, 1, Layer::dense},
    {"resnet50", 2, 512, 7, 512, 3, 1, Layer::dense},
    {"mobilenet_v2", 1, 3, 224, 32, 3, 2, Layer::first},
    {"mobilenet_v2", 1, 32, 112, 32, 3, 1, Layer::depthwise},
    {"mobilenet_v2", 1, 32, 112, 16, 1, 1, Layer::dense},
    {"mobilenet_v2", 1, 16, 112, 96, 1, 1, Layer::dense},
    {"mobilenet_v2", 1, 96, 112, 96, 3, 2, Layer::depthwise},
    {"mobilenet_v2", 1, 96, 56, 24, 1, 1, Layer::dense},
    {"mobilenet_v2", 2, 24, 56, 144, 1, 1, Layer::dense},
    {"mobilenet_v2", 1, 144, 56, 144, 3, 1, Layer::depthwise},
    {"mobilenet_v2", 1, 144, 56, 24, 1, 1, Layer::dense},
    {"mobilenet_v2", 1, 144, 56, 144, 3, 2, Layer::depthwise},
    {"mobilenet_v2", 1, 144, 28, 32, 1, 1, Layer::dense},
    {"mobilenet_v2", 3, 32, 28, 192, 1, 1, Layer::dense},
    {"mobilenet_v2", 2, 192, 28, 192, 3, 1, Layer::depthwise},
    {"mobilenet_v2", 2, 192, 28, 32, 1, 1, Layer::dense},
    {"mobilenet_v2", 1, 192, 28, 192, 3, 2, Layer::depthwise},
    {"mobilenet_v2", 1, 192, 14, 64, 1, 1, Layer::dense},
    {"mobilenet_v2", 4, 64, 14, 384, 1, 1, Layer::dense},
    {"mobilenet_v2", 4, 384, 14, 384, 3, 1, Layer::depthwise},
    {"mobilenet_v2", 3, 384, 14, 64, 1, 1, Layer::dense},
    {"mobilenet_v2", 1, 384, 14, 96, 1, 1, Layer::dense},
    {"mobilenet_v2", 3, 96, 14, 576, 1, 1, Layer::dense},
    {"mobilenet_v2", 2, 576, 14, 576, 3, 1, Layer::depthwise},
    {"mobilenet_v2", 2, 576, 14, 96, 1, 1, Layer::dense},
    {"mobilenet_v2", 1, 576, 14, 576, 3, 2, Layer::depthwise},
    {"mobilenet_v2", 1, 576, 7, 160, 1, 1, Layer::dense},
    {"mobilenet_v2", 3, 160, 7, 960, 1, 1, Layer::dense},
    {"mobilenet_v2", 3, 960, 7, 960, 3, 1, Layer::depthwise},
    {"mobilenet_v2", 2, 960, 7, 160, 1, 1, Layer::dense},
    {"mobilenet_v2", 1, 960, 7, 320, 1, 1, Layer::dense},
    {"mobilenet_v2", 1, 320, 7, 1280, 1, 1, Layer::dense},
    {"efficientnet_b0", 1, 144, 56, 144, 5, 2, Layer::depthwise},
    {"efficientnet_b0", 2, 240, 28, 240, 5, 1, Layer::depthwise},
    {"efficientnet_b0", 1, 240, 28, 240, 3, 2, Layer::depthwise},
    {"efficientnet_b0", 2, 480, 14, 480, 3, 1, Layer::depthwise},
    {"efficientnet_b0", 1, 480, 14, 480, 5, 1, Layer::depthwise},
    {"efficientnet_b0", 2, 672, 14, 672, 5, 1, Layer::depthwise},
    {"efficientnet_b0", 1, 672, 14, 672, 5, 2, Layer::depthwise},
    {"efficientnet_b0", 3, 1152, 7, 1152, 5, 1, Layer::depthwise},
    {"efficientnet_b0", 2, 40, 28, 240, 1, 1, Layer::dense},
    {"efficientnet_b0", 1, 240, 28, 40, 1, 1, Layer::dense},
    {"efficientnet_b0", 3, 80, 14, 480, 1, 1, Layer::dense},
    {"efficientnet_b0", 2, 480, 14, 80, 1, 1, Layer::dense},
    {"efficientnet_b0", 2, 672, 14, 112, 1, 1, Layer::dense},
    {"efficientnet_b0", 4, 192, 7, 1152, 1, 1, Layer::dense},
    {"efficientnet_b0", 3, 1152, 7, 192, 1, 1, Layer::dense},
    {"other", 1, 16, 160, 16, 3, 1, Layer::dense},
    {"other", 1, 32, 80, 32, 3, 1, Layer::dense},
    {"other", 1, 64, 40, 64, 3, 1, Layer::dense},
    {"other", 1, 128, 14, 128, 3, 1, Layer::dense},
    {"other", 1, 16, 55, 64, 3, 1, Layer::dense},
    {"other", 1, 32, 27, 128, 3, 1, Layer::dense},
    {"other", 1, 48, 13, 192, 3, 1, Layer::dense},
    {"other", 1, 64, 13, 256, 3, 1, Layer::dense},
    {"other", 1, 128, 7, 128, 3, 1, Layer::dense},
    {"other", 1, 256, 7, 256, 3, 1, Layer::dense},
    {"other", 1, 16, 9, 16, 3, 1, Layer::dense},
    {"other", 1, 512, 20, 512, 3, 1, Layer::dense},
    {"other", 1, 96, 56, 96, 7, 1, Layer::depthwise},
    {"other", 1, 384, 14, 384, 7, 1, Layer::depthwise},
    {"other", 1, 768, 7, 768, 7, 1, Layer::depthwise},
};

ConvShape shape_of(const Layer& l) {
  ConvShape s;
  s.in_h = s.in_w = l.size;
  s.in_c = s.in_pixel_stride = l.in_c;
  s.out_c = s.out_pixel_stride = l.out_c;
  s.kernel_h = s.kernel_w = l.kernel;
  s.stride_h = s.stride_w = l.stride;
  s.pad_top = s.pad_left = l.kernel / 2;
  s.out_h = s.out_w = (l.size + 2 * (l.kernel / 2) - l.kernel) / l.stride + 1;
  s.groups = l.kind == Layer::depthwise ? l.in_c : 1;
  s.input_is_nchw = l.kind == Layer::first;
  return s;
}

// Pairs of an output pixel and a tap inside the image: multiplications with padding do not count.
size_t taps_inside(const ConvShape& s) {
  size_t pairs = 0;
  for (size_t y = 0; y < s.out_h; ++y) {
    for (size_t i = 0; i < s.kernel_h; ++i) pairs += y * s.stride_h + i - s.pad_top < s.in_h;
  }
  return pairs * pairs;  // the images and kernels are square
}

struct Free {
  void operator()(float* p) const { std::free(p); }
};
using Buffer = std::unique_ptr<float, Free>;

Buffer buffer(size_t bytes) {
  constexpr size_t kPage = 2 << 20;  // huge pages, as in the arena of a session
  bytes = bytes / kPage * kPage + kPage;
  float* p = static_cast<float*>(std::aligned_alloc(kPage, bytes));
  madvise(p, bytes, MADV_HUGEPAGE);
  for (size_t i = 0; i < bytes / sizeof(float); ++i) p[i] = float(i % 61) / 61 - 0.5f;
  return Buffer(p);
}

/// One way to compute one layer, which is timed repeatedly.
class Subject {
 public:
  Subject(const Layer& layer, ConvAlgorithm algorithm, const Parallel& par) : layer_(layer), par_(par) {
    const ConvShape s = shape_of(layer);
    args_.shape = s;
    args_.algorithm = algorithm;
    const size_t in_of_group = s.in_c / s.groups;
    macs_ = double(s.batch * taps_inside(s) * s.out_c * in_of_group);
    input_ = buffer(s.batch * s.in_h * s.in_w * s.in_c * sizeof(float));
    output_ = buffer(s.out_pixels() * s.out_c * sizeof(float));
    const Buffer weights = buffer(s.out_c * (s.in_c / s.groups) * s.kernel_h * s.kernel_w * sizeof(float));
    packed_ = buffer(conv_packed_bytes(s, algorithm));
    conv_pack(s, algorithm, weights.get(), packed_.get());
    scratch_ = buffer(conv_scratch_bytes(s, algorithm, par.workers()));
    bias_ = buffer(s.out_c * sizeof(float));
    args_.input = input_.get();
    args_.output = output_.get();
    args_.packed = packed_.get();
    args_.epilogue.bias = bias_.get();
    args_.epilogue.activation.kind = Activation::Kind::relu;
  }

  void time_once() {
    const Clock::time_point start = Clock::now();
    conv(args_, scratch_.get(), par_);
    best_ = std::min(best_, seconds_since(start));
  }

  bool matches(const char* part) const { return name().find(part) != std::string::npos; }
  double best() const { return best_; }
  int count() const { return layer_.count; }
  const char* model() const { return layer_.model; }
  ConvAlgorithm algorithm() const { return args_.algorithm; }
  bool chosen() const { return choose_conv(args_.shape, false) == args_.algorithm; }

  void print(double peak) const {
    const double rate = 2 * macs_ / best_;
    std::printf("%-52s %9.1f us %8.1f GFLOP/s %6.1f %%%s\n", name().c_str(), best_ * 1e6, rate * 1e-9,
                100 * rate / peak, chosen() ? "" : "  (not chosen)");
  }

 private:
  std::string name() const {
    char text[128];
    std::snprintf(text, sizeof text, "%s %zu->%zu @%zu %zux%zu/%zu %s", layer_.model, layer_.in_c, layer_.out_c,
                  layer_.size, layer_.kernel, layer_.kernel, layer_.stride, conv_algorithm_name(args_.algorithm));
    return text;
  }

  Layer layer_;
  Parallel par_;
  ConvArgs args_;
  Buffer input_, output_, packed_, scratch_, bias_;
  double macs_ = 0;
  double best_ = 1e9;
};

double measure_peak() {
  float sink[64];
  const Clock::time_point start = Clock::now();
  const double operations = RETORT_SELECT(multiply_add)(20000, sink);
  return operations / seconds_since(start);
}

void add_subjects(std::vector<Subject>& subjects, const char* part, const Parallel& par) {
  for (const Layer& layer : kLayers) {
    const ConvAlgorithm best = choose_conv(shape_of(layer), false);
    const bool both = layer.kernel == 3 && layer.stride == 1 && layer.kind == Layer::dense;
    std::vector<ConvAlgorithm> algorithms{best};
    if (both) algorithms = {ConvAlgorithm::rows, ConvAlgorithm::winograd4, ConvAlgorithm::winograd2};
    for (const ConvAlgorithm a : algorithms) {
      Subject subject(layer, a, par);
      if (subject.matches(part)) subjects.push_back(std::move(subject));
    }
  }
}

struct Options {
  const char* part = "";
  int rounds = 20;
  int threads = 1;
  bool cold = false;
};

int run(const Options& options) {
  ThreadPool pool({.threads = options.threads, .linger = std::chrono::milliseconds(10)});
  std::vector<Subject> subjects;
  add_subjects(subjects, options.part, Parallel(&pool, nullptr));
  double peak = 0;
  for (int r = 0; r < options.rounds; ++r) {
    peak = std::max(peak, measure_peak() * options.threads);
    for (Subject& s : subjects) {
      s.time_once();
      if (!options.cold) s.time_once();
    }
  }
  std::printf("%s, multiply-add peak %.1f GFLOP/s\n", isa_name(current_isa()), peak * 1e-9);
  double total = 0;
  for (size_t i = 0; i < subjects.size(); ++i) {
    subjects[i].print(peak);
    if (subjects[i].chosen()) total += subjects[i].best() * subjects[i].count();
    const bool last = i + 1 == subjects.size() || std::strcmp(subjects[i].model(), subjects[i + 1].model()) != 0;
    if (last) std::printf("%-52s %9.1f us all its layers\n", subjects[i].model(), total * 1e6), total = 0;
  }
  return 0;
}

}  // namespace
}  // namespace retort::kernels

int main(int argc, char** argv) try {
  retort::require_chosen_isa();
  retort::kernels::Options options;
  if (argc > 1) options.part = argv[1];
  if (argc > 2) options.rounds = std::atoi(argv[2]);
  if (argc > 3) options.threads = std::atoi(argv[3]);
  options.cold = argc > 4;
  return retort::kernels::run(options);
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 2;
}
#endif
