// TensorScatter: writes rows of an update into a cache; each element of the batch has its own start index.
#include <cstring>

#include "ops/op.h"
#include "ops/shape/common/strided.h"

namespace retort::ops {
namespace {

struct TensorScatter {
  std::string mode = "linear";
  int64_t axis = -2;
  static constexpr std::tuple attributes{attr("axis", &TensorScatter::axis), attr("mode", &TensorScatter::mode)};
  enum Input : size_t { kCache, kUpdate, kIndices };

  void check() const {
    require(mode == "linear" || mode == "circular", ErrorCode::invalid_argument,
            "mode \"{}\" is neither linear nor circular", mode);
  }
  void infer(InferContext& c) const {
    c.set(0, c.dtype(kCache));
    const Shape& cache = c.shape(kCache);
    c.set(0, c.dtype(kCache), cache);
    const size_t along = c.axis(axis, cache.rank());
    require(along > 0, ErrorCode::invalid_argument, "axis {} is the batch axis", axis);
    expect_shape_if_given(c, kIndices, "write_indices", {cache[0]});
    const Shape& update = c.shape(kUpdate);
    bool fits = update.rank() == cache.rank();
    for (size_t d = 0; fits && d < cache.rank(); ++d)
      fits = d == along ? !is_known(update[d]) || !is_known(cache[d]) || update[d] <= cache[d]
                        : may_equal(update[d], cache[d]);
    require(fits, ErrorCode::invalid_argument,
            "the update has shape {}, which does not match the cache {} along axis {}", c.dims().text(update),
            c.dims().text(cache), along);
  }

  void run(RunContext& c) const {
    const Shape &cache = c.shape(kCache), &update = c.shape(kUpdate);
    const size_t along = normalize_axis(axis, cache.rank());
    require(!c.has(kIndices) || c.count(kIndices) == size_t(cache[0]), ErrorCode::invalid_argument,
            "{} write indices for a batch of {}", c.count(kIndices), cache[0]);
    const int64_t inner = extent_product(cache, along + 1, cache.rank()), prefix = extent_product(cache, 1, along);
    const auto write = [&](int64_t b, int64_t from, int64_t to) {
      StridedBox box;
      box.push(prefix, update[along] * inner, cache[along] * inner);
      box.push(inner, 1, 1);
      box.from_offset = (b * prefix * update[along] + from) * inner;
      box.to_offset = (b * prefix * cache[along] + to) * inner;
      if (prefix * inner > 0) copy_box(box, c.dtype(kCache), c.data(kUpdate), c.out_data(), Parallel());
    };
    check_indices(c, cache[0], update[along], cache[along]);
    copy_cache(c);
    for (int64_t b = 0; b < cache[0]; ++b) {
      for (int64_t s = 0; s < update[along]; ++s) write(b, s, (first(c, b) + s) % cache[along]);
    }
  }

 private:
  static int64_t first(const RunContext& c, int64_t b) {
    return c.has(kIndices) ? c.input<int64_t>(kIndices)[size_t(b)] : 0;
  }
  void check_indices(const RunContext& c, int64_t batch, int64_t rows, int64_t capacity) const {
    for (int64_t b = 0; b < batch; ++b) {
      const int64_t at = first(c, b);
      require(at >= 0 && (mode == "circular" || (at <= capacity && rows <= capacity - at)), ErrorCode::invalid_argument,
              "write index {} of batch element {} does not fit {} rows into a cache of {}", at, b, rows, capacity);
    }
  }
  static void copy_cache(const RunContext& c) {
    if (c.out_data() == c.data(kCache)) return;
    if (c.dtype(kCache) == DType::string)
      std::ranges::copy(c.input<std::string>(kCache), c.output<std::string>().begin());
    else if (c.out_count())
      std::memcpy(c.out_data(), c.data(kCache), dtype_bytes(c.out_dtype(), c.out_count()));
  }
};

}  // namespace

extern const OpDef op_tensor_scatter;
constinit const OpDef op_tensor_scatter = define<TensorScatter>({
    .name = "TensorScatter",
    .since = {24},
    .inputs = {"past_cache: T", "update: T", "write_indices: int64?"},
    .outputs = {"present_cache: T"},
    .in_place = {{{0, 0}}},
});

}  // namespace retort::ops
