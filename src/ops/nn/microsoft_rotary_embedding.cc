// com.microsoft.RotaryEmbedding: that of ai.onnx, whose positions may be one number, that of the first row.
#include "ops/nn/common/rotary_op.h"

namespace retort::ops {
namespace {

struct MicrosoftRotaryEmbedding : RotaryOp {
  using Self = MicrosoftRotaryEmbedding;
  static constexpr std::tuple attributes{
      attr("interleaved", &Self::interleaved), attr("is_packed_batching", &Self::is_packed_batching),
      attr("num_heads", &Self::num_heads), attr("rotary_embedding_dim", &Self::rotary_embedding_dim),
      attr("scale", &Self::scale)};

  void check() const { check_rotary(); }
  void infer(InferContext& c) const {
    infer_rotary(c);
    const Shape &x = c.shape(kX), &p = c.shape(kPositions);
    if (p.rank() == 2) return expect_shape(c, kPositions, "position_ids", {x[0], x[x.rank() == 3 ? 1 : 2]});
    require(p.empty() || (p.rank() == 1 && may_equal(p[0], 1)), ErrorCode::invalid_argument,
            "position_ids have shape {}, expected one number or [batch, rows]", c.dims().text(p));
  }

  template <std::same_as<float> T>
  void reference(RunContext& c) const {
    const Layout l = layout(c);
    const Rotation<T> rotation{.cos = c.input<T>(kCos).data(),
                               .sin = c.input<T>(kSin).data(),
                               .half = size_t(c.shape(kCos)[1]),
                               .size = l.size,
                               .interleaved = interleaved};
    const auto positions = c.input<int64_t>(kPositions);
    const bool offset = c.shape(kPositions).rank() < 2;
    std::vector<size_t> at(l.batch * l.rows);
    for (size_t i = 0; i < at.size(); ++i) {
      checked_position(c, positions[offset ? 0 : i]);
      at[i] = checked_position(c, offset ? positions[0] + int64_t(i % l.rows) : positions[i]);
    }
    rotate_heads(
        rotation, {l.batch, l.rows, l.heads, c.shape(kX).rank() == 4}, c.input<T>(kX).data(), c.output<T>().data(),
        [&](size_t row) { return at[row]; }, c.parallel());
  }
};

}  // namespace

extern const OpDef op_microsoft_rotary_embedding;
constinit const OpDef op_microsoft_rotary_embedding = define<MicrosoftRotaryEmbedding>({
    .name = "RotaryEmbedding",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"input: T", "position_ids: int64", "cos_cache: T", "sin_cache: T"},
    .outputs = {"output: T"},
    .types = kSingleFloats,
});

}  // namespace retort::ops
