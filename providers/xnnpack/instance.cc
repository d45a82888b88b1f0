// A program for given shapes: a subgraph of the library, and its runtime.
#include <algorithm>
#include <cstring>

#include "common/sizes.h"
#include "program.h"

namespace xnn {
namespace {

using providers::Error;
using providers::shape_text;
using providers::text;

void check(xnn_status status, const std::string& where) {
  if (status != xnn_status_success) throw Error(text(where, ": XNNPACK returned status ", int(status)));
}

// The dimensions as the library takes them.
std::vector<size_t> sizes(const Dims& dims) {
  std::vector<size_t> s(dims.begin(), dims.end());
  if (s.size() == 4) s = {s[0], s[2], s[3], s[1]};
  return s;
}

class Definition {
 public:
  Definition(const Program& program, const std::vector<Dims>& shapes)
      : p_(program), dims_(program.values.size()), ids_(program.values.size(), XNN_INVALID_VALUE_ID) {
    xnn_subgraph_t made = nullptr;
    check(xnn_create_subgraph(uint32_t(program.inputs.size() + program.outputs.size()), 0, &made), program.name);
    graph_.reset(made);
    for (size_t i = 0; i < program.inputs.size(); ++i) {
      if (program.inputs[i] < 0) continue;
      dims_[size_t(program.inputs[i])] = shapes[i];
      define(program.inputs[i], uint32_t(i), XNN_VALUE_FLAG_EXTERNAL_INPUT);
    }
    for (const Step& s : program.steps) {
      try {
        add(s);
      } catch (const Error& e) {
        std::string inputs;
        for (const int id : s.in) inputs += " " + shape_text(dims(id));
        throw Error(text(s.who, ": ", e.what(), "; check its inputs", inputs), e.code());
      }
    }
  }
  xnn_subgraph_t graph() const { return graph_.get(); }
  const Dims& dims(int value) const {
    const Slot& slot = p_.values[size_t(value)];
    return slot.constant ? slot.constant->dims : dims_[size_t(value)];
  }

 private:
  void define(int value, uint32_t external, uint32_t flags) {
    const Slot& slot = p_.values[size_t(value)];
    const std::vector<size_t> s = sizes(dims(value));
    uint32_t& id = ids_[size_t(value)];
    check(slot.scale == 0
              ? xnn_define_tensor_value(graph(), xnn_datatype_fp32, s.size(), s.data(), nullptr, external, flags, &id)
              : xnn_define_quantized_tensor_value(graph(), xnn_datatype_qint8, slot.zero, slot.scale, s.size(),
                                                  s.data(), nullptr, external, flags, &id),
          "a value");
  }

  // Constants already have channels last; those of products and convolutions are in the library's layout.
  uint32_t id(int value, bool weights = false) {
    uint32_t& known = ids_[size_t(value)];
    const Slot& slot = p_.values[size_t(value)];
    if (known != XNN_INVALID_VALUE_ID || !slot.constant) return known;
    const Constant& c = *slot.constant;
    const std::vector<size_t> s = weights ? std::vector<size_t>(c.dims.begin(), c.dims.end()) : sizes(c.dims);
    const auto by_channel = [&](xnn_datatype type, const void* data) {
      const size_t axis = s[0] == c.scales.size() ? 0 : s.size() - 1;
      return xnn_define_channelwise_quantized_tensor_value(graph(), type, c.scales.data(), s.size(), axis, s.data(),
                                                           data, XNN_INVALID_VALUE_ID, 0, &known);
    };
    xnn_status status = xnn_status_success;
    if (!c.sums.empty())
      status = by_channel(xnn_datatype_qcint32, c.sums.data());
    else if (!c.scales.empty())
      status = by_channel(xnn_datatype_qcint8, c.stored.data());
    else if (!c.stored.empty())
      status = xnn_define_quantized_tensor_value(graph(), xnn_datatype_qint8, slot.zero, slot.scale, s.size(), s.data(),
                                                 c.stored.data(), XNN_INVALID_VALUE_ID, 0, &known);
    else
      status = xnn_define_tensor_value(graph(), xnn_datatype_fp32, s.size(), s.data(), c.data.data(),
                                       XNN_INVALID_VALUE_ID, 0, &known);
    check(status, "a constant");
    return known;
  }

