// com.microsoft.MRotaryEmbedding: RotaryEmbedding of rows that have a position in time, height and width. mrope_section
// has, for each of the three, the number of elements of the caches that it determines: consecutive ones, or
// interleaved.
#include "ops/nn/common/rotary_op.h"

namespace retort::ops {
namespace {

struct MRotaryEmbedding : RotaryOp {
  using Self = MRotaryEmbedding;
  int64_t mrope_layout = 0;
  std::vector<int64_t> mrope_section;
  static constexpr std::tuple attributes{attr("interleaved", &Self::interleaved),
                                         attr("is_packed_batching", &Self::is_packed_batching),
                                         attr("mrope_layout", &Self::mrope_layout),
                                         required("mrope_section", &Self::mrope_section),
                                         attr("num_heads", &Self::num_heads),
                                         attr("rotary_embedding_dim", &Self::rotary_embedding_dim),
                                         attr("scale", &Self::scale)};

  void check() const {
    check_rotary();
    const auto fits = [](int64_t n) { return n >= 0 && n <= std::numeric_limits<int32_t>::max(); };
    require(mrope_section.size() == 3 && std::all_of(mrope_section.begin(), mrope_section.end(), fits),
            ErrorCode::invalid_argument, "mrope_section has {} entries, expected three numbers from 0 on",
            mrope_section.size());
    require(mrope_layout == 0 || mrope_layout == 1, ErrorCode::invalid_argument, "mrope_layout is {}, expected 0 or 1",
            mrope_layout);
  }
  void infer(InferContext& c) const {
    infer_rotary(c);
    const Shape& x = c.shape(kX);
    require(x.rank() == 4 || num_heads > 0, ErrorCode::invalid_argument, "an input of 3 axes needs num_heads");
    expect_shape(c, kPositions, "position_ids", {3, x[0], x[x.rank() == 3 ? 1 : 2]});
  }

  // The position, of the three, at which element i of the caches is read.
  size_t stream(size_t i) const {
    const auto at = int64_t(i);
    if (mrope_layout == 0) return at < mrope_section[0] ? 0 : at < mrope_section[0] + mrope_section[1] ? 1 : 2;
    const size_t turn = i % 3;
    return turn > 0 && at < 3 * mrope_section[turn] ? turn : 0;
  }

  template <std::same_as<float> T>
  void reference(RunContext& c) const {
    const Layout l = layout(c);
    const auto half = size_t(c.shape(kCos)[1]), rows = l.batch * l.rows;
    const int64_t sum = mrope_section[0] + mrope_section[1] + mrope_section[2];
    require(size_t(sum) == half, ErrorCode::invalid_argument, "mrope_section sums to {}, the caches have {} elements",
            sum, half);
    const auto positions = c.input<int64_t>(kPositions);
    for (const int64_t p : positions) checked_position(c, p);
    std::vector<T> cos(rows * half), sin(rows * half);
    for (size_t i = 0; i < rows * half; ++i) {
      const size_t from = size_t(positions[stream(i % half) * rows + i / half]) * half + i % half;
      cos[i] = c.input<T>(kCos)[from] * scale;
      sin[i] = c.input<T>(kSin)[from] * scale;
    }
    const Rotation<T> rotation{
        .cos = cos.data(), .sin = sin.data(), .half = half, .size = l.size, .interleaved = interleaved};
    rotate_heads(
        rotation, {l.batch, l.rows, l.heads, c.shape(kX).rank() == 4}, c.input<T>(kX).data(), c.output<T>().data(),
        [](size_t row) { return row; }, c.parallel());
  }
};

}  // namespace

extern const OpDef op_m_rotary_embedding;
constinit const OpDef op_m_rotary_embedding = define<MRotaryEmbedding>({
    .name = "MRotaryEmbedding",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"input: T", "position_ids: int64", "cos_cache: T", "sin_cache: T"},
    .outputs = {"output: T"},
    .types = kSingleFloats,
});

}  // namespace retort::ops
