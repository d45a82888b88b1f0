#include "conv_kernels.h"

#include <algorithm>

#include "common/sizes.h"

namespace providers::cuda {
namespace {

/// An operand, or a null pointer.
Argument optional(const Operand& o) { return o.buffer < 0 ? Argument(int64_t{0}) : Argument(o); }

Defines defines(Type type, const ConvEpilogue& epilogue) {
  return {{"TYPE", kernel_type(type)}, {"ACT", std::to_string(int(epilogue.activation))}};
}

/// Strides of a packed tensor with three spatial axes.
struct Strides {
  int64_t n = 0, c = 0, s[3] = {};
  Strides(int64_t channels, const int64_t (&sizes)[3], bool last) {
    c = last ? 1 : sizes[0] * sizes[1] * sizes[2];
    int64_t step = last ? channels : 1;
    for (int i = 2; i >= 0; --i) {
      s[i] = step;
      step *= sizes[i];
    }
    n = channels * sizes[0] * sizes[1] * sizes[2];
  }
};

/// The largest power of two of elements in 16 bytes that divides all of `counts`.
int64_t vector_of(Type type, std::initializer_list<int64_t> counts) {
  int64_t v = int64_t(16 / size_of(type));
  for (const int64_t n : counts)
    while (n % v) v /= 2;
  return v;
}

}  // namespace

void emit_epilogue(Emitter& e, const ConvSizes& s, const ConvEpilogue& epilogue, const ConvOperands& o) {
  const int64_t count = product(s.y), channels = s.y[1], inner = s.last ? 1 : product(s.y, 2);
  if (count == 0) return;
  const int64_t v = vector_of(s.type, {s.last ? channels : inner});
  const bool narrow = index_type(count) == std::string("int");
  Defines d = defines(s.type, epilogue);
  d["EPILOGUE"] = "1";
  d["VEC"] = std::to_string(v);
  d["INDEX"] = index_type(count);
  const int64_t vectors = count / v;
  e.launch(e.kernel("conv.cu", "epilogue", d), flat_grid(size_t(vectors)),
           {o.y, optional(o.bias), optional(o.residual), narrow ? Argument(int32_t(vectors)) : Argument(vectors),
            int32_t(channels), int32_t(inner), epilogue.alpha, epilogue.beta});
}

void emit_broadcast_epilogue(Emitter& e, bool last, const ConvEpilogue& epilogue, const ConvOperands& o,
                             const Operand& to) {
  struct {
    int64_t count, dims[5], from[5], residual[5], to[5];
    int32_t bias_channels, unused = 0;
  } p{};
  const size_t rank = to.rank();
  p.count = product(to.dims);
  p.bias_channels = int32_t(o.y.dims[1]);
  const auto fill = [&](const Dims& dims, int64_t(&strides)[5]) {
    int64_t step = last ? dims[1] : 1;
    for (size_t i = rank; i-- > 0;) {
      const size_t at = i < 2 ? i : 5 - rank + i;
      if (last && i == 1) continue;
      strides[at] = dims[i] == 1 ? 0 : step;
      step *= dims[i];
    }
    if (last) strides[1] = dims[1] == 1 ? 0 : 1;
  };
  std::fill(p.dims, p.dims + 5, 1);
  for (size_t i = 0; i < rank; ++i) p.dims[i < 2 ? i : 5 - rank + i] = to.dims[i];
  fill(o.y.dims, p.from);
  fill(o.residual.dims, p.residual);
  fill(to.dims, p.to);
  if (p.count == 0) return;
  Defines d = defines(to.type, epilogue);
  d["BROADCAST"] = "1";
  e.launch(e.kernel("conv.cu", "epilogue_broadcast", d), flat_grid(size_t(p.count)),
           {o.y, optional(o.bias), o.residual, to, Argument::of(p), epilogue.alpha, epilogue.beta});
}

void emit_pad(Emitter& e, const ConvSizes& s, const Operand& x, const Dims& dims, const Operand& to) {
  struct {
    int64_t count;
    int32_t channels, padded, in[3], out[3], begin[3], unused = 0;
    int64_t n, c, s[3];
  } p{};
  const int64_t v = s.last ? vector_of(s.type, {dims[1]}) : 1;
  p.count = product(dims) / v;
  p.channels = int32_t(s.x[1]);
  p.padded = int32_t(dims[1]);
  int64_t sizes[3];
  const size_t missing = 5 - dims.size();
  for (size_t i = 0; i < 3; ++i) {
    sizes[i] = s.axes[i].in;
    p.in[i] = int32_t(sizes[i]);
    p.out[i] = i < missing ? 1 : int32_t(dims[2 + i - missing]);
    p.begin[i] = p.out[i] == p.in[i] ? 0 : int32_t(s.axes[i].begin);
  }
  const Strides from(s.x[1], sizes, x.layout == Layout::channels_last);
  p.n = from.n;
  p.c = from.c;
  std::copy(from.s, from.s + 3, p.s);
  if (p.count == 0) return;
  Defines d{{"TYPE", kernel_type(s.type)}, {"PAD", "1"}, {"VEC", std::to_string(v)}, {"INDEX", index_type(p.count)}};
  if (s.last) d["LAST"] = "1";
  e.launch(e.kernel("conv.cu", "pad", d), flat_grid(size_t(p.count)), {x, to, Argument::of(p)});
}

void emit_direct(Emitter& e, const ConvSizes& s, const ConvEpilogue& epilogue, const ConvOperands& o) {
  struct {
    int64_t count;
    int32_t channels, group_in, group_out, last, in[3], out[3], filter[3], stride[3], dilation[3], begin[3];
    int64_t xn, xc, xs[3], wk, wc, ws[3], yn, yc, ys[3];
  } p{};
  p.count = product(s.y);
  if (p.count == 0) return;
  p.channels = int32_t(s.y[1]);
  p.group_in = int32_t(s.x[1] / s.group);
  p.group_out = int32_t(s.y[1] / s.group);
  p.last = s.last;
  int64_t in[3], out[3], filter[3];
  for (int i = 0; i < 3; ++i) {
    const WindowAxis& a = s.axes[size_t(i)];
    p.in[i] = int32_t(in[i] = a.in);
    p.out[i] = int32_t(out[i] = a.out);
    p.filter[i] = int32_t(filter[i] = a.filter);
    p.stride[i] = int32_t(a.stride);
    p.dilation[i] = int32_t(a.dilation);
    p.begin[i] = int32_t(a.begin);
  }
  const Strides x(s.x[1], in, s.last), w(s.w[1], filter, s.last), y(s.y[1], out, s.last);
  p.xn = x.n, p.xc = x.c, p.wk = w.n, p.wc = w.c, p.yn = y.n, p.yc = y.c;
  std::copy(x.s, x.s + 3, p.xs);
  std::copy(w.s, w.s + 3, p.ws);
  std::copy(y.s, y.s + 3, p.ys);
  Defines d = defines(s.type, epilogue);
  d["DIRECT"] = "1";
  d["INDEX"] = index_type(p.count);
  if (s.transposed) d["TRANSPOSED"] = "1";
  e.launch(e.kernel("conv.cu", "direct", d), flat_grid(size_t(p.count)),
           {o.x, o.w, optional(o.bias), optional(o.residual), o.y, Argument::of(p), epilogue.alpha, epilogue.beta});
}

bool is_depthwise(const ConvSizes& s) {
  const auto& [d, h, w] = s.axes;
  return s.last && !s.transposed && s.group == s.x[1] && s.y[1] == s.group && s.group > 1 && d.in == 1 &&
         d.filter == 1 && d.out == 1 && h.filter * w.filter <= 81 && w.filter <= 9 && w.dilation <= 4 && w.stride <= 4;
}

void emit_depthwise(Emitter& e, const ConvSizes& s, const ConvEpilogue& epilogue, const ConvOperands& o) {
  struct {
    int64_t count;
    int32_t channels, height, width, out_height, out_width, top, left, unused = 0;
  } p{};
  const WindowAxis &h = s.axes[1], &w = s.axes[2];
  const int64_t channels = s.x[1];
  if (product(s.y) == 0) return;
  int64_t v = vector_of(s.type, {channels});
  if (w.filter > 5) v = std::min<int64_t>(v, 4);  // the filter's row is in registers
  const auto threads = [&](int64_t strip) { return s.y[0] * h.out * ceil_div(w.out, strip) * (channels / v); };
  // Wide strips read less; small tensors need the threads.
  const int64_t wanted = int64_t(e.device().multiprocessors()) * 1024;
  const int64_t strip = w.filter > 5 ? 2 : threads(4) >= wanted ? 4 : threads(2) >= wanted ? 2 : 1;
  p.count = threads(strip);
  p.channels = int32_t(channels);
  p.height = int32_t(h.in);
  p.width = int32_t(w.in);
  p.out_height = int32_t(h.out);
  p.out_width = int32_t(w.out);
  p.top = int32_t(h.begin);
  p.left = int32_t(w.begin);
  Defines d = defines(s.type, epilogue);
  d["DEPTHWISE"] = "1";
  d["INDEX"] = index_type(p.count);
  for (const auto& [name, value] :
       {std::pair("VEC", v), std::pair("FH", h.filter), std::pair("FW", w.filter), std::pair("SH", h.stride),
        std::pair("SW", w.stride), std::pair("DH", h.dilation), std::pair("DW", w.dilation), std::pair("STRIP", strip)})
    d[name] = std::to_string(value);
  e.launch(e.kernel("conv.cu", "depthwise", d), flat_grid(size_t(p.count), 128),
           {o.x, o.w, optional(o.bias), optional(o.residual), o.y, Argument::of(p), epilogue.alpha, epilogue.beta});
}

}  // namespace providers::cuda
