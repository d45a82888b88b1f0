// Shared by support vector machines: attributes, kernel functions, and probabilities from pairs of classes.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "ops/ml/common/features.h"
#include "ops/ml/common/packed_vectors.h"
#include "ops/ml/common/post_transform.h"

namespace retort::ops {

/// A measure of the similarity of two rows.
struct SvmKernel {
  enum class Kind : uint8_t { linear, poly, rbf, sigmoid };
  Kind kind = Kind::linear;
  float gamma = 0, coef0 = 0, degree = 0;

  /// Computes kernel values in place, from the products x · v of rows and support vectors, or for rbf from |x - v|².
  /// Serial.
  void apply(std::span<float> values) const noexcept;
  /// The reference, for x and v of n numbers.
  template <typename T>
  double operator()(const T* x, const float* v, size_t n) const {
    double sum = 0;
    for (size_t i = 0; i < n; ++i) {
      const double xi = float(x[i]), vi = v[i];
      sum += kind == Kind::rbf ? (xi - vi) * (xi - vi) : xi * vi;
    }
    return finish(sum);
  }

 private:
  double finish(double sum) const;
};

struct SvmAttributes {
  std::vector<float> coefficients, kernel_params, rho, support_vectors;
  std::string kernel_type = "LINEAR", transform = "NONE";
  static constexpr std::tuple svm_attributes{attr("coefficients", &SvmAttributes::coefficients),
                                             attr("kernel_params", &SvmAttributes::kernel_params),
                                             attr("rho", &SvmAttributes::rho),
                                             attr("support_vectors", &SvmAttributes::support_vectors),
                                             attr("kernel_type", &SvmAttributes::kernel_type),
                                             attr("post_transform", &SvmAttributes::transform)};

  /// Throws invalid_argument if attributes do not match `supports`, the number of support vectors.
  void check_svm(size_t supports) const;
  /// Each row of input 0 is multiplied by every support vector, if any, and by the coefficients.
  Cost cost(const CostContext& c) const {
    const double rows = per(c.count(0), c.extent(0, -1));
    return {.multiply_adds = rows * double(support_vectors.size() + coefficients.size())};
  }
  /// Kernel parameters that are not given are 0.
  SvmKernel kernel() const;
};

/// Packed support vectors with their kernel.
class SupportVectors {
 public:
  SupportVectors(const SvmAttributes& svm, size_t count)
      : vectors_(svm.support_vectors.data(), count, svm.support_vectors.size() / count), kernel_(svm.kernel()) {}
  /// values[r, j] = kernel(x[r], vector j) for x [rows, features]. Serial.
  void kernels(const float* x, size_t rows, float* values) const noexcept;

 private:
  PackedVectors vectors_;
  SvmKernel kernel_;
};

/// Number of rows per block, so that their kernel values stay in the second-level cache.
inline size_t svm_block_rows(size_t supports) {
  return std::clamp<size_t>((64 << 10) / std::max<size_t>(supports, 1), 8, FeatureBlocks<>::kRows);
}

/// Probabilities p[i] of n classes that agree best with those of pairs, r[i, j] of i against j, [n, n]: the iteration
/// of Wu, Lin and Weng ("Probability estimates for multi-class classification by pairwise coupling", 2004, algorithm 2)
/// with the bounds of LIBSVM, 100 rounds and an error of 0.005 / n. `space` has n · (n + 1) floats.
void couple_probabilities(const float* r, std::span<float> p, float* space) noexcept;

}  // namespace retort::ops
