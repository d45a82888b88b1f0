// Concat: inputs one after the other along `axis`; all other extents must agree.
#include "ops/op.h"
#include "ops/shape/common/strided.h"

namespace retort::ops {
namespace {

struct Concat {
  int64_t axis = 0;
  static constexpr std::tuple attributes{required("axis", &Concat::axis)};

  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    Shape y = c.shape(0);
    const size_t along = c.axis(axis, y.rank());
    for (size_t i = 1; i < c.input_count(); ++i) {
      const Shape& x = c.shape(i);
      if (x.rank() != y.rank()) reject(c, i);
      for (size_t d = 0; d < y.rank(); ++d) y[d] = d == along ? c.dims().add(y[d], x[d]) : agreed(c, i, d, y[d]);
    }
    c.set(0, c.dtype(0), y);
    infer_content(c, along, y);
  }

  void run(RunContext& c) const {
    const size_t along = normalize_axis(axis, c.out_shape().rank());
    const Shape to = strides_of(c.out_slot(0));
    int64_t position = 0;
    for (size_t i = 0; i < c.input_count(); ++i) {
      if (!lies_at(c.data(i), c.out_data(), c.dtype(i), position * to[along]))
        copy_box(box(c.shape(i), strides_of(c.in_slot(i)), to, along, position), c.dtype(i), c.data(i), c.out_data(),
                 c.parallel());
      position += c.shape(i)[along];
    }
  }

  bool reads_rows(const RunContext&, size_t) const { return true; }
  bool writes_rows(const RunContext&) const { return true; }
  std::optional<Piece> piece(const RunContext& c, size_t i) const {
    const size_t along = normalize_axis(axis, c.out_shape().rank());
    int64_t position = 0;
    for (size_t before = 0; before < i; ++before) position += c.shape(before)[along];
    const Shape to = row_major_strides(c.out_shape());
    return piece_of(c.shape(i), to, position * to[along]);
  }

 private:
  static Dim agreed(const InferContext& c, size_t i, size_t d, Dim before) {
    const Dim here = c.shape(i)[d];
    if (is_known(here) && is_known(before) && here != before) reject(c, i);
    return is_known(here) ? here : before;
  }

  [[noreturn]] static void reject(const InferContext& c, size_t i) {
    fail(ErrorCode::invalid_argument,
         "shape {} of input {} does not match shape {} of input 0: only the axis of concatenation may differ",
         c.dims().text(c.shape(i)), i, c.dims().text(c.shape(0)));
  }

  static StridedBox box(const Shape& x, const Shape& from, const Shape& to, size_t along, int64_t position) {
    StridedBox b;
    for (size_t d = 0; d < x.rank(); ++d) b.push(x[d], from[d], to[d]);
    b.to_offset = position * to[along];
    return b;
  }

  static void infer_content(InferContext& c, size_t along, const Shape& y) {
    if (!all_known(y)) return;
    for (size_t i = 0; i < c.input_count(); ++i) {
      if (!c.try_value(i) || !all_known(c.shape(i))) return;
    }
    const auto room = c.new_value(0, element_count(y));
    const Shape to = row_major_strides(y);
    int64_t position = 0;
    for (size_t i = 0; room && i < c.input_count(); ++i) {
      const Shape& x = c.shape(i);
      copy_box(box(x, row_major_strides(x), to, along, position), c.value(i).data(), room->data());
      position += c.shape(i)[along];
    }
  }
};

}  // namespace

extern const OpDef op_concat;
constinit const OpDef op_concat = define<Concat>({
    .name = "Concat",
    .since = {1, 4, 11, 13},
    .inputs = {"inputs: T..."},
    .outputs = {"concat_result: T"},
    .traits = kJoins | kAlongAxis,
});

}  // namespace retort::ops
