#include "ops/search/common/cross_attention.h"

#include <algorithm>

#include "base/error.h"
#include "base/half.h"
#include "ops/search/common/caches.h"

namespace retort::ops {

// Without a choice, all heads of all layers.
void CrossAttention::choose(std::span<const Value> layers) {
  const Shape& first = returned_tensor(layers[0], 4, "a product of queries and keys").shape();
  frames_ = size_t(first[3]);
  if (heads_.empty()) {
    for (size_t layer = 0; layer < layers.size(); ++layer) {
      for (size_t head = 0; head < size_t(first[1]); ++head) heads_.push_back({layer, head});
    }
  }
  for (const Head& h : heads_) {
    require(h.layer < layers.size() && h.head < size_t(first[1]), ErrorCode::invalid_argument,
            "cross_qk_layer_head names layer {} and head {}, but there are {} layers of {} heads", h.layer, h.head,
            layers.size(), first[1]);
  }
}

void CrossAttention::keep(std::span<const Value> layers) {
  if (steps_.empty()) choose(layers);
  const Shape first = returned_tensor(layers[0], 4, "a product of queries and keys").shape();
  for (const Value& v : layers) {
    const Tensor& t = returned_tensor(v, 4, "a product of queries and keys");
    const bool typed = t.dtype() == DType::f32 || t.dtype() == DType::f16;
    require(typed && t.shape() == first && first[2] == 1 && first[3] == int64_t(frames_), ErrorCode::invalid_argument,
            "a product of queries and keys is {}{}, expected float32 or float16 [{}, {}, 1, {}]", dtype_name(t.dtype()),
            to_string(t.shape()), first[0], first[1], frames_);
  }
  const auto rows = size_t(first[0]), all = size_t(first[1]);
  std::vector<float>& step = steps_.emplace_back(rows * heads_.size() * frames_);
  auto to = step.begin();
  for (size_t row = 0; row < rows; ++row) {
    for (const Head& h : heads_) {
      const Tensor& t = *layers[h.layer].tensor();
      const size_t from = (row * all + h.head) * frames_;
      if (t.dtype() == DType::f32)
        to = std::copy_n(t.data<float>() + from, frames_, to);
      else
        to = std::transform(t.data<float16>() + from, t.data<float16>() + from + frames_, to,
                            [](float16 x) { return float(x); });
    }
  }
}

void CrossAttention::write(const End& end, std::span<float> to) const {
  std::fill(to.begin(), to.end(), 0.0f);
  size_t row = end.row;
  // The rows of `length` tokens came from those of the choice before, and run length - begun - 1 read their last token.
  for (size_t length = end.length; length > begun_; --length) {
    const size_t step = length - begun_ - 1;
    for (size_t h = 0; h < heads_.size() && step < steps_.size(); ++h) {
      const auto from = steps_[step].begin() + ptrdiff_t((row * heads_.size() + h) * frames_);
      std::copy_n(from, frames_, to.begin() + ptrdiff_t((h * steps_.size() + step) * frames_));
    }
    row = origins_[step][row];
  }
}

}  // namespace retort::ops
