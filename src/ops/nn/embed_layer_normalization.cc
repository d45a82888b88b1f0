// com.microsoft.EmbedLayerNormalization: the sum of the embeddings of words, positions and segments, normalised. Output
// 1 is the number of words that the mask does not hide, output 2 is the sum.
#include "kernels/norm/row_norm.h"
#include "ops/nn/common/rounded.h"

namespace retort::ops {
namespace {

struct EmbedLayerNormalization {
  float epsilon = 1e-12f;
  int64_t mask_index_type = 0;
  static constexpr std::tuple attributes{attr("epsilon", &EmbedLayerNormalization::epsilon),
                                         attr("mask_index_type", &EmbedLayerNormalization::mask_index_type)};
  enum Input : size_t { kIds, kSegments, kWords, kPlaces, kSegmentTable, kGamma, kBeta, kMask, kPositions };

  void check() const {
    require(epsilon >= 0, ErrorCode::invalid_argument, "epsilon is {}, expected a number from 0 on", epsilon);
  }
  void infer(InferContext& c) const {
    for (const size_t i : {0, 2}) c.set(i, c.dtype(kWords));
    c.set(1, DType::i32);
    const Shape &ids = c.shape(kIds), &words = c.shape(kWords);
    require(ids.rank() == 2 && words.rank() == 2, ErrorCode::invalid_argument,
            "input_ids and word_embedding have {} and {} axes, expected 2", ids.rank(), words.rank());
    const Shape sum{ids[0], ids[1], words[1]};
    c.set(0, c.dtype(kWords), sum);
    c.set(1, DType::i32, {ids[0]});
    c.set(2, c.dtype(kWords), sum);
    const auto table = [&](size_t i, std::string_view name) {
      require(c.rank(i) == 2, ErrorCode::invalid_argument, "{} has {} axes, expected 2", name, c.rank(i));
      expect_shape(c, i, name, {c.shape(i)[0], words[1]});
    };
    table(kPlaces, "position_embedding");
    require(!c.has(kSegments) || c.has(kSegmentTable), ErrorCode::invalid_argument,
            "segment_ids are given, but segment_embedding is missing; give both");
    if (c.has(kSegmentTable)) table(kSegmentTable, "segment_embedding");
    if (c.has(kSegments)) expect_shape(c, kSegments, "segment_ids", ids);
    if (c.has(kMask)) expect_shape(c, kMask, "mask", ids);
    expect_shape(c, kGamma, "gamma", {words[1]});
    expect_shape(c, kBeta, "beta", {words[1]});
    if (!c.has(kPositions)) return;
    const bool one = c.rank(kPositions) == 2 && c.shape(kPositions)[0] == 1;
    expect_shape(c, kPositions, "position_ids", {one ? Dim(1) : ids[0], ids[1]});
  }
  Cost cost(const CostContext& c) const { return {.operations = 8 * c.out_count()}; }

  template <std::same_as<float> T>
  void reference(RunContext& c) const {
    for_each_word(c, [&](const kernels::RowNorm& word) { kernels::row_norm_reference(word); });
  }
  void fast(RunContext& c, std::type_identity<float>) const {
    for_each_word(c, [&](const kernels::RowNorm& word) { kernels::row_norm(word, {}); });
  }

 private:
  static void check_indices(const RunContext& c, size_t indices, size_t table, std::string_view name) {
    if (!c.has(indices)) return;
    const int64_t rows = c.shape(table)[0];
    for (const int32_t i : c.input<int32_t>(indices))
      require(i >= 0 && i < rows, ErrorCode::invalid_argument, "{} has {}, which is outside [0, {})", name, i, rows);
  }

  // Calls normalize() with the rows of each word, from several threads.
  template <class F>
  void for_each_word(RunContext& c, const F& normalize) const {
    const Shape& ids = c.shape(kIds);
    const auto batch = size_t(ids[0]), length = size_t(ids[1]), width = size_t(c.shape(kWords)[1]);
    const auto words = c.input<int32_t>(kIds);
    const int32_t *segments = c.optional<int32_t>(kSegments), *places = c.optional<int32_t>(kPositions);
    const size_t period = c.count(kPositions) == length ? length : batch * length;
    check_indices(c, kIds, kWords, "input_ids");
    check_indices(c, kSegments, kSegmentTable, "segment_ids");
    check_indices(c, kPositions, kPlaces, "position_ids");
    require(segments || !c.has(kSegmentTable) || batch * length == 0 || c.shape(kSegmentTable)[0] > 0,
            ErrorCode::invalid_argument, "segment_embedding has no rows, but segment 0 is read");
    require(places || batch == 0 || int64_t(length) <= c.shape(kPlaces)[0], ErrorCode::invalid_argument,
            "{} positions, position_embedding has {}", length, c.shape(kPlaces)[0]);
    const auto row = [&](size_t table, int64_t index) { return c.input<float>(table).data() + size_t(index) * width; };
    c.parallel().for_each(batch * length, [&](size_t task, int) {
      const int64_t place = places ? places[task % period] : int64_t(task % length);
      normalize({.rows = 1,
                 .width = width,
                 .x = row(kWords, words[task]),
                 .skip = row(kPlaces, place),
                 .skip_rows = 1,
                 .bias = c.has(kSegmentTable) ? row(kSegmentTable, segments ? segments[task] : 0) : nullptr,
                 .gamma = c.input<float>(kGamma).data(),
                 .beta = c.input<float>(kBeta).data(),
                 .epsilon = epsilon,
                 .y = c.output<float>(0).data() + task * width,
                 .sum = c.wants(2) ? c.output<float>(2).data() + task * width : nullptr});
    });
    if (c.wants(1)) count_words(c, batch, length);
  }
  static void count_words(const RunContext& c, size_t batch, size_t length) {
    const auto counts = c.output<int32_t>(1);
    const int32_t* mask = c.optional<int32_t>(kMask);
    for (size_t b = 0; b < batch; ++b)
      counts[b] = mask ? int32_t(std::count(mask + b * length, mask + (b + 1) * length, 1)) : 0;
  }
};

}  // namespace

extern const OpDef op_embed_layer_normalization;
constinit const OpDef op_embed_layer_normalization = define<EmbedLayerNormalization>({
    .name = "EmbedLayerNormalization",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"input_ids: int32", "segment_ids: int32?", "word_embedding: T", "position_embedding: T",
               "segment_embedding: T?", "gamma: T", "beta: T", "mask: int32?", "position_ids: int32?"},
    .outputs = {"output: T", "mask_index: int32?", "embedding_sum: T?"},
    .types = kSingleFloats,
});

}  // namespace retort::ops
