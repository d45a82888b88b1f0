// Gather, GatherElements, GatherND, ScatterElements, ScatterND. Indices that are out of range cannot be reported
// without waiting for the device: the gathers read the nearest element for them, the scatters write nothing. Those that
// the host knows are checked.
#include "moves.h"

namespace providers::cuda {
namespace {

// The arguments of kernels/gather.cu and words.cuh.
template <typename D>
struct Rows {
  D inner, chosen;
  int64_t extent = 0;
  int32_t is_long = 0;
};
template <typename D>
struct Tuples {
  D inner, each;
  int64_t batch = 0;
  int32_t size = 0, is_long = 0;
  int64_t extent[kMostAxes] = {}, stride[kMostAxes] = {};
};

template <typename D>
Argument make_rows(const RowChoice& c) {
  return Argument::of(Rows<D>{D(c.inner), D(c.chosen), c.extent, int32_t(c.is_long)});
}

int32_t is_long(const Operand& indices) { return indices.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64; }

void check_known(Emitter& e, size_t input, int64_t extent) {
  if (!e.is_known(input)) return;
  for (const int64_t i : e.integers(input))
    if (i < -extent || i >= extent) e.fail(text("index ", i, " of an axis of ", extent, " elements"));
}

class Gather : public Op {
 public:
  explicit Gather(const Node& node) : axis_(node.integer("axis", 0)) {}

  void emit(Emitter& e) const override {
    const Operand x = e.in(0);
    const size_t axis = axis_of(e, axis_, x.rank());
    const Dims indices = e.look(1).dims;
    Dims dims(x.dims.begin(), x.dims.begin() + ptrdiff_t(axis));
    dims.insert(dims.end(), indices.begin(), indices.end());
    dims.insert(dims.end(), x.dims.begin() + ptrdiff_t(axis) + 1, x.dims.end());
    const int64_t extent = x.dims[axis];
    check_known(e, 1, extent);
    if (e.is_known(1) && e.look(1).count() == 1) {
      auto slices = whole(x.dims);
      const int64_t at = e.integers(1)[0];
      slices[axis] = {at < 0 ? at + extent : at, 1, 1};
      return emit_slice(e, 0, x, slices, dims);
    }
    const Operand places = e.in(1), y = e.out(0, x.type, dims);
    if (y.count() == 0) return;
    if (extent == 0) e.fail("an axis without elements is indexed");
    const auto unit = size_of(x.type);
    const int64_t inner = product(x.dims, axis + 1, x.rank()) * int64_t(unit);
    const size_t word = word_for(unit, {inner});
    const auto count = int64_t(y.bytes() / word);
    const bool narrow = count < kNarrow;
    const RowChoice choice{inner / int64_t(word), int64_t(places.count()), extent, is_long(places) != 0};
    e.launch(move_kernel(e, {"gather.cu", "gather_rows"}, word, unit, narrow), flat_grid(size_t(count), 256, 4),
             {x, places, y, count, rows_of(choice, narrow)});
  }

 private:
  const int64_t axis_;
};

/// GatherElements: each index names an element; ScatterElements with a reduction or none.
class Elements : public Op {
 public:
  explicit Elements(const Node& node)
      : scatters_(node.type != "GatherElements"),
        axis_(node.integer("axis", 0)),
        reduction_(node.string("reduction", "none")) {}

  void emit(Emitter& e) const override;

 private:
  const bool scatters_;
  const int64_t axis_;
  const std::string reduction_;
};

int number_of(const std::string& reduction) {
  const char* const names[] = {"none", "add", "mul", "max", "min"};
  for (int i = 0; i < 5; ++i)
    if (reduction == names[i]) return i;
  return -1;
}

Defines reduction_defines(const std::string& reduction, Type type) {
  const int number = number_of(reduction);
  Defines defines{{"REDUCE", std::to_string(number)}};
  if (number) defines["ELEMENT"] = kernel_type(type);
  return defines;
}

void Elements::emit(Emitter& e) const {
  const Operand x = e.in(0), places = e.in(1);
  const size_t rank = x.rank(), axis = axis_of(e, axis_, rank), unit = size_of(x.type);
  if (places.rank() != rank) e.fail("indices have another number of axes than the data");
  if (rank > kMostAxes) e.fail(text("at most ", kMostAxes, " axes"));
  if (scatters_ && e.look(2).dims != places.dims) e.fail("updates and indices have different shapes");
  check_known(e, 1, x.dims[axis]);
  const Operand y = e.out(0, x.type, scatters_ ? x.dims : places.dims);
  if (scatters_) e.copy(x, y);
  const auto count = int64_t(places.count());
  if (count == 0) return;
  const Dims strides = strides_of(x.dims);
  std::vector<BoxAxis> axes;
  for (size_t d = 0; d < rank; ++d) {
    if (places.dims[d] > x.dims[d] && d != axis)
      e.fail(text("axis ", d, " of indices is longer than that of the data"));
    const int64_t stride = d == axis ? 0 : strides[d];
    axes.push_back({places.dims[d], stride, stride});
  }
  if (x.count() == 0) e.fail("an axis without elements is indexed");
  const bool narrow = std::max(count, int64_t(x.count())) < kNarrow;
  const Argument walk = walk_of(axes, narrow);
  const Grid grid = flat_grid(size_t(count), 256, 4);
  if (!scatters_)
    return e.launch(move_kernel(e, {"gather.cu", "gather_elements"}, unit, unit, narrow), grid,
                    {x, places, y, count, walk, x.dims[axis], strides[axis], is_long(places)});
  e.launch(
      move_kernel(e, {"scatter.cu", "scatter_elements"}, unit, unit, narrow, reduction_defines(reduction_, x.type)),
      grid, {e.in(2), places, y, count, walk, x.dims[axis], strides[axis], is_long(places)});
}

/// GatherND and ScatterND: tuples of indices name rows.
class RowsByTuple : public Op {
 public:
  explicit RowsByTuple(const Node& node)
      : scatters_(node.type == "ScatterND"),
        batch_axes_(node.integer("batch_dims", 0)),
        reduction_(node.string("reduction", "none")) {}

