// RotaryEmbedding: rotates pairs of elements of every head by the angle of the position (arXiv 2104.09864). A pair is
// (i, i + n/2), or (2i, 2i + 1) if interleaved; elements from rotary_embedding_dim on are unchanged.
#include "ops/nn/common/rotary.h"

namespace retort::ops {
namespace {

struct RotaryEmbedding {
  bool interleaved = false;
  int64_t num_heads = 0, rotary_embedding_dim = 0;
  static constexpr std::tuple attributes{attr("interleaved", &RotaryEmbedding::interleaved),
                                         attr("num_heads", &RotaryEmbedding::num_heads),
                                         attr("rotary_embedding_dim", &RotaryEmbedding::rotary_embedding_dim)};

  void check() const {
    require(num_heads >= 0 && rotary_embedding_dim >= 0 && rotary_embedding_dim % 2 == 0, ErrorCode::invalid_argument,
            "num_heads {}, rotary_embedding_dim {}", num_heads, rotary_embedding_dim);
  }
  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    const size_t rank = c.rank(0);
    require(rank == 4 || (rank == 3 && num_heads > 0), ErrorCode::invalid_argument,
            "the input has {} axes, expected 4, or 3 and num_heads, which is {}", rank, num_heads);
    c.set(0, c.dtype(0), c.shape(0));
  }
  // Two products and their sum for each element that is rotated.
  Cost cost(const CostContext& c) const {
    const double head = c.rank(0) == 3 ? c.extent(0, 2) / double(num_heads) : c.extent(0, 3);
    return {.operations = 3 * c.count(0) * per(2 * c.extent(1, -1), head)};
  }

  struct Layout {
    size_t batch, rows, heads, size, turned;
    bool shared;  ///< whether all batches have the same angles
  };
  Layout layout(const RunContext& c) const {
    const Shape& x = c.shape(0);
    Layout l;
    l.batch = size_t(x[0]);
    const bool packed = x.rank() == 3;
    l.rows = size_t(x[packed ? 1 : 2]);
    l.heads = size_t(packed ? num_heads : x[1]);
    require(!packed || x[2] % num_heads == 0, ErrorCode::invalid_argument,
            "rows have {} elements, expected a multiple of num_heads {}", x[2], num_heads);
    l.size = packed ? size_t(x[2]) / l.heads : size_t(x[3]);
    l.turned = rotary_embedding_dim ? size_t(rotary_embedding_dim) : l.size;
    const Shape& cos = c.shape(1);
    require(l.turned <= l.size && l.turned % 2 == 0 && c.shape(2) == cos && cos.rank() >= 2 &&
                size_t(cos.back()) == l.turned / 2,
            ErrorCode::invalid_argument,
            "the caches have shapes {} and {}, but {} of {} elements are rotated: expected rows of half as many", cos,
            c.shape(2), l.turned, l.size);
    const size_t positions = c.has(3) ? c.count(3) : c.count(1) / std::max<size_t>(l.turned / 2, 1);
    // Batches may share their caches, as in models whose positions do not depend on the batch.
    l.shared = !c.has(3) && cos.rank() == 3 && cos[0] == 1 && positions == l.rows;
    require(positions == l.batch * l.rows || l.shared || l.turned == 0, ErrorCode::invalid_argument,
            "there are {} positions, expected one for each of {} rows", positions, l.batch * l.rows);
    return l;
  }

  // The row of the caches for a row of all batches.
  static size_t position(const RunContext& c, const Layout& l, size_t row) {
    if (!c.has(3)) return l.shared ? row % l.rows : row;
    const int64_t p = c.input<int64_t>(3)[row];
    require(p >= 0 && p < c.shape(1)[0], ErrorCode::invalid_argument, "position {} is outside [0, {})", p,
            c.shape(1)[0]);
    return size_t(p);
  }

  template <std::floating_point T>
  void reference(RunContext& c) const {
    const Layout l = layout(c);
    const auto x = c.input<T>(0), cosines = c.input<T>(1), sines = c.input<T>(2);
    const auto y = c.output<T>();
    const size_t half = l.turned / 2;
    const Rotation<T> rotation{.cos = cosines.data(),
                               .sin = sines.data(),
                               .positions = 0,
                               .half = half,
                               .size = l.size,
                               .interleaved = interleaved};
    rotate_heads(
        rotation, {l.batch, l.rows, l.heads, c.shape(0).rank() == 4}, x.data(), y.data(),
        [&](size_t row) { return half ? position(c, l, row) : 0; }, c.parallel());
  }
};

}  // namespace

extern const OpDef op_rotary_embedding;
constinit const OpDef op_rotary_embedding = define<RotaryEmbedding>({
    .name = "RotaryEmbedding",
    .since = {23},
    .inputs = {"X: T", "cos_cache: T", "sin_cache: T", "position_ids: int64?"},
    .outputs = {"Y: T"},
    .types = kFloats,
});

}  // namespace retort::ops
