#include "ops/search/common/logits.h"

#include <algorithm>

#include "base/error.h"
#include "kernels/norm/softmax.h"

namespace retort::ops {

void TokenScores::load(const Tensor& logits) {
  const Shape& s = logits.shape();
  const bool typed = logits.dtype() == DType::f32 || logits.dtype() == DType::f16;
  const bool ranked = s.rank() == 3 && s[1] > 0;
  if (ranked && vocabulary_ == 0) vocabulary_ = size_t(s[2]);
  const bool shared = ranked && s[0] == int64_t(rows_ / beams_);
  require(typed && ranked && (shared || s[0] == int64_t(rows_)) && s[2] >= int64_t(vocabulary_) && vocabulary_ > 1,
          ErrorCode::invalid_argument,
          "the subgraph returns logits {}{} for {} rows; make them float32 or float16 [{}, any, {}]",
          dtype_name(logits.dtype()), to_string(s), rows_, rows_, vocabulary_ > 1 ? vocabulary_ : size_t(2));
  values_.resize(rows_ * vocabulary_);
  const auto width = size_t(s[2]), block = size_t(s[1]) * width, last = block - width;
  for (size_t i = 0; i < rows_; ++i) {
    const size_t from = (shared ? i / beams_ : i) * block + last;
    if (logits.dtype() == DType::f32)
      std::copy_n(logits.data<float>() + from, vocabulary_, row(i).begin());
    else
      std::transform(logits.data<float16>() + from, logits.data<float16>() + from + vocabulary_, row(i).begin(),
                     [](float16 x) { return float(x); });
  }
}

void TokenScores::normalise(const Parallel& parallel) {
  kernels::softmax(
      {.outer = rows_, .extent = vocabulary_, .inner = 1, .x = values_.data(), .y = values_.data(), .log = true},
      parallel);
}

}  // namespace retort::ops
