// com.microsoft.NGramRepeatBlock: the scores, with -inf for each token that would repeat an n-gram of the ids.
#include <algorithm>
#include <atomic>
#include <limits>

#include "ops/op.h"

namespace retort::ops {
namespace {

struct NGramRepeatBlock {
  int64_t size = 0;
  static constexpr std::tuple attributes{required("ngram_size", &NGramRepeatBlock::size)};

  void check() const { require(size > 0, ErrorCode::invalid_argument, "ngram_size is {}", size); }
  void infer(InferContext& c) const {
    c.set(0, c.dtype(1));
    const Shape &ids = c.shape(0), &scores = c.shape(1);
    require(ids.rank() == 2 && scores.rank() == 2 && may_equal(ids[0], scores[0]), ErrorCode::invalid_argument,
            "input_ids and scores of shapes {} and {}, expected two matrices with as many rows", c.dims().text(ids),
            c.dims().text(scores));
    c.set(0, c.dtype(1), scores);
  }

  void run(RunContext& c) const {
    const auto words = size_t(c.shape(1)[1]), length = size_t(c.shape(0)[1]);
    std::atomic<int64_t> wrong{-1};  // position of a token that is not one of the words
    c.parallel().for_each(size_t(c.shape(0)[0]), [&](size_t row, int) {
      float* y = c.output<float>().data() + row * words;
      std::copy_n(c.input<float>(1).data() + row * words, words, y);
      const int64_t bad = ban(c.input<int64_t>(0).subspan(row * length, length), y, words);
      if (bad >= 0) wrong = int64_t(row * length) + bad;
    });
    if (wrong < 0) return;
    fail(ErrorCode::invalid_argument, "token {} is outside of [0, {})", c.input<int64_t>(0)[size_t(wrong)], words);
  }

 private:
  // The position of a banned token that is not one of the words, or -1.
  int64_t ban(std::span<const int64_t> ids, float* scores, size_t words) const {
    const auto length = int64_t(ids.size());
    if (size > length) return -1;
    const int64_t* last = ids.data() + length - (size - 1);
    for (int64_t i = 0; i + size <= length; ++i) {
      if (!std::equal(last, ids.data() + length, ids.data() + i)) continue;
      const int64_t token = ids[size_t(i + size - 1)];
      if (token < 0 || token >= int64_t(words)) return i + size - 1;
      scores[token] = -std::numeric_limits<float>::infinity();
    }
    return -1;
  }
};

}  // namespace

extern const OpDef op_ngram_repeat_block;
constinit const OpDef op_ngram_repeat_block = define<NGramRepeatBlock>({
    .name = "NGramRepeatBlock",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"input_ids: int64", "scores: T"},
    .outputs = {"scores_out: T"},
    .types = types({DType::f32}),
});

}  // namespace retort::ops
