// com.microsoft.WordConvEmbedding: a vector for each word: the largest tanh of a convolution over the vectors of its
// characters. The number of characters of a word is the number of elements above 0, but at least the length of the
// window. A word whose first element is not above 0 has no characters, and its vector is 0.
#include <algorithm>
#include <cmath>

#include "ops/op.h"

namespace retort::ops {
namespace {

struct WordConvEmbedding {
  int64_t filters = -1, window = -1, width = -1;
  static constexpr std::tuple attributes{attr("embedding_size", &WordConvEmbedding::filters),
                                         attr("conv_window_size", &WordConvEmbedding::window),
                                         attr("char_embedding_size", &WordConvEmbedding::width)};
  enum Input : size_t { kWords, kWeights, kBias, kCharacters };

  void infer(InferContext& c) const {
    c.set(0, c.dtype(kWeights));
    const Shape &words = c.shape(kWords), &w = c.shape(kWeights), &b = c.shape(kBias), &table = c.shape(kCharacters);
    require(words.rank() == 2 && w.rank() == 4 && may_equal(w[1], 1) && b.rank() == 1 && may_equal(b[0], w[0]) &&
                table.rank() == 2 && may_equal(table[1], w[3]) &&
                (!is_known(words[1]) || !is_known(w[2]) || w[2] <= words[1]),
            ErrorCode::invalid_argument,
            "words, W, B and C of shapes {}, {}, {} and {}; expected [words, length], [M, 1, window, width], [M] and "
            "[characters, width], with a window of at most length",
            c.dims().text(words), c.dims().text(w), c.dims().text(b), c.dims().text(table));
    require(fits(filters, w[0]) && fits(window, w[2]) && fits(width, table[1]), ErrorCode::invalid_argument,
            "embedding_size {}, conv_window_size {} and char_embedding_size {} do not match W of shape {}", filters,
            window, width, c.dims().text(w));
    c.set(0, c.dtype(kWeights), {words[0], w[0]});
  }
  // The cost for words in which all characters count.
  Cost cost(const CostContext& c) const {
    return {.multiply_adds = c.extent(0, 0) * (c.extent(0, 1) - c.extent(1, 2) + 1) * c.count(1),
            .operations = c.out_count()};
  }

  template <std::floating_point T>
  void reference(RunContext& c) const {
    const size_t words = size_t(c.shape(kWords)[0]), length = size_t(c.shape(kWords)[1]);
    for (size_t i = 0; i < words; ++i) check_word(c, c.input<int32_t>(kWords).subspan(i * length, length));
    c.parallel().for_each(words, [&](size_t i, int) {
      embed<T>(c, c.input<int32_t>(kWords).subspan(i * length, length),
               c.output<T>().data() + i * c.out_count() / words);
    });
  }

 private:
  static bool fits(int64_t wanted, Dim extent) { return wanted == -1 || may_equal(extent, wanted); }

  // Characters of a word that count.
  static size_t characters(const RunContext& c, std::span<const int32_t> word) {
    if (word.empty() || word[0] <= 0) return 0;
    const auto count = size_t(std::count_if(word.begin(), word.end(), [](int32_t v) { return v > 0; }));
    return std::max(count, size_t(c.shape(kWeights)[2]));
  }
  static void check_word(const RunContext& c, std::span<const int32_t> word) {
    for (const int32_t v : word.first(characters(c, word)))
      require(v >= 0 && v < c.shape(kCharacters)[0], ErrorCode::invalid_argument, "character {} is outside of [0, {})",
              v, c.shape(kCharacters)[0]);
  }

  template <typename T>
  static void embed(const RunContext& c, std::span<const int32_t> word, T* y) {
    const Shape& w = c.shape(kWeights);
    const auto filters = size_t(w[0]), window = size_t(w[2]), width = size_t(w[3]), count = characters(c, word);
    if (count == 0) {
      std::fill_n(y, filters, T(0));
      return;
    }
    const T* table = c.input<T>(kCharacters).data();
    for (size_t m = 0; m < filters; ++m) {
      y[m] = T(-1e12);
      for (size_t at = 0; at + window <= count; ++at) {
        T sum = 0;
        for (size_t k = 0; k < window * width; ++k)
          sum += table[size_t(word[at + k / width]) * width + k % width] * c.input<T>(kWeights)[m * window * width + k];
        y[m] = std::max(y[m], std::tanh(sum + c.input<T>(kBias)[m]));
      }
    }
  }
};

}  // namespace

extern const OpDef op_word_conv_embedding;
constinit const OpDef op_word_conv_embedding = define<WordConvEmbedding>({
    .name = "WordConvEmbedding",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"Sequence: int32", "W: T", "B: T", "C: T"},
    .outputs = {"Y: T"},
    .types = types({DType::f32}),
});

}  // namespace retort::ops