  void emit(Emitter& e) const override {
    const Operand x = e.in(0), places = e.in(1);
    const size_t rank = x.rank(), first = size_t(batch_axes_);
    if (places.rank() == 0 || batch_axes_ < 0 || first >= places.rank() || first >= rank)
      e.fail(text("indices have no axis for tuples after ", batch_axes_, " axes of batches"));
    const int64_t size = places.dims.back();
    if (size < 0 || size > int64_t(rank - first) || size > int64_t(kMostAxes))
      e.fail(text("tuples of ", size, " indices for ", rank - first, " axes"));
    const size_t last = first + size_t(size);
    Dims rows(places.dims.begin(), places.dims.end() - 1);
    const int64_t tuples = product(rows, 0, rows.size());
    rows.insert(rows.end(), x.dims.begin() + ptrdiff_t(last), x.dims.end());
    for (size_t d = 0; d < first; ++d)
      if (rows[d] != x.dims[d]) e.fail(text("axis ", d, " of indices is no batch of the data"));
    if (scatters_ && e.look(2).dims != rows) e.fail("the shape of updates does not fit indices and data");
    const Operand y = e.out(0, x.type, scatters_ ? x.dims : rows);
    if (scatters_) e.copy(x, y);
    const int64_t inner = product(x.dims, last, rank) * int64_t(size_of(x.type));
    if (tuples == 0 || inner == 0) return;
    if (x.count() == 0) e.fail("an axis without elements is indexed");
    move_rows(e, Tensors{x, places, y}, {first, last, tuples, inner});
  }

 private:
  struct Tensors {
    const Operand &x, &places, &y;
  };
  struct Extents {
    size_t first, last;     // axes that tuples name
    int64_t tuples, inner;  // inner: bytes of a row
  };

  void move_rows(Emitter& e, const Tensors& t, const Extents& n) const {
    const size_t unit = size_of(t.x.type);
    const bool reduces = number_of(reduction_) > 0;
    const size_t word = reduces ? unit : word_for(unit, {n.inner});
    const int64_t inner = n.inner / int64_t(word), count = n.tuples * inner;
    const bool narrow = std::max(count, n.tuples) < kNarrow;
    const auto tuples = [&]<typename D>(D) {
      Tuples<D> all;
      all.inner = D(inner);
      all.each = D(std::max<int64_t>(n.tuples / product(t.x.dims, 0, n.first), 1));
      all.batch = product(t.x.dims, n.first, n.last) * inner;
      all.is_long = is_long(t.places);
      for (size_t d = n.first; d < n.last; ++d) {
        all.extent[all.size] = t.x.dims[d];
        all.stride[all.size++] = product(t.x.dims, d + 1, n.last) * inner;
      }
      return Argument::of(all);
    };
    const Argument argument = narrow ? tuples(Divisor()) : tuples(WideDivisor());
    const Grid grid = flat_grid(size_t(count), 256, 4);
    if (!scatters_)
      return e.launch(move_kernel(e, {"gather.cu", "gather_tuples"}, word, unit, narrow), grid,
                      {t.x, t.places, t.y, count, argument});
    e.launch(
        move_kernel(e, {"scatter.cu", "scatter_tuples"}, word, unit, narrow, reduction_defines(reduction_, t.x.type)),
        grid, {e.in(2), t.places, t.y, count, argument});
  }

  const bool scatters_;
  const int64_t batch_axes_;
  const std::string reduction_;
};

std::string refuses_gather(const Node& node, const Claiming&) {
  const std::string why = refuses_type(node.input(0));
  return why.empty() ? refuses_index(node.input(1)) : why;
}

std::string refuses_scatter(const Node& node, const Claiming& claiming) {
  const std::string why = refuses_gather(node, claiming), reduction = node.string("reduction", "none");
  if (!why.empty()) return why;
  if (number_of(reduction) < 0) return "reduction '" + reduction + "'";
  if (reduction != "none" && node.in[0]->type == ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL) return "a reduction of bool";
  return "";
}

}  // namespace

Argument rows_of(const RowChoice& choice, bool narrow) {
  return narrow ? make_rows<Divisor>(choice) : make_rows<WideDivisor>(choice);
}

void add_gathers(Kinds& kinds) {
  kinds[{"", "Gather"}] = kind_of<Gather>(refuses_gather);
  kinds[{"", "GatherElements"}] = kind_of<Elements>(refuses_gather);
  kinds[{"", "GatherND"}] = kind_of<RowsByTuple>(refuses_gather);
  kinds[{"com.microsoft", "GatherND"}] = kind_of<RowsByTuple>(refuses_gather);
}

void add_scatters(Kinds& kinds) {
  kinds[{"", "Scatter"}] = kind_of<Elements>(refuses_scatter);
  kinds[{"", "ScatterElements"}] = kind_of<Elements>(refuses_scatter);
  kinds[{"", "ScatterND"}] = kind_of<RowsByTuple>(refuses_scatter);
}

}  // namespace providers::cuda
