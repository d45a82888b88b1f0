// Slice, Expand, Tile: boxes of their input.
#include "moves.h"

#include <limits>

namespace providers::cuda {

AxisSlice slice_axis(int64_t start, int64_t end, int64_t step, int64_t extent) {
  if (extent == 0) return {0, step, 0};
  // The largest number as the end of a negative step means "to the front" for ONNX Runtime, like the smallest.
  const bool to_front =
      step < 0 && (end == std::numeric_limits<int64_t>::max() || end == std::numeric_limits<int32_t>::max());
  const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? extent : extent - 1;
  const auto clamp = [&](int64_t b, int64_t least) { return std::clamp(b < 0 ? b + extent : b, least, high); };
  AxisSlice s{clamp(start, 0), step, 0};
  const int64_t stop = to_front ? low : clamp(end, low);
  const int64_t distance = step > 0 ? stop - s.start : s.start - stop;
  const uint64_t stride = step > 0 ? uint64_t(step) : 0 - uint64_t(step);
  if (distance > 0) s.count = int64_t((uint64_t(distance) - 1) / stride) + 1;
  return s;
}

void emit_slice(Emitter& e, size_t i, const Operand& x, const std::vector<AxisSlice>& slices, const Dims& as) {
  const size_t rank = x.rank();
  const Dims memory = in_memory(x.dims, x.layout), from = strides_of(memory);
  Dims dims;
  for (const AxisSlice& s : slices) dims.push_back(s.count);
  const Dims extents = in_memory(dims, x.layout), to = strides_of(extents);
  Box box;
  box.axes.resize(rank);
  for (size_t d = 0; d < rank; ++d) {
    const size_t p = place_of(d, rank, x.layout);
    box.from += slices[d].start * from[p];
    box.axes[p] = {extents[p], slices[d].count > 1 ? slices[d].step * from[p] : from[p], to[p]};
  }
  if (std::count(dims.begin(), dims.end(), 0)) box.from = 0;
  if (x.layout == Layout::rows) return emit_view(e, i, box, x, as);
  emit_box(e, box, x, e.out(i, x.type, dims, x.layout));
}

std::vector<AxisSlice> whole(const Dims& dims) {
  std::vector<AxisSlice> all;
  for (const int64_t d : dims) all.push_back({0, 1, d});
  return all;
}

namespace {

class Slice : public Op {
 public:
  explicit Slice(const Node& node)
      : attributes_(node.since < 10),
        starts_(node.integers("starts")),
        ends_(node.integers("ends")),
        axes_(node.integers("axes")) {}

  void emit(Emitter& e) const override {
    const Operand x = e.in_any_layout(0);
    const Dims starts = attributes_ ? starts_ : e.integers(1), ends = attributes_ ? ends_ : e.integers(2);
    const bool has_axes = attributes_ ? !axes_.empty() : e.has(3);
    Dims axes = attributes_ ? axes_ : has_axes ? e.integers(3) : Dims();
    if (!has_axes)
      for (size_t i = 0; i < starts.size(); ++i) axes.push_back(int64_t(i));
    const Dims steps = !attributes_ && e.has(4) ? e.integers(4) : Dims(starts.size(), 1);
    if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
      e.fail(text(starts.size(), " starts, ", ends.size(), " ends, ", axes.size(), " axes and ", steps.size(),
                  " steps, expected equal numbers"));
    auto slices = whole(x.dims);
    std::vector<bool> seen(x.rank());
    for (size_t i = 0; i < starts.size(); ++i) {
      const size_t a = axis_of(e, axes[i], x.rank());
      if (steps[i] == 0) e.fail(text("the step of axis ", a, " is 0"));
      if (seen[a]) e.fail(text("axis ", a, " is sliced twice"));
      seen[a] = true;
      slices[a] = slice_axis(starts[i], ends[i], steps[i], x.dims[a]);
    }
    Dims dims;
    for (const AxisSlice& s : slices) dims.push_back(s.count);
    emit_slice(e, 0, x, slices, dims);
  }

 private:
  const bool attributes_;
  const Dims starts_, ends_, axes_;
};

class Expand : public Op {
 public:
  explicit Expand(const Node&) {}

  void emit(Emitter& e) const override {
    const Operand x = e.in(0);
    const Dims& shape = e.integers(1);
    const size_t rank = std::max(shape.size(), x.rank());
    const Dims from = strides_of(x.dims);
    Dims dims(rank, 1);
    Box box;
    box.axes.resize(rank);
    for (size_t d = 0; d < rank; ++d) {
      const int64_t have = d + x.rank() < rank ? 1 : x.dims[d + x.rank() - rank];
      const int64_t want = d + shape.size() < rank ? 1 : shape[d + shape.size() - rank];
      if (have != want && have != 1 && want != 1) e.fail(text("extent ", have, " cannot be expanded to ", want));
      dims[d] = have == 1 ? want : have;
      box.axes[d] = {dims[d], have == 1 ? 0 : from[d + x.rank() - rank], 0};
    }
    const Dims to = strides_of(dims);
    for (size_t d = 0; d < rank; ++d) box.axes[d].to = to[d];
    emit_view(e, 0, box, x, dims);
  }
};

class Tile : public Op {
 public:
  explicit Tile(const Node&) {}

  void emit(Emitter& e) const override {
    const Operand x = e.in(0);
    const Dims& repeats = e.integers(1);
    if (repeats.size() != x.rank()) e.fail(text(repeats.size(), " repeats, expected ", x.rank()));
    const Dims from = strides_of(x.dims);
    Dims dims;
    for (size_t d = 0; d < x.rank(); ++d) {
      if (repeats[d] < 0) e.fail(text("axis ", d, " is repeated ", repeats[d], " times"));
      dims.push_back(x.dims[d] * repeats[d]);
    }
    const Dims to = strides_of(dims);
    Box box;
    for (size_t d = 0; d < x.rank(); ++d) {
      box.axes.push_back({repeats[d], 0, to[d] * x.dims[d]});
      box.axes.push_back({x.dims[d], from[d], to[d]});
    }
    emit_view(e, 0, box, x, dims);
  }
};

std::string refuses_slice(const Node& node, const Claiming& claiming) {
  std::string why = refuses_type(node.input(0));
  const char* const names[] = {"", "starts", "ends", "axes", "steps"};
  for (size_t i = 1; i < 5 && why.empty() && node.since >= 10; ++i) why = refuses_unknown(node, claiming, i, names[i]);
  return why;
}

std::string refuses_sized(const Node& node, const Claiming& claiming) {
  if (node.type == "Tile" && node.since < 6) return "the form before opset 6";
  const std::string why = refuses_type(node.input(0));
  return why.empty() ? refuses_unknown(node, claiming, 1, "the shape") : why;
}

}  // namespace

void add_slices(Kinds& kinds) {
  kinds[{"", "Slice"}] = kind_of<Slice>(refuses_slice);
  kinds[{"", "Expand"}] = kind_of<Expand>(refuses_sized);
  kinds[{"", "Tile"}] = kind_of<Tile>(refuses_sized);
}

}  // namespace providers::cuda
