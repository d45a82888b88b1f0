// Normalisation over blocks of channels: GroupNorm, InstanceNorm (one channel per group), and the affine step alone.
#pragma once
#include <cmath>
#include <cstddef>

#include "base/function_ref.h"
#include "base/parallel.h"
#include "kernels/activation.h"

namespace retort::kernels {

/// x, y: [batch, channels, spatial], row-major; `groups` divides `channels`. Each block of channels / groups · spatial
/// elements is normalised: y = (x - mean) / sqrt(variance + epsilon) · gamma[channel] + beta[channel].
struct GroupNorm {
  size_t batch = 0, channels = 0, spatial = 0, groups = 1;
  const float* x = nullptr;
  const float* gamma = nullptr;  ///< [channels], or null for 1
  const float* beta = nullptr;   ///< [channels], or null for 0
  float epsilon = 1e-5f;
  float* y = nullptr;          ///< may be x
  Activation activation = {};  ///< of the result; only for group_norm_nhwc()
};

struct GroupMoments {
  float mean;
  double squares;  ///< sum of squares of x - mean

  float inverse_deviation(size_t count, float epsilon) const {
    return 1 / std::sqrt(float(squares / double(count)) + epsilon);
  }
};
/// Joins the moments of the pieces of a group, which are `stride` apart and have length(i) elements each, as in Chan,
/// Golub, LeVeque: Updating Formulae and a Pairwise Algorithm for Computing Sample Variances.
GroupMoments joined_moments(const GroupMoments* parts, size_t stride, size_t pieces,
                            FunctionRef<size_t(size_t)> length) noexcept;

/// Thread-safe, no allocation. Each block is summed in one fixed order.
void group_norm(const GroupNorm& args, const Parallel& par) noexcept;
void group_norm_reference(const GroupNorm& args) noexcept;

/// The same for x, y: [batch, spatial, channels], row-major. `scratch`: group_norm_nhwc_scratch() bytes, aligned for
/// double.
void group_norm_nhwc(const GroupNorm& args, void* scratch, const Parallel& par) noexcept;
size_t group_norm_nhwc_scratch(const GroupNorm& args, int workers);
void group_norm_nhwc_reference(const GroupNorm& args);

/// y[b, c, i] = activation(x[b, c, i] · scale[c] + shift[c]): BatchNormalization with folded statistics. y may be x.
struct ChannelAffine {
  size_t batch = 0, channels = 0, spatial = 0;
  const float* x = nullptr;
  const float* scale = nullptr;
  const float* shift = nullptr;
  float* y = nullptr;
  Activation activation = {};
};
void channel_affine(const ChannelAffine& args, const Parallel& par) noexcept;
void channel_affine_reference(const ChannelAffine& args);

/// y[i] = (x[i] - center) · scale + shift. y may be x.
struct Affine {
  float center = 0, scale = 1, shift = 0;
};
void affine(const Affine& args, const float* x, float* y, size_t n) noexcept;

/// y[row, c] = activation(x[row, c] · scale[c] + shift[c]), row-major: the same for channels-last images. y may be x.
struct RowAffine {
  size_t rows = 0, channels = 0;
  const float* x = nullptr;
  const float* scale = nullptr;
  const float* shift = nullptr;
  float* y = nullptr;
  Activation activation = {};
};
void row_affine(const RowAffine& args, const Parallel& par) noexcept;
void row_affine_reference(const RowAffine& args);

}  // namespace retort::kernels
