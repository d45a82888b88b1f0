// Test support: a description of a convolution, its random data, and the comparison with the plain loop at every
// instruction level.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/cpu.h"
#include "base/error.h"
#include "base/half.h"
#include "base/thread_pool.h"
#include "kernels/conv/conv.h"
#include "kernels/conv/conv_plan.h"
#include "kernels/conv/windows.h"
#include "kernels/elementwise/kernel_testing.h"

namespace retort::kernels {

using testing::Lines;

enum class Residual { none, separate, in_place };

struct ConvCase {
  size_t in_c = 1, out_c = 1, in_h = 1, in_w = 1, batch = 1;
  size_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  size_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  size_t groups = 1;
  size_t in_gap = 0, out_gap = 0;  ///< floats between the channels of one pixel and those of the next
  bool input_is_nchw = false, scaled_input = false, bias = true;
  Residual residual = Residual::none;
  Activation activation;
  float poison = 0;  ///< if not 0: the value of one input element
  ConvAlgorithm algorithm = ConvAlgorithm::rows;

  ConvCase with(ConvAlgorithm a) const {
    ConvCase c = *this;
    c.algorithm = a;
    return c;
  }

  void pad_all(size_t pad) { pad_top = pad_left = pad_bottom = pad_right = pad; }

  ConvShape shape() const {
    ConvShape s;
    s.batch = batch, s.in_h = in_h, s.in_w = in_w, s.in_c = in_c, s.out_c = out_c;
    s.kernel_h = kernel_h, s.kernel_w = kernel_w, s.stride_h = stride_h, s.stride_w = stride_w;
    s.dilation_h = dilation_h, s.dilation_w = dilation_w, s.pad_top = pad_top, s.pad_left = pad_left;
    s.out_h = (in_h + pad_top + pad_bottom - (kernel_h - 1) * dilation_h - 1) / stride_h + 1;
    s.out_w = (in_w + pad_left + pad_right - (kernel_w - 1) * dilation_w - 1) / stride_w + 1;
    s.groups = groups, s.in_pixel_stride = in_c + in_gap, s.out_pixel_stride = out_c + out_gap;
    s.input_is_nchw = input_is_nchw, s.scaled_input = scaled_input;
    return s;
  }

  std::string name() const {
    const ConvShape s = shape();
    return cat(
        "algorithm {} batch {} in {}x{}x{} out {}x{}x{} kernel {}x{} stride {}x{} dilation {}x{} pad {},{} groups {} "
        "activation {} residual {} {}",
        conv_algorithm_name(algorithm), batch, in_h, in_w, in_c, s.out_h, s.out_w, out_c, kernel_h, kernel_w, stride_h,
        stride_w, dilation_h, dilation_w, pad_top, pad_left, groups, int(activation.kind), int(residual),
        isa_name(current_isa()));
  }
};

/// Random input, weights, bias and residual of a case.
class ConvData {
 public:
  static constexpr float kGuard = 12345.0f;  ///< fills gaps and the ends of outputs
  static constexpr size_t kEnd = 64;         ///< number of guard floats after the last pixel

  explicit ConvData(const ConvCase& c) : case_(c), shape_(c.shape()) {
    std::mt19937 random(unsigned(c.in_c * 31 + c.out_c));
    std::normal_distribution<float> normal;
    const auto fill = [&](size_t n) { return testing::drawn(normal, random, n); };
    const ConvShape& s = shape_;
    input_ = fill(s.batch * s.in_h * s.in_w * s.in_pixel_stride);
    if (c.poison != 0 && !input_.empty()) input_[s.in_h * s.in_w / 2 * s.in_pixel_stride + s.in_c / 2] = c.poison;
    weights_ = fill(s.out_c * (s.in_c / s.groups) * s.kernel_h * s.kernel_w);
    const float unit = 1 / std::sqrt(float(std::max<size_t>(s.in_c / s.groups * s.kernel_h * s.kernel_w, 1)));
    for (float& w : weights_) w *= unit;  // sums have magnitude about 1, whatever their length
    bias_ = fill(s.out_c);
    residual_ = fill(s.out_pixels() * s.out_pixel_stride);
    scale_ = fill(s.batch * s.in_c);
  }

  void use(ConvAlgorithm algorithm) { case_.algorithm = algorithm; }

  /// The whole output of conv() at the current level, including gaps and guards.
  std::vector<float> run(const Parallel& par) const {
    std::vector<float> output = fresh_output();
    ConvArgs args = make_args(output);
    Lines packed(conv_packed_bytes(shape_, case_.algorithm));
    conv_pack(shape_, case_.algorithm, weights_.data(), packed.floats());
    Lines scratch(conv_scratch_bytes(shape_, case_.algorithm, par.workers()));
    args.packed = packed.floats();
    conv(args, scratch.floats(), par);
    return output;
  }

  /// Rounds input and weights to bfloat16.
  void round() {
    for (auto* v : {&input_, &weights_}) {
      for (float& x : *v) x = float(bfloat16(x));
    }
  }