  uint32_t result(const Step& s, Dims dims) {
    dims_[size_t(s.out)] = std::move(dims);
    const auto at = std::find(p_.outputs.begin(), p_.outputs.end(), s.out);
    const bool asked = at != p_.outputs.end();
    define(s.out, asked ? uint32_t(p_.inputs.size() + size_t(at - p_.outputs.begin())) : XNN_INVALID_VALUE_ID,
           asked ? XNN_VALUE_FLAG_EXTERNAL_OUTPUT : 0);
    return ids_[size_t(s.out)];
  }

  void add(const Step& s);
  void add_window(const Step& s);
  void add_binary(const Step& s);

  const Program& p_;
  std::vector<Dims> dims_;
  std::vector<uint32_t> ids_;
  std::unique_ptr<xnn_subgraph, xnn_status (*)(xnn_subgraph_t)> graph_{nullptr, xnn_delete_subgraph};
};

void Definition::add_window(const Step& s) {
  const Dims& x = dims(s.in[0]);
  const Window& w = s.window;
  Dims y{x[0], x[1], 0, 0};
  uint32_t pad[4] = {};  // top, left, bottom, right
  for (size_t i = 0; i < 2; ++i) {
    const int64_t size = x[i + 2], span = (w.kernel[i] - 1) * w.dilations[i] + 1, stride = w.strides[i];
    const providers::Padding p = providers::resolve_padding(w.auto_pad, {w.pads[i], w.pads[i + 2]}, size, span, stride);
    y[i + 2] = providers::window_room(size, span, p) / stride + 1;
    pad[i] = uint32_t(p.begin);
    pad[i + 2] = uint32_t(p.end);
  }
  const auto u = [](int64_t v) { return uint32_t(v); };
  const uint32_t kh = u(w.kernel[0]), kw = u(w.kernel[1]), sh = u(w.strides[0]), sw = u(w.strides[1]),
                 dh = u(w.dilations[0]), dw = u(w.dilations[1]);
  const uint32_t in = id(s.in[0]);
  if (s.kind == Kind::max_pool || s.kind == Kind::average_pool) {
    const uint32_t out = result(s, y);
    check(s.kind == Kind::max_pool ? xnn_define_max_pooling_2d(graph(), pad[0], pad[3], pad[2], pad[1], kh, kw, sh, sw,
                                                               dh, dw, s.low, s.high, in, out, 0)
                                   : xnn_define_average_pooling_2d(graph(), pad[0], pad[3], pad[2], pad[1], kh, kw, sh,
                                                                   sw, s.low, s.high, in, out, 0),
          "a pool");
    return;
  }
  const Dims& weights = dims(s.in[1]);
  const bool deep = s.kind == Kind::depthwise;
  y[1] = weights[deep ? 3 : 0];
  if (x[1] != (deep ? w.groups : weights[3] * w.groups))
    throw Error(text("its weights with group ", w.groups, " need another number of channels"), ORT_INVALID_ARGUMENT);
  const uint32_t filter = id(s.in[1], true), bias = id(s.in[2], true), out = result(s, y);
  check(deep
            ? xnn_define_depthwise_convolution_2d(graph(), pad[0], pad[3], pad[2], pad[1], kh, kw, sh, sw, dh, dw,
                                                  u(y[1] / x[1]), size_t(x[1]), s.low, s.high, in, filter, bias, out, 0)
            : xnn_define_convolution_2d(graph(), pad[0], pad[3], pad[2], pad[1], kh, kw, sh, sw, dh, dw, u(w.groups),
                                        size_t(weights[3]), size_t(y[1] / w.groups), s.low, s.high, in, filter, bias,
                                        out, 0),
        "a convolution");
}

void Definition::add_binary(const Step& s) {
  // Row-major, except for constants of one dimension beside images, which go along the channels.
  const Dims &a = dims(s.in[0]), &b = dims(s.in[1]);
  const Dims& large = a.size() >= b.size() ? a : b;
  Dims y = large;
  for (size_t i = 0; i < y.size() && a.size() == b.size(); ++i) {
    if (a[i] != b[i] && a[i] != 1 && b[i] != 1)
      throw Error("shapes do not fit; sizes must be equal or 1", ORT_INVALID_ARGUMENT);
    y[i] = a[i] == 1 ? b[i] : a[i];
  }
  const uint32_t x = id(s.in[0]), z = id(s.in[1]), out = result(s, y);
  switch (s.kind) {
    case Kind::add:
      return check(xnn_define_add2(graph(), s.low, s.high, x, z, out, 0), "a sum");
    case Kind::subtract:
      return check(xnn_define_subtract(graph(), s.low, s.high, x, z, out, 0), "a difference");
    case Kind::multiply:
      return check(xnn_define_multiply2(graph(), s.low, s.high, x, z, out, 0), "a product");
    case Kind::divide:
      return check(xnn_define_divide(graph(), s.low, s.high, x, z, out, 0), "a quotient");
    case Kind::maximum:
      return check(xnn_define_maximum2(graph(), x, z, out, 0), "a maximum");
    default:
      return check(xnn_define_minimum2(graph(), x, z, out, 0), "a minimum");
  }
}

void Definition::add(const Step& s) {
  if (s.kind <= Kind::average_pool) return add_window(s);
  if (s.kind >= Kind::add && s.kind <= Kind::minimum) return add_binary(s);
  const Dims x = dims(s.in[0]);
  const uint32_t in = id(s.in[0]);
  if (s.kind == Kind::product) {
    const Dims& w = dims(s.in[1]);
    if (x[1] != w[1])
      throw Error(text("shapes cannot be multiplied; the last axis must be ", w[1]), ORT_INVALID_ARGUMENT);
    const uint32_t filter = id(s.in[1], true), bias = id(s.in[2], true), out = result(s, {x[0], w[0]});
    return check(xnn_define_fully_connected(graph(), s.low, s.high, in, filter, bias, out, 0), "a product");
  }
  if (s.kind == Kind::reshape) {
    const Dims y = x.size() == 4 ? Dims{x[0], x[1]} : Dims{x[0], x[1], 1, 1};
    const uint32_t out = result(s, y);
    const std::vector<size_t> to = sizes(y);
    return check(xnn_define_static_reshape(graph(), to.size(), to.data(), in, out, 0), "a reshape");
  }
  const uint32_t out = result(s, s.kind == Kind::global_average ? Dims{x[0], x[1], 1, 1} : x);
  switch (s.kind) {
    case Kind::global_average:
      return check(xnn_define_global_average_pooling_2d(graph(), s.low, s.high, in, out, 0), "a mean");
    case Kind::softmax:
      return check(xnn_define_softmax(graph(), in, out, 0), "softmax");
    case Kind::sigmoid:
      return check(xnn_define_sigmoid(graph(), in, out, 0), "sigmoid");
    case Kind::hard_swish:
      return check(xnn_define_hardswish(graph(), in, out, 0), "hard swish");
    case Kind::leaky_relu:
      return check(xnn_define_leaky_relu(graph(), s.low, in, out, 0), "leaky relu");
    case Kind::convert:
      return check(xnn_define_convert(graph(), in, out, 0), "a conversion");
    case Kind::elu:
      return check(xnn_define_elu(graph(), s.low, in, out, 0), "elu");
    default:
      return check(xnn_define_clamp(graph(), s.low, s.high, in, out, 0), "a clamp");
  }
}

// Transposes a matrix in tiles that fit the cache.
template <typename T>
void transpose(const T* from, T* to, int64_t rows, int64_t columns) {
  constexpr int64_t tile = 16;
  for (int64_t r = 0; r < rows; r += tile)
    for (int64_t c = 0; c < columns; c += tile)
      for (int64_t i = r; i < std::min(r + tile, rows); ++i)
        for (int64_t j = c; j < std::min(c + tile, columns); ++j) to[j * rows + i] = from[i * columns + j];
}

}  // namespace

int64_t count_of(const Dims& dims) {
  int64_t n = 1;
  for (const int64_t d : dims) n *= d;
  return n;
}

template <typename T>
void channels_last(const T* from, T* to, const Dims& d) {
  const int64_t area = d[2] * d[3], image = d[1] * area;
  for (int64_t n = 0; n < d[0]; ++n) transpose(from + n * image, to + n * image, d[1], area);
}
template <typename T>
void channels_first(const T* from, T* to, const Dims& d) {
  const int64_t area = d[2] * d[3], image = d[1] * area;
  for (int64_t n = 0; n < d[0]; ++n) transpose(from + n * image, to + n * image, area, d[1]);
}
template void channels_last(const float*, float*, const Dims&);
template void channels_last(const int8_t*, int8_t*, const Dims&);
template void channels_first(const float*, float*, const Dims&);
template void channels_first(const int8_t*, int8_t*, const Dims&);

Instance::Port Instance::port(const Slot& slot, const Dims& dims) {
  Port p{dims, slot.scale != 0, slot.biased, {}};
  p.memory.resize(size_t(count_of(dims)) * (p.bytes ? 1 : sizeof(float)) + XNN_EXTRA_BYTES);
  return p;
}

void Instance::Port::take(const void* from) {
  const auto count = size_t(count_of(dims));
  auto* own = reinterpret_cast<int8_t*>(memory.data());
  if (dims.size() != 4)
    std::memcpy(own, from, count * (bytes ? 1 : sizeof(float)));
  else if (bytes)
    channels_last(static_cast<const int8_t*>(from), own, dims);
  else
    channels_last(static_cast<const float*>(from), reinterpret_cast<float*>(own), dims);
  for (size_t i = 0; biased && i < count; ++i) own[i] = int8_t(own[i] ^ -128);
}

// The next run overwrites what is converted here.
void Instance::Port::give(void* to) {
  const auto count = size_t(count_of(dims));
  auto* own = reinterpret_cast<int8_t*>(memory.data());
  for (size_t i = 0; biased && i < count; ++i) own[i] = int8_t(own[i] ^ -128);
  if (dims.size() != 4)
    std::memcpy(to, own, count * (bytes ? 1 : sizeof(float)));
  else if (bytes)
    channels_first(own, static_cast<int8_t*>(to), dims);
  else
    channels_first(reinterpret_cast<const float*>(own), static_cast<float*>(to), dims);
}

Instance::Instance(const Program& program, const std::vector<Dims>& s, pthreadpool_t threads) : shapes(s) {
  const Definition definition(program, shapes);
  xnn_runtime_t made = nullptr;
  check(xnn_create_runtime_v2(definition.graph(), threads, 0, &made), program.name);
  runtime_.reset(made);
  const auto port_of = [&](int id) { return port(program.values[size_t(id)], definition.dims(id)); };
  for (const int id : program.inputs) {
    given_.push_back(id >= 0);
    in_.push_back(id >= 0 ? port_of(id) : Port{});
  }
  for (const int id : program.outputs) {
    out_.push_back(port_of(id));
    outputs.push_back(out_.back().dims);
  }
  std::vector<xnn_external_value> values;
  for (size_t i = 0; i < in_.size(); ++i)
    if (given_[i]) values.push_back({uint32_t(i), in_[i].memory.data()});
  for (size_t i = 0; i < out_.size(); ++i) {
    const auto& constant = program.values[size_t(program.outputs[i])].constant;
    if (constant)  // weights that others also read as float32
      std::memcpy(out_[i].memory.data(), constant->data.data(), constant->data.size() * sizeof(float));
    else
      values.push_back({uint32_t(in_.size() + i), out_[i].memory.data()});
  }
  check(xnn_setup_runtime(made, values.size(), values.data()), program.name);
}

void Instance::run(const std::vector<const void*>& in, const std::vector<void*>& out) {
  for (size_t i = 0; i < in_.size(); ++i)
    if (given_[i]) in_[i].take(in[i]);
  check(xnn_invoke_runtime(runtime_.get()), "a run");
  for (size_t i = 0; i < out_.size(); ++i) out_[i].give(out[i]);
}

}  // namespace xnn
