// The inputs of a search in a run, without captures of its graphs.
#pragma once
#include <string_view>

#include "base/error.h"
#include "ops/expect_shape.h"
#include "ops/search/common/score_rules.h"
#include "ops/search/common/subgraphs.h"

namespace retort::ops {

class SearchInputs {
 public:
  explicit SearchInputs(const RunContext& c) : c_(c), own_(own_inputs(c)) {}
  bool has(size_t i) const { return i < own_ && c_.has(i); }
  const Shape& shape(size_t i) const { return c_.shape(i); }

  /// The one element of input i, or `otherwise` if it is omitted; throws invalid_argument if it has another number of
  /// elements.
  int64_t number(size_t i, std::string_view name, int64_t otherwise) const {
    return single<int32_t, int64_t>(i, name, otherwise);
  }
  float real(size_t i, std::string_view name, float otherwise) const {
    return single<float, float>(i, name, otherwise);
  }
  /// int32 elements of input i, or null; throws invalid_argument if it has another shape.
  const int32_t* optional(size_t i, std::string_view name, const Shape& wanted) const {
    if (!has(i)) return nullptr;
    expect_shape(c_, i, name, wanted);
    return c_.input<int32_t>(i).data();
  }
  std::span<const int32_t> tokens(size_t i) const { return c_.input<int32_t>(i); }
  /// Input i, in the same memory.
  Tensor view(size_t i) const { return Tensor(c_.dtype(i), c_.shape(i), c_.in_slot(i).data, nullptr); }

 private:
  template <typename T, typename R>
  R single(size_t i, std::string_view name, R otherwise) const {
    if (!has(i)) return otherwise;
    require(c_.dtype(i) == dtype_of<T> && c_.count(i) == 1, ErrorCode::invalid_argument, "{} is {}{}, expected one {}",
            name, dtype_name(c_.dtype(i)), c_.shape(i), dtype_name(dtype_of<T>));
    return R(c_.input<T>(i)[0]);
  }

  const RunContext& c_;
  size_t own_;
};

/// Where a search has the inputs of its rules.
struct RuleInputs {
  size_t min_length, repetition_penalty, vocab_mask, prefix_vocab_mask;
};
/// The rules that these inputs give for `batch` entries; throws invalid_argument on values and shapes that do not fit.
ScoreRules read_rules(const SearchInputs& in, const RuleInputs& i, size_t batch, size_t vocabulary);

/// Checks that the rank of input 0 is known and `rank`, and returns its first extent, the batch.
inline Dim batch_of(const InferContext& c, size_t rank) {
  require(c.rank(0) == rank, ErrorCode::invalid_argument, "input 0 has shape {}, expected {} axes",
          c.dims().text(c.shape(0)), rank);
  return c.shape(0)[0];
}

/// The value of an input of one element if it is known and not negative; otherwise a new symbol.
inline Dim extent_of(const InferContext& c, size_t i) {
  const auto value = c.try_value(i);
  const bool known = value && value->size() == 1 && (!is_known((*value)[0]) || (*value)[0] >= 0);
  return known ? (*value)[0] : c.unknown_extent();
}

}  // namespace retort::ops
