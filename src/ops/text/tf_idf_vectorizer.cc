// TfIdfVectorizer: counts how often the n-grams of a pool occur in each row, with neighbours up to max_skip_count
// elements apart. `pool` holds the n-grams by length; ngram_counts[i] is the index of the first one of length i + 1.
#include <algorithm>
#include <unordered_map>

#include "ops/op.h"

namespace retort::ops {
namespace {

// A trie of element numbers: each distinct element of the pool has a number.
struct Grams : State {
  std::unordered_map<std::string, uint32_t> text;
  std::unordered_map<int64_t, uint32_t> numbers;
  std::unordered_map<uint64_t, uint32_t> next;  // edge(node, element) → node; 0 is the root
  std::vector<int64_t> column{-1};              // per node: the column of the n-gram that ends here, or -1
  std::vector<float> weight{1};

  static uint64_t edge(uint32_t node, uint32_t element) { return uint64_t(node) << 32 | element; }
};

constexpr uint32_t kNoElement = UINT32_MAX;  // an element that is not in the pool

struct TfIdfVectorizer {
  int64_t max_length = 1, min_length = 1, max_skip = 0;
  std::string mode;
  std::vector<int64_t> counts, columns, pool_ints;
  std::vector<float> weights;
  std::vector<std::string> pool_strings;
  static constexpr std::tuple attributes{required("max_gram_length", &TfIdfVectorizer::max_length),
                                         required("min_gram_length", &TfIdfVectorizer::min_length),
                                         required("max_skip_count", &TfIdfVectorizer::max_skip),
                                         required("mode", &TfIdfVectorizer::mode),
                                         required("ngram_counts", &TfIdfVectorizer::counts),
                                         required("ngram_indexes", &TfIdfVectorizer::columns),
                                         attr("pool_int64s", &TfIdfVectorizer::pool_ints),
                                         attr("pool_strings", &TfIdfVectorizer::pool_strings),
                                         attr("weights", &TfIdfVectorizer::weights)};

  size_t pool_size() const { return pool_ints.size() + pool_strings.size(); }

  void check() const {
    require(mode == "TF" || mode == "IDF" || mode == "TFIDF", ErrorCode::invalid_graph,
            "mode \"{}\" is not one of TF, IDF, TFIDF", mode);
    require(min_length >= 1 && max_length >= min_length && max_length <= int64_t(counts.size()),
            ErrorCode::invalid_graph, "n-grams have {} to {} elements, but ngram_counts has {} entries", min_length,
            max_length, counts.size());
    require(max_skip >= 0, ErrorCode::invalid_graph, "max_skip_count is {}", max_skip);
    require(pool_ints.empty() != pool_strings.empty(), ErrorCode::invalid_graph,
            "exactly one of pool_int64s and pool_strings is needed");
    require(!columns.empty(), ErrorCode::invalid_graph, "ngram_indexes is empty");
    for (const int64_t column : columns) {
      require(column >= 0 && column < INT32_MAX, ErrorCode::invalid_graph, "ngram_indexes holds {}", column);
    }
    require(weights.empty() || weights.size() == columns.size(), ErrorCode::invalid_graph,
            "weights has {} entries for {} ngram_indexes", weights.size(), columns.size());
    grams();
  }

  Dim width() const { return *std::ranges::max_element(columns) + 1; }

  void infer(InferContext& c) const {
    c.set(0, DType::f32);
    const Shape& x = c.shape(0);
    require(x.rank() == 1 || x.rank() == 2, ErrorCode::invalid_argument, "X has shape {}, expected [C] or [N, C]",
            c.dims().text(x));
    c.set(0, DType::f32, x.rank() == 1 ? Shape{width()} : Shape{x[0], width()});
  }

