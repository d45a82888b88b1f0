// MaxPool, AveragePool, the global ones, and reductions.
#include <algorithm>

#include "common/sizes.h"
#include "operators.h"

namespace onednn {
namespace {

using providers::Error;
using providers::shape_text;
using providers::text;
constexpr auto kPoolInference = dnnl::prop_kind::forward_inference;

// The window: strides, sizes, dilations, and padding before and after.
Tensor pool(Builder& b, const Tensor& x, dnnl::algorithm f, const Dims& y, const Dims (&window)[5]) {
  const Desc any(y, x.type(), dnnl::memory::format_tag::any);
  const dnnl::pooling_v2_forward::desc desc(kPoolInference, f, x.desc, any, window[0], window[1], window[2], window[3],
                                            window[4]);
  const dnnl::pooling_v2_forward::primitive_desc pd(desc, attributes(), engine());
  const Tensor to = b.fresh(y, pd.dst_desc());
  b.step_of(pd, {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, to}});
  return to;
}

class Pool : public Operation {
 public:
  explicit Pool(const Node& node) {
    const size_t n = node.in[0]->rank() - 2;
    kernel_ = node.integers("kernel_shape");
    strides_ = node.integers("strides", Dims(n, 1));
    dilations_ = node.integers("dilations", Dims(n, 1));
    pads_ = node.integers("pads", Dims(2 * n, 0));
    auto_pad_ = node.string("auto_pad", "NOTSET");
    ceil_ = node.integer("ceil_mode", 0) != 0;
    includes_ = node.integer("count_include_pad", 0) != 0;
    average_ = node.type == "AveragePool";
  }
  bool sound(size_t n) const {
    const auto least = [](const Dims& d, int64_t v) {
      return std::all_of(d.begin(), d.end(), [v](int64_t x) { return x >= v; });
    };
    if (kernel_.size() != n || strides_.size() != n || dilations_.size() != n || pads_.size() != 2 * n) return false;
    if (!least(kernel_, 1) || !least(strides_, 1) || !least(dilations_, 1) || !least(pads_, 0)) return false;
    for (size_t i = 0; i < n; ++i)  // windows that consist of padding only
      if (pads_[i] >= kernel_[i] || pads_[i + n] >= kernel_[i]) return false;
    // Elements beyond the padding do not count, which the library cannot represent.
    return !(average_ && includes_ && (ceil_ || auto_pad_.rfind("SAME", 0) == 0)) &&
           !(average_ && least(dilations_, 2));
  }
  void build(Builder& b) const override;

 private:
  Dims kernel_, strides_, dilations_, pads_;
  std::string auto_pad_;
  bool ceil_ = false, includes_ = false, average_ = false;
};

void Pool::build(Builder& b) const {
  const Tensor& x = b.value(in[0]);
  const size_t n = kernel_.size();
  Dims y{x.dims[0], x.dims[1]}, begin(n), end(n), gaps(n);
  for (size_t i = 0; i < n; ++i) {
    const int64_t size = x.dims[i + 2], stride = strides_[i], span = (kernel_[i] - 1) * dilations_[i] + 1;
    const providers::Padding p = providers::resolve_padding(auto_pad_, {pads_[i], pads_[n + i]}, size, span, stride);
    int64_t out = providers::ceil_div(size, stride);
    if (!providers::is_same(auto_pad_)) {
      const int64_t room = providers::window_room(size, span, p);
      out = (ceil_ ? providers::ceil_div(room, stride) : room / stride) + 1;
      if (ceil_ && (out - 1) * stride >= size + p.begin) --out;  // windows begin inside
    }
    y.push_back(out);
    begin[i] = p.begin;
    end[i] = std::max(p.end, (out - 1) * stride + span - size - p.begin);
    gaps[i] = dilations_[i] - 1;
  }
  if (b.empty(*this, y)) return;
  const auto f = !average_   ? dnnl::algorithm::pooling_max
                 : includes_ ? dnnl::algorithm::pooling_avg_include_padding
                             : dnnl::algorithm::pooling_avg_exclude_padding;
  b.made(*this, pool(b, x, f, y, {strides_, kernel_, gaps, begin, end}));
}

/// Pools over all axes from the third on, which become 1 or are removed.
class Global : public Operation {
 public:
  Global(dnnl::algorithm f, bool keeps) : function_(f), keeps_(keeps) {}
  void build(Builder& b) const override {
    const Tensor& x = b.value(in[0]);
    const size_t n = x.dims.size() - 2;
    Dims y(x.dims.size(), 1);
    std::copy_n(x.dims.begin(), 2, y.begin());
    const Dims kernel(x.dims.begin() + 2, x.dims.end()), ones(n, 1), none(n, 0);
    if (count_of(kernel) == 0)
      throw Error(text("an input ", shape_text(x.dims), " has no elements to pool"), ORT_INVALID_ARGUMENT);
    Tensor to = pool(b, x, function_, y, {ones, kernel, none, none, none});
    b.made(*this, keeps_ ? to : b.reshaped(to, {y[0], y[1]}));
  }

