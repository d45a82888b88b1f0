// Split and Slice: copies of pieces of a tensor.
#include <algorithm>
#include <numeric>

#include "common/sizes.h"
#include "operators.h"

namespace onednn {
namespace {

using providers::Error;
using providers::shape_text;
using providers::text;

// Copies the piece to its own memory, in the layout of the whole.
Tensor piece(Builder& b, const Tensor& t, const Dims& dims, const Dims& offsets) {
  if (count_of(dims) == 0) return b.fresh(dims, plain(dims, t.type()));
  const Tensor whole = channels_last(t.desc) ? t : b.plain_of(t);
  const Desc seen = whole.desc.submemory_desc(dims, offsets);
  const Desc own = channels_last(whole.desc) ? last_channels(dims, t.type()) : plain(dims, t.type());
  const Tensor to = b.fresh(dims, own);
  const dnnl::reorder::primitive_desc pd(engine(), seen, engine(), own, attributes());
  b.step_of(pd, {{DNNL_ARG_FROM, Tensor{dims, seen, whole.block}}, {DNNL_ARG_TO, to}});
  return to;
}

class Split : public Operation {
 public:
  Split(size_t axis, Dims sizes) : axis_(axis), sizes_(std::move(sizes)) {}
  void build(Builder& b) const override {
    const Tensor& x = b.value(in[0]);
    Dims sizes = sizes_, offsets(x.dims.size(), 0), dims = x.dims;
    const auto n = int64_t(outs.size()), each = providers::ceil_div(x.dims[axis_], n);
    for (int64_t i = 0; sizes_.empty() && i < n; ++i)
      sizes.push_back(std::clamp<int64_t>(x.dims[axis_] - i * each, 0, each));
    if (int64_t(sizes.size()) != n || std::accumulate(sizes.begin(), sizes.end(), int64_t{0}) != x.dims[axis_])
      throw Error(text("sizes ", shape_text(sizes), " do not make up axis ", axis_, " of ", shape_text(x.dims), " in ",
                       n, " pieces"),
                  ORT_INVALID_ARGUMENT);
    for (size_t i = 0; i < outs.size(); ++i) {
      dims[axis_] = sizes[i];
      if (outs[i] >= 0) b.made(outs[i], piece(b, x, dims, offsets));
      offsets[axis_] += sizes[i];
    }
  }

 private:
  const size_t axis_;
  const Dims sizes_;
};

class Slice : public Operation {
 public:
  Slice(Dims starts, Dims ends, Dims axes)
      : starts_(std::move(starts)), ends_(std::move(ends)), axes_(std::move(axes)) {}
  void build(Builder& b) const override {
    const Tensor& x = b.value(in[0]);
    Dims dims = x.dims, offsets(dims.size(), 0);
    for (size_t i = 0; i < axes_.size(); ++i) {
      const int64_t size = x.dims[size_t(axes_[i])];
      const auto inside = [size](int64_t v) { return std::clamp<int64_t>(v < 0 ? v + size : v, 0, size); };
      offsets[size_t(axes_[i])] = inside(starts_[i]);
      dims[size_t(axes_[i])] = std::max<int64_t>(0, inside(ends_[i]) - inside(starts_[i]));
    }
    b.made(*this, piece(b, x, dims, offsets));
  }

 private:
  const Dims starts_, ends_, axes_;
};

int64_t axis_of(const Node& node) {
  const int64_t axis = node.integer("axis", 0);
  return axis < 0 ? axis + int64_t(node.in[0]->rank()) : axis;
}

bool is_one_float(const Node& node) {
  const Value& x = *node.in[0];
  return x.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT && x.has_rank && x.rank() <= 5;
}

Dims split_sizes(const Node& node) { return node.input(1) ? Dims(constant_integers(node, 1)) : node.integers("split"); }

bool claims_split(const Node& node) {
  if (!is_one_float(node) || axis_of(node) < 0 || axis_of(node) >= int64_t(node.in[0]->rank())) return false;
  if (node.input(1) && !is_constant(node, 1)) return false;
  const Dims sizes = split_sizes(node);
  // Before version 18, pieces without sizes are equal; otherwise the model is invalid, which the CPU provider reports.
  const int64_t size = node.in[0]->dims[size_t(axis_of(node))], n = int64_t(node.out.size());
  if (sizes.empty() && (size < 0 || (node.since < 18 && size % n))) return false;
  return std::all_of(sizes.begin(), sizes.end(), [](int64_t s) { return s > 0; });
}

// Starts, ends and axes; no axes if the node cannot be claimed.
struct Range {
  Dims starts, ends, axes;
};

Range range_of(const Node& node) {
  Range r;
  if (node.since < 10) {
    r = {node.integers("starts"), node.integers("ends"), node.integers("axes")};
  } else {
    for (size_t i = 1; i < node.in.size(); ++i)
      if (node.in[i] && !is_constant(node, i)) return {};
    r = {constant_integers(node, 1), constant_integers(node, 2), {}};
    if (node.input(3)) r.axes = constant_integers(node, 3);
    const Dims steps = node.input(4) ? Dims(constant_integers(node, 4)) : Dims();
    if (std::any_of(steps.begin(), steps.end(), [](int64_t s) { return s != 1; })) return {};
  }
  if (r.axes.empty())
    for (size_t i = 0; i < r.starts.size(); ++i) r.axes.push_back(int64_t(i));
  const auto rank = int64_t(node.in[0]->rank());
  for (int64_t& a : r.axes) {
    a += a < 0 ? rank : 0;
    if (a < 0 || a >= rank) return {};
  }
  Dims sorted = r.axes;
  std::sort(sorted.begin(), sorted.end());
  const bool twice = std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
  return twice || r.starts.size() != r.axes.size() || r.ends.size() != r.axes.size() ? Range{} : r;
}

// Pieces of size 0 are not claimed: they need no primitive.
bool claims_slice(const Node& node) {
  if (!is_one_float(node) || (node.since >= 10 && node.in.size() < 3)) return false;
  const Dims& y = node.out[0]->dims;
  return !range_of(node).axes.empty() && node.out[0]->fixed() && count_of(y) > 0;
}

}  // namespace

void add_pieces(Rules& rules) {
  rules.push_back({"Split", 2, claims_split,
                   [](const Node& n) -> std::unique_ptr<Operation> {
                     return std::make_unique<Split>(size_t(axis_of(n)), split_sizes(n));
                   },
                   false, true});
  rules.push_back({"Slice", 1, claims_slice, [](const Node& n) -> std::unique_ptr<Operation> {
                     Range r = range_of(n);
                     return std::make_unique<Slice>(r.starts, r.ends, r.axes);
                   }});
}

}  // namespace onednn
