// TfIdfVectorizer: counts how often the n-grams of a pool occur in each row, with neighbours up to max_skip_count
// elements apart. `pool` holds the n-grams by length; ngram_counts[i] is the index of the first one of length i + 1.
#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "ops/ml/common/key_table.h"
#include "ops/op.h"

namespace retort::ops {
namespace {

// A trie of element numbers: each distinct element of the pool has a number.
struct Grams : State {
  KeyTable elements;                // numbers or strings → their numbers
  KeyTable next;                    // edge(node, element) → node; 0 is the root
  std::vector<int64_t> column{-1};  // per node: the column of the n-gram that ends here, or -1
  std::vector<float> weight{1};     // per node: what an n-gram that ends here adds, or is

  static uint64_t edge(uint32_t node, uint32_t element) { return uint64_t(node) << 32 | element; }
};

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
      const uint32_t fresh = uint32_t(grams.elements.size());
      const uint32_t element = pool_ints.empty() ? grams.elements.add(pool_strings[i], fresh)
                                                 : grams.elements.add(uint64_t(pool_ints[i]), fresh);
      const size_t nodes = grams.column.size();
      node = grams.next.add(Grams::edge(node, element), uint32_t(nodes));
      if (node < nodes) continue;
      grams.column.push_back(-1);
      grams.weight.push_back(1);
    }
    grams.column[node] = columns[gram];
    if (!weights.empty() && mode != "TF") grams.weight[node] = weights[gram];
  }

  // Sets ids to the numbers of elements of X, KeyTable::kNone for those that are not in the pool.
  static void identify(const RunContext& c, const Grams& grams, size_t first, std::span<uint32_t> ids) {
    const auto each = [&]<typename T, typename Key>(const T* x, std::type_identity<Key>) {
      for (size_t i = 0; i < ids.size(); ++i) ids[i] = grams.elements.find(Key(x[first + i]));
    };
    if (c.dtype(0) == DType::string)
      each(c.input<std::string>(0).data(), std::type_identity<std::string_view>{});
    else if (c.dtype(0) == DType::i64)
      each(c.input<int64_t>(0).data(), std::type_identity<uint64_t>{});
    else
      each(c.input<int32_t>(0).data(), std::type_identity<uint64_t>{});
  }

  void count(RunContext& c, const Grams& grams) const {
    constexpr size_t kRows = 8;
    const Shape& x = c.shape(0);
    const size_t rows = x.rank() == 1 ? 1 : size_t(x[0]), length = size_t(x.back()), n = size_t(width());
    const size_t skips = std::min(size_t(max_skip), std::max<size_t>(length, 1) - 1);
    c.parallel().for_each(ceil_div(rows, kRows), [&](size_t block, int) {
      std::vector<uint32_t> ids(length);
      for (size_t r = block * kRows; r < std::min(rows, (block + 1) * kRows); ++r) {
        float* const y = c.output<float>().data() + r * n;
        std::memset(y, 0, n * sizeof(float));
        identify(c, grams, r * length, ids);
        for (size_t skip = 0; skip <= skips; ++skip)
          for (size_t start = 0; start < length; ++start) follow(grams, ids, start, skip + 1, y);
      }
    });
  }

  // Counts all n-grams that begin at `start` with elements `step` apart. Single elements count once, not once per step.
  void follow(const Grams& grams, std::span<const uint32_t> row, size_t start, size_t step, float* y) const {
    uint32_t node = 0;
    size_t length = 0;
    for (size_t i = start; i < row.size() && length < size_t(max_length) && row[i] != KeyTable::kNone; i += step) {
      node = grams.next.find(Grams::edge(node, row[i]));
      if (node == KeyTable::kNone) return;
      ++length;
      if (grams.column[node] < 0 || (length == 1 && step > 1)) continue;
      float& to = y[grams.column[node]];
      if (mode == "IDF")
        to = grams.weight[node];
      else
        to += grams.weight[node];
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
