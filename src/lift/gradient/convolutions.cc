// Derivatives of Conv and ConvTranspose. Each is the derivative of the other by its input, with the same weights. The
// derivative by the weights is a convolution of the longer tensor with the shorter one, with channels and images
// exchanged, and strides and dilations exchanged.
#include <algorithm>

#include "base/error.h"
#include "lift/gradient/backward.h"

namespace retort::gradient {
namespace {

using Ints = std::vector<int64_t>;

/// The attributes of the node, complete.
struct Window {
  size_t spatial = 0;
  Ints strides, dilations, pads;
  int64_t group = 1;
};

Window window_of(Backward& b) {
  Window w{.spatial = b.rank(b.x(0)) - 2};
  const std::string auto_pad = b.attribute<std::string>("auto_pad", "NOTSET");
  require(auto_pad == "NOTSET" || auto_pad == "VALID", ErrorCode::not_implemented,
          "its auto_pad is {}; give it pads instead", auto_pad);
  w.strides = b.attribute("strides", Ints(w.spatial, 1));
  w.dilations = b.attribute("dilations", Ints(w.spatial, 1));
  w.pads = auto_pad == "VALID" ? Ints(2 * w.spatial, 0) : b.attribute("pads", Ints(2 * w.spatial, 0));
  w.group = b.attribute("group", int64_t(1));
  return w;
}

Ints axes_from(int64_t first, size_t count) {
  Ints axes(count);
  for (size_t i = 0; i < count; ++i) axes[i] = first + int64_t(i);
  return axes;
}

/// Of the spatial axes of `t`, as many elements as `like` has, beginning at `from`.
Term cut(Backward& b, Term t, Term like, size_t spatial, const Ints& from) {
  const Term begin = b.ints(from), extents = b.extents(like, 2, int64_t(spatial) + 2);
  return b.call("Slice", {t, begin, b.call("Add", {begin, extents}), b.ints(axes_from(2, spatial))});
}

/// [A, group · B, …] as [B, group · A, …].
Term exchanged(Backward& b, Term t, const Window& w) {
  const int64_t rank = int64_t(w.spatial) + 2;
  Ints perm{1, 0};
  for (int64_t d = 2; d < rank; ++d) perm.push_back(d);
  if (w.group == 1) return b.transposed(t, perm);
  const auto joined = [&](std::vector<Term> parts) { return b.call("Concat", parts, {{"axis", int64_t(0)}}); };
  const Term rest = b.extents(t, 2, rank);
  const Term split = b.reshaped(
      t, joined({b.extents(t, 0, 1), b.ints({w.group}), b.call("Div", {b.extents(t, 1, 2), b.ints({w.group})}), rest}));
  Ints turn{2, 1, 0};
  for (int64_t d = 3; d <= rank; ++d) turn.push_back(d);
  const Term turned = b.transposed(split, turn);
  const Term channels = b.call("Mul", {b.extents(t, 0, 1), b.ints({w.group})});
  return b.reshaped(turned, joined({b.extents(turned, 0, 1), channels, rest}));
}

/// The derivative by weights [M, C / group, k…]. Windows slide over `wide`, [N, C, …]; `narrow`, [N, M, …], is one
/// element for each window.
Term by_weights(Backward& b, Term wide, Term narrow, const Window& w) {
  const Term images = exchanged(b, wide, w);  // [C / group, group · N, …]
  Ints perm{1, 0};
  for (size_t d = 0; d < w.spatial; ++d) perm.push_back(int64_t(d) + 2);
  const Term kernels = b.transposed(narrow, perm);  // [M, N, …]
  const Term all = b.call("Conv", {images, kernels},
                          {{"strides", w.dilations}, {"dilations", w.strides}, {"pads", w.pads}, {"group", w.group}});
  return cut(b, b.transposed(all, perm), b.x(1), w.spatial, Ints(w.spatial, 0));
}

void bias(Backward& b, size_t spatial) {
  if (!b.wants(2)) return;
  Ints axes{0};
  for (size_t d = 0; d < spatial; ++d) axes.push_back(int64_t(d) + 2);
  b.give(2, b.call("ReduceSum", {b.dy(), b.ints(axes)}, {{"keepdims", int64_t(0)}}));
}

void conv(Backward& b) {
  const Window w = window_of(b);
  if (b.wants(0)) {
    // The largest output padding and no pads: the result has every element that a window has read.
    Ints more(w.spatial);
    for (size_t d = 0; d < w.spatial; ++d) more[d] = std::max<int64_t>(w.strides[d] - 1, 0);
    const Term all =
        b.call("ConvTranspose", {b.dy(), b.x(1)},
               {{"strides", w.strides}, {"dilations", w.dilations}, {"output_padding", more}, {"group", w.group}});
    const auto first = w.pads.begin();
    b.give(0, cut(b, all, b.x(0), w.spatial, Ints(first, first + int64_t(w.spatial))));
  }
  if (b.wants(1)) b.give(1, by_weights(b, b.x(0), b.dy(), w));
  bias(b, w.spatial);
}

void conv_transpose(Backward& b) {
  const Window w = window_of(b);
  require(!b.attributes().find("output_shape"), ErrorCode::not_implemented,
          "its output_shape decides the pads; give it pads instead");
  if (b.wants(0)) {
    const Term all = b.call("Conv", {b.dy(), b.x(1)},
                            {{"strides", w.strides}, {"dilations", w.dilations}, {"pads", w.pads}, {"group", w.group}});
    b.give(0, cut(b, all, b.x(0), w.spatial, Ints(w.spatial, 0)));
  }
  if (b.wants(1)) b.give(1, by_weights(b, b.dy(), b.x(0), w));
  bias(b, w.spatial);
}

constexpr GradientRule kConvolutionRules[] = {{"Conv", conv}, {"ConvTranspose", conv_transpose}};

}  // namespace

constinit const GradientRules kConvolutionGradients{kConvolutionRules};

}  // namespace retort::gradient