  std::unique_ptr<Grams> grams() const {
    auto grams = std::make_unique<Grams>();
    size_t gram = 0;
    for (size_t length = 1; length <= counts.size(); ++length) {
      const int64_t begin = counts[length - 1], end = length < counts.size() ? counts[length] : int64_t(pool_size());
      require(begin >= 0 && begin <= end && end <= int64_t(pool_size()) && (end - begin) % int64_t(length) == 0,
              ErrorCode::invalid_graph,
              "according to ngram_counts, n-grams of length {} are elements {} to {} of the pool, which has {}", length,
              begin, end, pool_size());
      for (int64_t at = begin; at < end; at += int64_t(length), ++gram) {
        require(gram < columns.size(), ErrorCode::invalid_graph, "the pool has more n-grams than ngram_indexes ({})",
                columns.size());
        if (int64_t(length) >= min_length && int64_t(length) <= max_length) add(*grams, size_t(at), length, gram);
      }
    }
    return grams;
  }
  std::unique_ptr<State> prepare(PrepareContext&) const { return grams(); }

  void run(RunContext& c) const {
    if (const auto* state = c.state<Grams>()) return count(c, *state);
    count(c, *grams());
  }

 private:
  void add(Grams& grams, size_t at, size_t length, size_t gram) const {
    uint32_t node = 0;
    for (size_t i = at; i < at + length; ++i) {
      const uint32_t element = pool_ints.empty()
                                   ? grams.text.emplace(pool_strings[i], uint32_t(grams.text.size())).first->second
                                   : grams.numbers.emplace(pool_ints[i], uint32_t(grams.numbers.size())).first->second;
      const auto [next, is_new] = grams.next.emplace(Grams::edge(node, element), uint32_t(grams.column.size()));
      if (is_new) {
        grams.column.push_back(-1);
        grams.weight.push_back(1);
      }
      node = next->second;
    }
    grams.column[node] = columns[gram];
    if (!weights.empty()) grams.weight[node] = weights[gram];
  }

  // Numbers of the elements of X; kNoElement for those that are not in the pool.
  static std::vector<uint32_t> identities(const RunContext& c, const Grams& grams) {
    std::vector<uint32_t> ids(c.count(0), kNoElement);
    const auto each = [&](const auto& x, const auto& map) {
      for (size_t i = 0; i < x.size(); ++i)
        if (const auto found = map.find(x[i]); found != map.end()) ids[i] = found->second;
    };
    if (c.dtype(0) == DType::string)
      each(c.input<std::string>(0), grams.text);
    else if (c.dtype(0) == DType::i64)
      each(c.input<int64_t>(0), grams.numbers);
    else
      each(c.input<int32_t>(0), grams.numbers);
    return ids;
  }

  void count(RunContext& c, const Grams& grams) const {
    const Shape& x = c.shape(0);
    const size_t rows = x.rank() == 1 ? 1 : size_t(x[0]), length = size_t(x.back()), n = size_t(width());
    const std::vector<uint32_t> ids = identities(c, grams);
    const auto y = c.output<float>();
    std::ranges::fill(y, 0.0f);
    for (size_t r = 0; r < rows; ++r)
      for (size_t skip = 0; skip <= size_t(max_skip) && skip < std::max<size_t>(length, 1); ++skip)
        for (size_t start = 0; start < length; ++start)
          follow(grams, {ids.data() + r * length, length}, start, skip + 1, y.data() + r * n);
  }

  // Counts all n-grams that begin at `start` with elements `step` apart. Single elements count once, not once per step.
  void follow(const Grams& grams, std::span<const uint32_t> row, size_t start, size_t step, float* y) const {
    uint32_t node = 0;
    size_t length = 0;
    for (size_t i = start; i < row.size() && length < size_t(max_length) && row[i] != kNoElement; i += step) {
      const auto next = grams.next.find(Grams::edge(node, row[i]));
      if (next == grams.next.end()) return;
      node = next->second;
      ++length;
      if (grams.column[node] < 0 || (length == 1 && step > 1)) continue;
      float& to = y[grams.column[node]];
      if (mode == "TF")
        to += 1;
      else if (mode == "TFIDF")
        to += grams.weight[node];
      else
        to = grams.weight[node];
    }
  }
};

}  // namespace

extern const OpDef op_tf_idf_vectorizer;
constinit const OpDef op_tf_idf_vectorizer = define<TfIdfVectorizer>({
    .name = "TfIdfVectorizer",
    .since = {9},
    .inputs = {"X: T"},
    .outputs = {"Y: float"},
    .types = types({DType::string, DType::i32, DType::i64}),
});

}  // namespace retort::ops
