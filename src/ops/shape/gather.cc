// Gather: whole slices of the input along `axis`, chosen by indices of any shape. The input may have any address.
#include "kernels/move/gather.h"
#include "ops/integers.h"
#include "ops/op.h"
#include "ops/shape/common/element.h"
#include "ops/shape/common/index.h"
#include "ops/shape/common/strided.h"

namespace retort::ops {
namespace {

struct Gather {
  int64_t axis = 0;
  static constexpr std::tuple attributes{attr("axis", &Gather::axis)};

  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    const Shape &x = c.shape(0), &indices = c.shape(1);
    const size_t along = c.axis(axis, x.rank());
    Shape y;
    for (size_t d = 0; d < x.rank(); ++d) {
      if (d != along) y.push_back(x[d]);
      for (size_t i = 0; d == along && i < indices.rank(); ++i) y.push_back(indices[i]);
    }
    c.set(0, c.dtype(0), y);
    infer_content(c, x, indices);
  }
  Cost cost(const CostContext&) const { return {.access = Access::rows}; }

  void run(RunContext& c) const {
    const Shape& x = c.shape(0);
    const size_t along = normalize_axis(axis, x.rank());
    // Slices of packed elements that have whole bytes are moved as bytes.
    const size_t bits = is_packed(c.dtype(0)) ? dtype_bits(c.dtype(0)) : 0;
    const size_t elements = size_t(extent_product(x, along + 1, x.rank()));
    const bool as_bytes = bits != 0 && elements * bits % 8 == 0;
    const size_t inner = as_bytes ? elements * bits / 8 : elements;
    const kernels::GatherArgs args{.outer = size_t(extent_product(x, 0, along)),
                                   .extent = x[along],
                                   .inner = inner,
                                   .count = c.count(1),
                                   .out_step = writes_rows(c) && bits == 0 ? c.out_row_step() : inner};
    with_indices(c, [&](const auto* indices) {
      return kernels::gather(mover_of(as_bytes ? DType::u8 : c.dtype(0)), args, c.data(0), indices, c.out_data(),
                             c.parallel());
    });
  }

  // The rows are the gathered slices if exactly one axis follows `axis`.
  bool writes_rows(const RunContext& c) const {
    const size_t rank = c.shape(0).rank();
    return rank >= 2 && normalize_axis(axis, rank) + 2 == rank;
  }
  std::optional<Piece> piece(const RunContext& c, size_t) const {
    const Slot& index = c.in_slot(1);
    if (index.count != 1 || (!index.data && !index.has_known) || is_packed(c.dtype(0))) return std::nullopt;
    if (!is_aligned(c.dtype(0), c.in_slot(0).data)) return std::nullopt;  // other operators would read the piece
    const Shape &x = c.shape(0), from = row_major_strides(x);
    const size_t along = normalize_axis(axis, x.rank());
    const int64_t extent = x[along], at = integer(c, 1);
    if (at < -extent || at >= extent) return std::nullopt;  // run() reports it
    Shape strides;
    for (size_t d = 0; d < x.rank(); ++d) {
      if (d != along) strides.push_back(from[d]);
      for (size_t i = 0; d == along && i < index.shape().rank(); ++i) strides.push_back(0);
    }
    return piece_of(c.out_shape(), strides, (at < 0 ? at + extent : at) * from[along]);
  }

 private:
  // Computes content of vectors, which is all that shape arithmetic needs.
  static void infer_content(InferContext& c, const Shape& x, const Shape& indices) {
    const auto content = c.try_value(0), index = c.try_value(1);
    if (!content || !index || x.rank() != 1 || !all_known(indices) || !all_known(*index)) return;
    const auto room = c.new_value(0, index->size());
    const int64_t extent = int64_t(content->size());
    for (size_t i = 0; room && i < index->size(); ++i) {
      const int64_t at = (*index)[i];
      require(at >= -extent && at < extent, ErrorCode::invalid_argument, "index {} is outside [-{}, {}) of the axis",
              at, extent, extent);
      (*room)[i] = (*content)[size_t(at < 0 ? at + extent : at)];
    }
  }
};

}  // namespace

extern const OpDef op_gather;
constinit const OpDef op_gather = define<Gather>({
    .name = "Gather",
    .since = {1, 11, 13},
    .inputs = {"data: T", "indices: Tind"},
    .outputs = {"output: T"},
    .traits = kAnyAddress,
});

}  // namespace retort::ops
