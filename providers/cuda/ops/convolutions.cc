#include "convolutions.h"

#include <algorithm>

#include "common/sizes.h"
#include "decoded.h"

namespace providers::cuda {
namespace {

bool is_real(const Value* v) {
  return v && (v->type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT || v->type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16 ||
               v->type == ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16);
}

/// The filter {K, C, spatial...} with its axes in another order and its channels padded to `channels` by zeros.
std::vector<char> reorder(const TensorView& filter, int64_t channels, bool channels_first_of_all) {
  const size_t size = size_of(filter.type);
  const int64_t k = filter.dims[0], c = filter.dims[1], places = product(filter.dims, 2);
  std::vector<char> made(size_t(k * channels * places) * size);
  const char* const from = static_cast<const char*>(filter.data);
  for (int64_t i = 0; i < k; ++i)
    for (int64_t j = 0; j < c; ++j)
      for (int64_t p = 0; p < places; ++p) {
        const int64_t to = channels_first_of_all ? p * k + i : (i * places + p) * channels + j;
        std::memcpy(made.data() + size_t(to) * size, from + size_t((i * c + j) * places + p) * size, size);
      }
  return made;
}

/// Channels of 16 bytes: the accesses of cuDNN's fast engines.
int64_t wide_channels(Type type) { return int64_t(16 / size_of(type)); }

/// Padding behind the last element that gives as many windows. The same on both sides, if that is possible: all engines
/// have it.
int64_t end_of(const WindowAxis& a) {
  const int64_t least = std::max<int64_t>(0, (a.out - 1) * a.stride + a.span() - a.in - a.begin);
  const int64_t most = (a.out - 1) * a.stride + a.span() - a.in - a.begin + a.stride - 1;
  return a.begin >= least && a.begin <= most ? a.begin : least;
}

/// The problem for cuDNN. False if it has no form there.
bool problem_of(const ConvSizes& s, ConvProblem& p) {
  p.type = s.type;
  p.channels_last = s.last;
  p.transposed = s.transposed;
  p.w = s.w;
  const size_t spatial = std::max<size_t>(2, s.x.size() - 2);
  p.x = {s.x[0], s.x[1]};
  p.y = {s.y[0], s.y[1]};
  p.w.resize(2);
  for (size_t i = 3 - spatial; i < 3; ++i) {
    WindowAxis a = s.axes[i];
    p.x.push_back(a.in);
    p.y.push_back(a.out);
    p.w.push_back(a.filter);
    if (s.transposed) std::swap(a.in, a.out);
    const int64_t end = end_of(a), room = a.in + a.begin + end - a.span();
    if (a.begin < 0 || room < 0 || room / a.stride + 1 != a.out) return false;
    p.strides.push_back(a.stride);
    p.dilations.push_back(a.dilation);
    p.begins.push_back(a.begin);
    p.ends.push_back(end);
  }
  return true;
}

}  // namespace

const Node* decoding(const Value* value) {
  const Node* const maker = value ? value->maker : nullptr;
  const bool decodes = maker && maker->domain.empty() && maker->type == "DequantizeLinear" && maker->input(1) &&
                       value->type == maker->input(1)->type && value->fixed() && refuses_decoding(*maker).empty();
  return decodes ? maker : nullptr;
}

ConvOp::ConvOp(const Node& node, Builder& builder)
    : window_(node),
      transposed_(node.type == "ConvTranspose"),
      group_(node.integer("group", 1)),
      output_padding_(node.integers("output_padding")),
      output_shape_(node.integers("output_shape")) {
  const Value* const x = node.input(0);
  tf32_ = builder.setting("use_tf32");
  search_ = !builder.setting("conv_heuristic");
  last_ = x->type != ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT || tf32_;
  in.assign(6, -1);
  in[kConvX] = builder.number(x);
  read_constants(node, builder);
}

void ConvOp::read_constants(const Node& node, Builder& builder) {
  for (const size_t i : {kConvW, kConvBias}) {
    const Value* const v = node.input(i);
    if (const Node* const codes = decoding(v))
      in[i] = i == kConvW && last_
                  ? -1
                  : builder.packed(codes->input(0), "numbers of " + v->name, v->type, v->dims,
                                   [codes](const TensorView& t) { return decoded_numbers(*codes, t); });
    else
      in[i] = builder.number(v);
  }
  pack_filter(node, builder);
}

void ConvOp::pack_filter(const Node& node, Builder& builder) {
  const Value* const w = node.input(1);
  const Node* const codes = decoding(w);
  const Value* const from = codes ? codes->input(0) : w;
  if (!last_ || !from->constant) return;
  const Dims dims = view_of(from->constant).dims;
  const auto pack = [&](const std::string& form, const Dims& shape, int64_t channels, bool first) {
    const std::string name = codes ? text("numbers of ", w->name, ", ", form) : form;
    return builder.packed(from, name, w->type, shape, [=](const TensorView& v) {
      if (!codes) return reorder(v, channels, first);
      const std::vector<char> numbers = decoded_numbers(*codes, v);
      TensorView view;
      view.type = w->type;
      view.dims = v.dims;
      view.data = numbers.data();
      return reorder(view, channels, first);
    });
  };
  in[kConvW] = pack("channels last", dims, dims[1], false);
  filter_last_ = true;
  if (transposed_) return;
  if (group_ > 1 && dims[0] == group_ && dims[1] == 1 && dims.size() <= 4)
    in[kConvDepthwise] = pack("channels last of all", dims, 1, true);
  const int64_t wide = wide_channels(w->type);
  if (group_ == 1 && dims[1] < wide) {
    Dims padded = dims;
    padded[1] = wide;
    in[kConvPadded] = pack("channels last, padded", padded, wide, false);
  }
}

// The rules of the padding are those of ONNX, with its cases of output_shape and auto_pad.
WindowAxes ConvOp::transposed_axes(const Dims& x, const Dims& sizes) const {
  WindowAxes made;
  const size_t spatial = x.size() - 2;
  for (size_t i = 0; i < spatial; ++i) {
    WindowAxis& a = made[3 - spatial + i];
    a.in = x[2 + i];
    a.filter = sizes[i];
    if (!window_.strides.empty()) a.stride = window_.strides[i];
    if (!window_.dilations.empty()) a.dilation = window_.dilations[i];
    const int64_t more = output_padding_.empty() ? 0 : output_padding_[i];
    const int64_t full = (a.in - 1) * a.stride + more + a.span();
    const bool same = is_same(window_.auto_pad);
    if (!output_shape_.empty() || same) {
      a.out = output_shape_.empty() ? a.in * a.stride : output_shape_[output_shape_.size() - spatial + i];
      const int64_t all = std::max<int64_t>(0, full - a.out);
      a.begin = window_.auto_pad == "SAME_UPPER" ? all / 2 : all - all / 2;
      a.end = all - a.begin;
    } else {
      if (!window_.pads.empty()) a.begin = window_.pads[i], a.end = window_.pads[spatial + i];
      a.out = full - a.begin - a.end;
    }
    if (a.out < 0) throw Error(text("axis ", 2 + i, " of the output would have ", a.out, " elements"));
  }
  return made;
}

ConvSizes ConvOp::sizes(Emitter& e) const {
  const Operand &x = e.look(kConvX), &w = e.look(kConvW);
  ConvSizes s;
  s.type = x.type;
  s.last = last_;
  s.transposed = transposed_;
  s.group = group_;
  s.x = x.dims;
  s.w = w.dims;
  const size_t rank = s.x.size();
  if (rank < 3 || rank > 5 || s.w.size() != rank) e.fail("input and filter need the same rank of 3 to 5");
  const int64_t channels = transposed_ ? s.w[0] : s.w[1] * group_;
  if (s.x[1] != channels) e.fail(text("the input has ", s.x[1], " channels, but the filter expects ", channels));
  if (s.w[0] % group_) e.fail(text("the filter's ", s.w[0], " rows cannot be divided into ", group_, " groups"));
  const Dims filter(s.w.begin() + 2, s.w.end());
  if (!window_.filter.empty() && window_.filter != filter) e.fail("attribute kernel_shape differs from the filter");
  s.axes = transposed_ ? transposed_axes(s.x, filter) : window_.axes(s.x, filter);
  s.y = window_dims(s.x, transposed_ ? s.w[1] * group_ : s.w[0], s.axes);
  if (e.has(kConvBias) && e.look(kConvBias).dims != Dims{s.y[1]}) e.fail(text("the bias needs ", s.y[1], " elements"));
  return s;
}

void ConvOp::emit(Emitter& e) const {
  const ConvSizes s = sizes(e);
  ConvEpilogue after = epilogue;
  after.bias = e.has(kConvBias);
  after.residual = e.has(kConvResidual);
  const Layout layout = last_ ? Layout::channels_last : Layout::rows;
  ConvOperands o;
  if (after.bias) o.bias = e.in(kConvBias);
  if (!after.residual || e.look(kConvResidual).dims == s.y) {
    o.y = e.out(0, s.type, s.y, layout);
    if (o.y.count() == 0) return;
    if (after.residual) o.residual = last_ ? e.in_channels_last(kConvResidual) : e.in(kConvResidual);
    return compute(e, s, after, o);
  }
  // The sum that follows broadcasts one of its operands.
  const Dims other = e.look(kConvResidual).dims;
  if (other.size() != s.y.size()) e.fail("the tensor that is added needs the rank of the output");
  Dims all = s.y;
  for (size_t i = 0; i < all.size(); ++i) {
    if (other[i] != s.y[i] && other[i] != 1 && s.y[i] != 1) e.fail("the tensor that is added does not fit the output");
    if (s.y[i] == 1) all[i] = other[i];
  }
  const Operand sum = e.out(0, s.type, all, layout);
  if (sum.count() == 0) return;
  o.y = e.scratch(size_t(product(s.y)) * size_of(s.type));
  compute(e, s, {}, o);
  o.y.type = s.type;
  o.y.dims = s.y;
  o.residual = last_ ? e.in_channels_last(kConvResidual) : e.in(kConvResidual);
  emit_broadcast_epilogue(e, last_, after, o, sum);
}

Operand ConvOp::filter(Emitter& e) const { return last_ && !filter_last_ ? e.in_channels_last(kConvW) : e.in(kConvW); }

void ConvOp::compute(Emitter& e, const ConvSizes& s, const ConvEpilogue& after, ConvOperands o) const {
  if (product(s.x) > 0 && e.has(kConvDepthwise) && is_depthwise(s)) {
    o.x = e.in_channels_last(kConvX);
    o.w = e.in(kConvDepthwise);
    return emit_depthwise(e, s, after, o);
  }
  if (product(s.x) > 0 && by_library(e, s, after, o)) return;
  o.x = last_ ? e.in_channels_last(kConvX) : e.in(kConvX);
  o.w = filter(e);
  emit_direct(e, s, after, o);
}

ConvOp::Choice ConvOp::choose(Emitter& e, const ConvSizes& s, ConvProblem p) const {
  Convolutions& library = e.device().convolutions();
  Choice c;
  if (!problem_of(s, p)) return c;
  c.plan = library.plan(p, search_);
  if (e.has(kConvPadded)) {
    ConvProblem wide = p;
    wide.x[1] = wide.w[1] = wide_channels(s.type);
    const auto other = library.plan(wide, search_);
    if (other && (!c.plan || other->microseconds() < c.plan->microseconds() || c.plan->microseconds() < 0)) {
      c = {other, s.x, true};
      c.padded[1] = wide.x[1];
    }
  }
  if (c.plan || p.begins == p.ends || s.transposed) return c;
  c.padded = s.x;
  const size_t extra = p.x.size() - s.x.size();  // a tensor of one spatial axis has two in cuDNN
  for (size_t i = 0; i < p.begins.size(); ++i) {
    p.x[2 + i] += p.begins[i] + p.ends[i];
    p.begins[i] = p.ends[i] = 0;
    if (i >= extra) c.padded[2 + i - extra] = p.x[2 + i];
  }
  c.plan = library.plan(p, search_);
  return c;
}

bool ConvOp::by_library(Emitter& e, const ConvSizes& s, const ConvEpilogue& after, const ConvOperands& o) const {
  ConvProblem p;
  p.tf32 = tf32_;
  p.epilogue = after;
  // cuDNN's engines with a sum or rectifier have a bias, too: zeros where the model has none.
  const bool zeros = !after.bias && !after.empty();
  if (zeros) p.epilogue.bias = true;
  const Choice c = choose(e, s, p);
  const auto& plan = c.plan;
  if (!plan) return false;
  Operand x;
  if (c.padded.empty()) {
    x = last_ ? e.in_channels_last(kConvX) : e.in(kConvX);
  } else {
    x = e.scratch(size_t(product(c.padded)) * size_of(s.type));
    emit_pad(e, s, last_ ? e.in_any_layout(kConvX) : e.in(kConvX), c.padded, x);
  }
  const Operand w = c.wide ? e.in(kConvPadded) : filter(e);
  const Operand workspace = plan->workspace() ? e.scratch(plan->workspace()) : Operand();
  Operand bias, residual;
  if (plan->fused()) {
    const std::vector<char> none(zeros ? size_t(s.y[1]) * size_of(s.type) : 0);
    bias = zeros ? e.table(none.data(), none.size()) : o.bias;
    residual = o.residual;
  }
  e.call({x, w, o.y, bias, residual, workspace}, [plan, x, w, y = o.y, bias, residual, workspace](const Run& run) {
    plan->run(run.stream, {run(x), run(w), run(y), run(bias), run(residual), run(workspace)});
  });
  if (!plan->fused() && !after.empty()) emit_epilogue(e, s, after, o);
  return true;
}

std::string refuses_convolution(const Node& node, const Claiming&) {
  const Value *const x = node.input(0), *const w = node.input(1);
  if (!is_real(x) || !is_real(w) || x->type != w->type) return "its type is not float32, float16 or bfloat16";
  const Value* const ranked = w->has_rank ? w : x;
  if (!ranked->has_rank) return "the rank of its filter is unknown";
  if (ranked->rank() < 3 || ranked->rank() > 5) return text("its filter has rank ", ranked->rank());
  if (node.integer("group", 1) < 1) return "attribute group is not positive";
  const size_t more = node.integers("output_padding").size();
  if (more != 0 && more != ranked->rank() - 2) return "attribute output_padding does not fit the filter's rank";
  const Window window(node);
  if (const std::string why = window.refuses(ranked->rank() - 2); !why.empty()) return why;
  return "";
}

}  // namespace providers::cuda