  /// Makes inputs small whole numbers, and weights small multiples of 4: Winograd's F(2x2) of them is exact in bfloat16.
  void make_whole() {
    float largest = 0;
    for (const float w : weights_) largest = std::max(largest, std::fabs(w));
    for (float& x : input_) x = std::nearbyint(x);
    for (float& w : weights_) w = 4 * std::nearbyint(w * (3 / largest));
  }

  std::vector<float> reference() const {
    std::vector<float> output = fresh_output();
    conv_reference(make_args(output), weights_.data());
    return output;
  }

 private:
  std::vector<float> fresh_output() const {
    std::vector<float> output(shape_.out_pixels() * shape_.out_pixel_stride + kEnd, kGuard);
    if (case_.residual != Residual::in_place) return output;
    for (size_t p = 0; p < shape_.out_pixels(); ++p) {
      const size_t at = p * shape_.out_pixel_stride;
      std::copy_n(residual_.begin() + ptrdiff_t(at), shape_.out_c, output.begin() + ptrdiff_t(at));
    }
    return output;
  }

  ConvArgs make_args(std::vector<float>& output) const {
    ConvArgs a;
    a.shape = shape_;
    a.algorithm = case_.algorithm;
    a.input = input_.data();
    a.output = output.data();
    a.input_scale = case_.scaled_input ? scale_.data() : nullptr;
    a.epilogue.bias = case_.bias ? bias_.data() : nullptr;
    a.epilogue.residual = case_.residual == Residual::none       ? nullptr
                          : case_.residual == Residual::separate ? residual_.data()
                                                                 : output.data();
    a.epilogue.residual_stride = shape_.out_pixel_stride;
    a.epilogue.activation = case_.activation;
    return a;
  }

  ConvCase case_;
  ConvShape shape_;
  std::vector<float> input_, weights_, bias_, residual_, scale_;
};

/// Number of elements that differ by more than the tolerance. Guards must be equal; `spread` allows NaN anywhere.
inline size_t differing(const std::vector<float>& want, const std::vector<float>& got, float tolerance, bool spread) {
  size_t wrong = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    if (std::isnan(want[i])) {
      wrong += !std::isnan(got[i]);
    } else if (want[i] == ConvData::kGuard) {
      wrong += got[i] != want[i];
    } else if (!(spread && std::isnan(got[i]))) {
      wrong += !(std::fabs(want[i] - got[i]) <= tolerance);
    }
  }
  return wrong;
}

/// Checks that conv() by each of the algorithms equals conv_reference() at every level, and that gaps and guards keep
/// their values.
inline void check_conv(const ConvCase& c, const std::vector<ConvAlgorithm>& algorithms) {
  ConvData data(c);
  const std::vector<float> want = data.reference();
  float largest = 1;
  for (const float w : want) {
    if (w != ConvData::kGuard && std::isfinite(w)) largest = std::max(largest, std::fabs(w));
  }
  for (const ConvAlgorithm algorithm : algorithms) {
    data.use(algorithm);
    const bool winograd = is_winograd(algorithm);
    const float tolerance = largest * (winograd ? 1e-5f : algorithm == ConvAlgorithm::strassen ? 5e-6f : 2e-6f);
    for (int level = 0; level <= int(best_isa()); ++level) {
      const ScopedIsa isa{Isa(level)};
      const std::vector<float> got = data.run(Parallel());
      EXPECT_EQ(differing(want, got, tolerance, winograd && c.poison != 0), 0u) << c.with(algorithm).name();
    }
  }
}

inline void check_conv(const ConvCase& c) { check_conv(c, {c.algorithm}); }

/// Checks that conv() gives the same bits for any number of threads.
inline void check_threads(const ConvCase& c) {
  const ConvData data(c);
  const std::vector<float> once = data.run(Parallel());
  for (const int threads : {2, 3, 4, 5, 7}) {
    ThreadPool pool({.threads = threads});
    const std::vector<float> again = data.run(Parallel(&pool, nullptr));
    EXPECT_EQ(std::memcmp(once.data(), again.data(), once.size() * sizeof(float)), 0)
        << c.name() << " threads " << threads;
  }
}

/// The algorithm of a plain sum with any kernel.
inline ConvAlgorithm plain_algorithm(const ConvCase& c) {
  return conv_detail::suits_windows(c.shape()) ? ConvAlgorithm::windows : ConvAlgorithm::rows;
}

/// Checks the algorithms that add all products one by one, as far as they suit the shape.
inline void check_plain_sums(const ConvCase& c) {
  std::vector<ConvAlgorithm> algorithms{ConvAlgorithm::rows};
  if (conv_detail::suits_lines(c.shape())) algorithms.push_back(ConvAlgorithm::lines);
  if (conv_detail::suits_strips(c.shape())) algorithms.push_back(ConvAlgorithm::strips);
  check_conv(c, algorithms);
}

}  // namespace retort::kernels