 private:
  const dnnl::algorithm function_;
  const bool keeps_;
};

class Reduction : public Operation {
 public:
  Reduction(dnnl::algorithm f, Dims axes, bool keeps) : function_(f), axes_(std::move(axes)), keeps_(keeps) {}
  void build(Builder& b) const override {
    const Tensor x = b.plain_of(b.value(in[0]), DataType::f32);
    Dims kept = x.dims, left;
    for (const int64_t a : axes_) kept[size_t(a)] = 1;
    for (size_t i = 0; i < kept.size(); ++i)
      if (keeps_ || !std::count(axes_.begin(), axes_.end(), int64_t(i))) left.push_back(kept[i]);
    if (count_of(x.dims) == 0)
      throw Error(text("an input ", shape_text(x.dims), " has no elements to reduce"), ORT_INVALID_ARGUMENT);
    const Tensor to = b.fresh(kept, plain(kept, DataType::f32));
    if (kept == x.dims) {
      b.made(*this, b.reshaped(x, left));
      return;
    }
    const dnnl::reduction::desc desc(function_, x.desc, to.desc, 0, 0);
    b.step_of(dnnl::reduction::primitive_desc(desc, attributes(), engine()), {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, to}});
    Tensor seen = to;
    seen.dims = left;
    seen.desc = plain(left, DataType::f32);
    b.made(*this, seen);
  }

 private:
  const dnnl::algorithm function_;
  const Dims axes_;
  const bool keeps_;
};

// Axes of a reduction, counted from the front; empty if they are unknown.
Dims axes_of(const Node& node) {
  const auto rank = int64_t(node.in[0]->rank());
  Dims axes = node.integers("axes");
  if (node.input(1)) axes = is_constant(node, 1) ? Dims(constant_integers(node, 1)) : Dims{rank};
  if (axes.empty() && node.integer("noop_with_empty_axes", 0)) return {};
  if (axes.empty())
    for (int64_t i = 0; i < rank; ++i) axes.push_back(i);
  for (int64_t& a : axes) {
    a += a < 0 ? rank : 0;
    if (a < 0 || a >= rank) return {};
  }
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  return axes;
}

bool claims_reduction(const Node& node) {
  const Value& x = *node.in[0];
  return x.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT && x.has_rank && x.rank() <= 5 && !axes_of(node).empty();
}

std::unique_ptr<Operation> make_reduction(const Node& node) {
  const Dims axes = axes_of(node);
  const size_t rank = node.in[0]->rank();
  const bool keeps = node.integer("keepdims", 1) != 0;
  const bool spatial = rank >= 3 && axes.size() == rank - 2 && axes.front() == 2;
  if (spatial && node.type == "ReduceMean")
    return std::make_unique<Global>(dnnl::algorithm::pooling_avg_exclude_padding, keeps);
  const auto f = node.type == "ReduceSum" ? dnnl::algorithm::reduction_sum : dnnl::algorithm::reduction_mean;
  return std::make_unique<Reduction>(f, axes, keeps);
}

bool claims_pool(const Node& node) { return floats(node, 3, 5) && Pool(node).sound(node.in[0]->rank() - 2); }
bool claims_global(const Node& node) { return floats(node, 3, 5); }

}  // namespace

void add_pools(Rules& rules) {
  for (const char* type : {"MaxPool", "AveragePool"})
    rules.push_back(
        {type, 1, claims_pool, [](const Node& n) -> std::unique_ptr<Operation> { return std::make_unique<Pool>(n); }});
  for (const char* type : {"GlobalAveragePool", "GlobalMaxPool"}) {
    rules.push_back({type, 1, claims_global, [](const Node& n) -> std::unique_ptr<Operation> {
                       return std::make_unique<Global>(n.type == "GlobalMaxPool"
                                                           ? dnnl::algorithm::pooling_max
                                                           : dnnl::algorithm::pooling_avg_exclude_padding,
                                                       true);
                     }});
  }
  // Without ReduceMax and ReduceMin, which the library initialises with the largest finite number, so that infinities
  // get lost.
  for (const char* type : {"ReduceMean", "ReduceSum"}) rules.push_back({type, 1, claims_reduction, make_reduction});
}

}  // namespace onednn
