#include "strided_view.h"

#include <algorithm>
#include <numeric>

#include "common/sizes.h"

namespace providers::cuda {
namespace {

constexpr size_t kMostAxes = 6;  // of kernels/attention_view.cu

// The struct of kernels/attention_view.cu.
struct ViewArguments {
  int64_t stride[kMostAxes], extent[kMostAxes];
  int32_t repeat[kMostAxes];
};

int64_t product(const Dims& dims) { return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>()); }

bool is_contiguous(const StridedView& v) {
  int64_t stride = 1;
  for (size_t i = v.axes.size(); i-- > 0;) {
    const ViewAxis& a = v.axes[i];
    if (a.extent != 1 && (a.stride != stride || a.repeat != 1)) return false;
    stride *= a.extent;
  }
  return true;
}

// Two neighbours as one axis, if places of both are at equal distances.
std::optional<ViewAxis> join(const ViewAxis& outer, const ViewAxis& inner) {
  if (outer.extent == 1) return inner;
  if (inner.extent == 1) return outer;
  if (outer.repeat == 1 && inner.repeat == 1 && outer.stride == inner.stride * inner.extent)
    return ViewAxis{outer.extent * inner.extent, inner.stride, 1};
  if (outer.repeat == 1 && inner.stride == 0) return ViewAxis{outer.extent * inner.extent, outer.stride, inner.extent};
  return std::nullopt;
}

// The same elements with other extents; nothing if that needs a copy. The counts are equal and not 0.
std::optional<std::vector<ViewAxis>> reshaped(const std::vector<ViewAxis>& axes, const Dims& dims) {
  std::vector<ViewAxis> made;
  size_t at = 0;
  for (size_t i = 0; i < dims.size();) {
    // The smallest groups of old and new axes with equal counts.
    ViewAxis old;
    int64_t wanted = dims[i];
    size_t end = i + 1;
    while (old.extent != wanted) {
      if (old.extent < wanted) {
        if (at == axes.size()) return std::nullopt;
        const auto joined = join(old, axes[at++]);
        if (!joined) return std::nullopt;
        old = *joined;
      } else {
        wanted *= dims[end++];
      }
    }
    if (old.repeat != 1 && end != i + 1) return std::nullopt;
    int64_t stride = old.stride * old.extent;
    for (; i < end; ++i) {
      stride /= dims[i];
      made.push_back(old.repeat != 1 ? old : ViewAxis{dims[i], stride, 1});
    }
  }
  return made;
}

Dims wanted_dims(const Emitter& e, const StridedView& v, const ViewStep& step) {
  Dims dims = e.integers(size_t(step.first));
  const Dims old = v.dims();
  for (size_t i = 0; i < dims.size() && !step.allows_zero; ++i)
    if (dims[i] == 0 && i < old.size()) dims[i] = old[i];
  const auto open = std::find(dims.begin(), dims.end(), -1);
  if (open != dims.end()) {
    *open = 1;
    const int64_t others = product(dims);
    *open = others ? product(old) / others : 0;
  }
  if (product(dims) != product(old))
    e.fail(text("a shape ", shape_text(dims), " does not fit elements of shape ", shape_text(old)));
  return dims;
}

StridedView reshape(Emitter& e, const StridedView& v, const Dims& dims) {
  const auto axes = product(dims) ? reshaped(v.axes, dims) : std::nullopt;
  if (axes) return {v.data, *axes};
  Operand rows = contiguous(e, v).data;
  rows.dims = dims;
  return view_of_rows(rows);
}

Dims listed(const Emitter& e, const ViewStep& step) {
  return step.first < 0 ? step.list : Dims(e.integers(size_t(step.first)));
}

int64_t checked_axis(const Emitter& e, int64_t axis, size_t rank) {
  const int64_t made = axis < 0 ? axis + int64_t(rank) : axis;
  if (made < 0 || made >= int64_t(rank)) e.fail(text("axis ", axis, " is not among ", rank));
  return made;
}

void unsqueeze(const Emitter& e, StridedView& v, const ViewStep& step) {
  const Dims axes = listed(e, step);
  const size_t rank = v.axes.size() + axes.size();
  std::vector<bool> is_new(rank, false);
  for (const int64_t axis : axes) is_new[size_t(checked_axis(e, axis, rank))] = true;
  std::vector<ViewAxis> made;
  size_t at = 0;
  for (size_t i = 0; i < rank; ++i) made.push_back(is_new[i] || at >= v.axes.size() ? ViewAxis{} : v.axes[at++]);
  v.axes = std::move(made);
}

void squeeze(const Emitter& e, StridedView& v, const ViewStep& step) {
  const Dims axes = listed(e, step);
  std::vector<bool> goes(v.axes.size(), false);
  for (const int64_t axis : axes) goes[size_t(checked_axis(e, axis, v.axes.size()))] = true;
  std::vector<ViewAxis> made;
  for (size_t i = 0; i < v.axes.size(); ++i)
    if (!goes[i]) made.push_back(v.axes[i]);
  v.axes = std::move(made);
}

void expand(const Emitter& e, StridedView& v, const ViewStep& step) {
  const Dims shape = e.integers(size_t(step.first));
  while (v.axes.size() < shape.size()) v.axes.insert(v.axes.begin(), ViewAxis{});
  const size_t skip = v.axes.size() - shape.size();
  for (size_t i = 0; i < shape.size(); ++i) {
    ViewAxis& axis = v.axes[skip + i];
    if (axis.extent == shape[i] || shape[i] == 1) continue;
    if (axis.extent != 1) e.fail(text("an extent of ", axis.extent, " cannot be expanded to ", shape[i]));
    axis = {shape[i], 0, 1};
  }
}

void cut(StridedView& v, size_t axis, int64_t begin, int64_t extent) {
  v.data.offset += size_t(begin * v.axes[axis].stride) * size_of(v.data.type);
  v.axes[axis].extent = extent;
}

StridedView slice(Emitter& e, StridedView v, const ViewStep& step) {
  const Dims starts = e.integers(size_t(step.first)), ends = e.integers(size_t(step.ends));
  const Dims steps = step.steps < 0 ? Dims(starts.size(), 1) : Dims(e.integers(size_t(step.steps)));
  Dims axes(starts.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (step.axes >= 0) axes = e.integers(size_t(step.axes));
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    e.fail("a slice has several numbers of starts, ends, axes and steps");
  for (const ViewAxis& a : v.axes)
    if (a.repeat != 1) {
      v = contiguous(e, v);
      break;
    }
  for (size_t i = 0; i < starts.size(); ++i) {
    const auto axis = size_t(checked_axis(e, axes[i], v.axes.size()));
    if (steps[i] < 1) e.fail(text("a slice has the step ", steps[i], ", expected a positive one"));
    const int64_t extent = v.axes[axis].extent;
    const auto place = [&](int64_t p) { return std::clamp<int64_t>(p < 0 ? p + extent : p, 0, extent); };
    const int64_t begin = place(starts[i]), end = std::max(begin, place(ends[i]));
    cut(v, axis, begin, ceil_div(end - begin, steps[i]));
    v.axes[axis].stride *= steps[i];
  }
  return v;
}

}  // namespace

Dims StridedView::dims() const {
  Dims made;
  for (const ViewAxis& a : axes) made.push_back(a.extent);
  return made;
}

StridedView view_of_rows(const Operand& operand) {
  StridedView v{operand, std::vector<ViewAxis>(operand.rank())};
  int64_t stride = 1;
  for (size_t i = operand.rank(); i-- > 0;) {
    v.axes[i] = {operand.dims[i], stride, 1};
    stride *= operand.dims[i];
  }
  return v;
}

StridedView contiguous(Emitter& e, const StridedView& v) {
  Operand to = v.data;
  to.dims = v.dims();
  to.known = nullptr;
  if (is_contiguous(v)) return view_of_rows(to);
  if (v.axes.size() > kMostAxes) e.fail(text("a view has ", v.axes.size(), " axes, expected at most ", kMostAxes));
  const Operand memory = e.scratch(to.bytes());
  to.buffer = memory.buffer;
  to.offset = memory.offset;
  const auto count = int64_t(to.count());
  if (count == 0) return view_of_rows(to);
  ViewArguments a{};
  const size_t skip = kMostAxes - v.axes.size();
  for (size_t i = 0; i < kMostAxes; ++i) {
    const ViewAxis axis = i < skip ? ViewAxis{} : v.axes[i - skip];
    a.stride[i] = axis.stride;
    a.extent[i] = axis.extent;
    a.repeat[i] = int32_t(axis.repeat);
  }
  const char* word = size_of(to.type) == 2 ? "u16" : size_of(to.type) == 4 ? "u32" : "u64";
  Grid grid;
  grid.threads.x = 256;
  grid.blocks.x = unsigned(std::min<int64_t>(ceil_div(count, 256), 1 << 16));
  e.launch(e.kernel("attention_view.cu", "gather_view", {{"WORD", word}}), grid, {v.data, to, count, Argument::of(a)});
  return view_of_rows(to);
}

std::optional<ViewStep> view_step(const Node& node, const std::function<int(const Value*)>& input) {
  ViewStep s;
  const auto number = [&](size_t i) { return node.input(i) ? input(node.input(i)) : -1; };
  if (!node.domain.empty() && node.domain != "ai.onnx") return std::nullopt;
  if (node.type == "Transpose" && node.has("perm")) {
    s.kind = ViewStep::Kind::transpose;
    s.list = node.integers("perm");
  } else if (node.type == "Reshape" && node.since >= 5) {
    s.first = number(1);
    s.allows_zero = node.integer("allowzero", 0) != 0;
  } else if ((node.type == "Unsqueeze" || node.type == "Squeeze") &&
             (node.since < 13 ? node.has("axes") : bool(node.input(1)))) {
    s.kind = node.type == "Squeeze" ? ViewStep::Kind::squeeze : ViewStep::Kind::unsqueeze;
    s.first = node.since < 13 ? -1 : number(1);
    s.list = node.integers("axes");
  } else if (node.type == "Expand") {
    s.kind = ViewStep::Kind::expand;
    s.first = number(1);
  } else if (node.type == "Slice" && node.since >= 10) {
    s.kind = ViewStep::Kind::slice;
    s.first = number(1);
    s.ends = number(2);
    s.axes = number(3);
    s.steps = number(4);
  } else {
    return std::nullopt;
  }
  return s;
}

StridedView apply(Emitter& e, StridedView v, const std::vector<ViewStep>& steps) {
  for (const ViewStep& step : steps) {
    switch (step.kind) {
      case ViewStep::Kind::reshape:
        v = reshape(e, v, wanted_dims(e, v, step));
        break;
      case ViewStep::Kind::transpose: {
        if (step.list.size() != v.axes.size()) e.fail("a permutation has another number of axes than its tensor");
        std::vector<ViewAxis> axes;
        for (const int64_t axis : step.list) axes.push_back(v.axes[size_t(checked_axis(e, axis, v.axes.size()))]);
        v.axes = std::move(axes);
        break;
      }
      case ViewStep::Kind::unsqueeze:
        unsqueeze(e, v, step);
        break;
      case ViewStep::Kind::squeeze:
        squeeze(e, v, step);
        break;
      case ViewStep::Kind::expand:
        expand(e, v, step);
        break;
      case ViewStep::Kind::slice:
        v = slice(e, std::move(v), step);
        break;
      case ViewStep::Kind::split:
        if (v.axes.empty() || v.axes.back().extent % step.parts)
          e.fail(text("the last axis has no ", step.parts, " equal parts"));
        cut(v, v.axes.size() - 1, v.axes.back().extent / step.parts * step.part, v.axes.back().extent / step.parts);
        break;
    }
  }
  return v;
}

}  // namespace providers::cuda
