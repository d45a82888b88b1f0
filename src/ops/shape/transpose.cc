// Transpose: output axis i is input axis perm[i]; without perm, the axes are reversed.
#include "ops/op.h"
#include "ops/shape/common/strided.h"

namespace retort::ops {
namespace {

struct Transpose {
  std::optional<std::vector<int64_t>> perm;
  static constexpr std::tuple attributes{attr("perm", &Transpose::perm)};

  size_t source(size_t axis, size_t rank) const { return perm ? size_t((*perm)[axis]) : rank - 1 - axis; }

  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    const Shape& x = c.shape(0);
    check_permutation(x.rank());
    Shape y = x;
    for (size_t i = 0; i < x.rank(); ++i) y[i] = x[source(i, x.rank())];
    c.set(0, c.dtype(0), y);
    const auto content = c.try_value(0);
    if (!content || !all_known(x)) return;
    if (const auto room = c.new_value(0, content->size())) copy_box(box(x), content->data(), room->data());
  }

  void run(RunContext& c) const { copy_box(box(c.shape(0)), c.dtype(0), c.data(0), c.out_data(), c.parallel()); }

 private:
  void check_permutation(size_t rank) const {
    if (!perm) return;
    uint64_t seen = 0;
    bool good = perm->size() == rank && rank <= 64;
    for (size_t i = 0; good && i < rank; ++i) {
      const int64_t p = (*perm)[i];
      good = p >= 0 && p < int64_t(rank) && !(seen >> p & 1);
      if (good) seen |= uint64_t(1) << p;
    }
    if (!good)
      fail(ErrorCode::invalid_argument, "perm {} is not a permutation of the {} axes of the input", to_string(*perm),
           rank);
  }

  StridedBox box(const Shape& x) const {
    const Shape strides = row_major_strides(x);
    Shape y = x;
    for (size_t i = 0; i < x.rank(); ++i) y[i] = x[source(i, x.rank())];
    const Shape to = row_major_strides(y);
    StridedBox b;
    for (size_t i = 0; i < x.rank(); ++i) b.push(y[i], strides[source(i, x.rank())], to[i]);
    return b;
  }
};

}  // namespace

extern const OpDef op_transpose;
constinit const OpDef op_transpose = define<Transpose>({
    .name = "Transpose",
    .since = {1, 13, 21, 23, 24, 25},
    .inputs = {"data: T"},
    .outputs = {"transposed: T"},
});

}  // namespace retort::ops
