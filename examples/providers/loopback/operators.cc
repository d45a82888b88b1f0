#include "operators.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>

namespace loopback {
namespace {

using Inputs = std::vector<Tensor>;
using Shape = std::vector<int64_t>;

const float* in(const Tensor& t) { return static_cast<const float*>(t.data); }
float* out(const Tensor& t) { return static_cast<float*>(t.data); }

std::string text(const Shape& shape) {
  std::string s = "[";
  for (const int64_t d : shape) s += (s.size() > 1 ? "," : "") + std::to_string(d);
  return s + "]";
}
[[noreturn]] void mismatch(const Operation& op, const Inputs& inputs) {
  std::string shapes;
  for (const Tensor& t : inputs) shapes += " " + text(t.shape);
  throw Error(ORT_INVALID_ARGUMENT, op.type + ": shapes do not fit:" + shapes);
}

/// An axis of a tensor of that rank, counted from the front.
size_t axis_of(const Operation& op, int64_t axis, size_t rank) {
  const int64_t from_front = axis < 0 ? axis + int64_t(rank) : axis;
  if (from_front < 0 || from_front >= int64_t(rank))
    throw Error(ORT_INVALID_ARGUMENT, op.type + ": axis " + std::to_string(axis) + " of rank " + std::to_string(rank));
  return size_t(from_front);
}
int64_t product(const Shape& shape, size_t begin, size_t end) {
  return std::accumulate(shape.begin() + long(begin), shape.begin() + long(end), int64_t(1), std::multiplies<>());
}

/// The shape that both broadcast to; nullopt if they do not.
std::optional<Shape> broadcast(const Shape& a, const Shape& b) {
  Shape shape(std::max(a.size(), b.size()));
  for (size_t i = 0; i < shape.size(); ++i) {
    const auto extent = [&](const Shape& s) { return i < s.size() ? s[s.size() - 1 - i] : 1; };
    const int64_t x = extent(a), y = extent(b);
    if (x != y && x != 1 && y != 1) return std::nullopt;
    shape[shape.size() - 1 - i] = x == 1 ? y : x;
  }
  return shape;
}
/// The element of a tensor of shape `of` that broadcasts to element `index` of `shape`.
size_t source(size_t index, const Shape& shape, const Shape& of) {
  size_t at = 0, stride = 1;
  for (size_t i = 0; i < of.size(); ++i) {
    const size_t extent = size_t(shape[shape.size() - 1 - i]), own = size_t(of[of.size() - 1 - i]);
    at += (own == 1 ? 0 : index % extent) * stride;
    index /= extent;
    stride *= own;
  }
  return at;
}

Tensor same_shape(const Operation&, const Inputs& x) {
  return {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, x[0].shape, nullptr};
}
template <float (*F)(float)>
void unary(const Operation&, const Inputs& x, const Tensor& y) {
  std::transform(in(x[0]), in(x[0]) + y.elements(), out(y), F);
}
float neg(float v) { return -v; }
float relu(float v) { return v > 0 || std::isnan(v) ? v : 0; }
float sigmoid(float v) { return 1 / (1 + std::exp(-v)); }
float same(float v) { return v; }

Tensor broadcast_shape(const Operation& op, const Inputs& x) {
  const auto shape = broadcast(x[0].shape, x[1].shape);
  if (!shape) mismatch(op, x);
  return {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, *shape, nullptr};
}
template <typename F>
void binary(const Operation&, const Inputs& x, const Tensor& y) {
  const float *a = in(x[0]), *b = in(x[1]);
  const size_t n = y.elements();
  if (x[0].shape == x[1].shape) {
    std::transform(a, a + n, b, out(y), F());
  } else if (x[1].elements() == 1 && x[0].elements() == n) {
    std::transform(a, a + n, out(y), [b = *b](float v) { return F()(v, b); });
  } else {
    for (size_t i = 0; i < n; ++i)
      out(y)[i] = F()(a[source(i, y.shape, x[0].shape)], b[source(i, y.shape, x[1].shape)]);
  }
}

/// The extents of a matrix product, and the offsets of its batches.
struct Product {
  Shape shape, batch, batch_a, batch_b;
  int64_t m, k, n;
};
Product matmul_extents(const Operation& op, const Inputs& x) {
  Shape a = x[0].shape, b = x[1].shape;
  if (a.empty() || b.empty()) mismatch(op, x);
  // Vectors become matrices, and the additional axis is removed at the end.
  const bool row = a.size() == 1, column = b.size() == 1;
  if (row) a.insert(a.begin(), 1);
  if (column) b.push_back(1);
  Product p{{}, {}, {a.begin(), a.end() - 2}, {b.begin(), b.end() - 2}, a.end()[-2], a.back(), b.back()};
  const auto batch = broadcast(p.batch_a, p.batch_b);
  if (!batch || b.end()[-2] != p.k) mismatch(op, x);
  p.shape = p.batch = *batch;
  if (!row) p.shape.push_back(p.m);
  if (!column) p.shape.push_back(p.n);
  return p;
}
Tensor matmul_shape(const Operation& op, const Inputs& x) {
  return {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, matmul_extents(op, x).shape, nullptr};
}
void matmul(const Operation& op, const Inputs& x, const Tensor& y) {
  const Product p = matmul_extents(op, x);
  const int64_t batches = product(p.batch, 0, p.batch.size());
  for (int64_t i = 0; i < batches; ++i) {
    const float* a = in(x[0]) + source(size_t(i), p.batch, p.batch_a) * size_t(p.m * p.k);
    const float* b = in(x[1]) + source(size_t(i), p.batch, p.batch_b) * size_t(p.k * p.n);
    float* c = out(y) + i * p.m * p.n;
    std::fill_n(c, p.m * p.n, 0.0f);
    for (int64_t r = 0; r < p.m; ++r) {
      for (int64_t k = 0; k < p.k; ++k) {
        for (int64_t j = 0; j < p.n; ++j) c[r * p.n + j] += a[r * p.k + k] * b[k * p.n + j];
      }
    }
  }
}

Tensor gemm_shape(const Operation& op, const Inputs& x) {
  if (x[0].shape.size() != 2 || x[1].shape.size() != 2) mismatch(op, x);
  const bool ta = op.number("transA", 0) != 0, tb = op.number("transB", 0) != 0;
  const Shape shape{x[0].shape[ta], x[1].shape[!tb]};
  const bool fits = x.size() < 3 || broadcast(shape, x[2].shape) == shape;
  if (x[0].shape[!ta] != x[1].shape[tb] || !fits) mismatch(op, x);
  return {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, shape, nullptr};
}
void gemm(const Operation& op, const Inputs& x, const Tensor& y) {
  const bool ta = op.number("transA", 0) != 0, tb = op.number("transB", 0) != 0;
  const float alpha = float(op.number("alpha", 1)), beta = float(op.number("beta", 1));
  const int64_t m = y.shape[0], n = y.shape[1], k = x[0].shape[!ta];
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t l = 0; l < k; ++l)
        sum += in(x[0])[ta ? l * m + i : i * k + l] * in(x[1])[tb ? j * k + l : l * n + j];
      const float c = x.size() < 3 ? 0 : in(x[2])[source(size_t(i * n + j), y.shape, x[2].shape)];
      out(y)[i * n + j] = alpha * sum + beta * c;
    }
  }
}

Tensor reshape_shape(const Operation& op, const Inputs& x) {
  Shape shape = op.constants.at(1);
  size_t open = shape.size();
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && op.number("allowzero", 0) == 0) {
      if (i >= x[0].shape.size()) mismatch(op, x);
      shape[i] = x[0].shape[i];
    }
    if (shape[i] == -1) open = i;
  }
  if (open < shape.size()) {
    shape[open] = 1;
    const int64_t others = product(shape, 0, shape.size());
    shape[open] = others ? int64_t(x[0].elements()) / others : 0;
  }
  if (product(shape, 0, shape.size()) != int64_t(x[0].elements())) mismatch(op, x);
  return {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, shape, nullptr};
}
void plain_copy(const Operation&, const Inputs& x, const Tensor& y) {
  if (bytes(y)) std::memmove(y.data, x[0].data, bytes(y));
}

std::vector<bool> reduced(const Operation& op, size_t rank) {
  const auto axes = op.constants.find(1);
  const bool none = axes == op.constants.end() || axes->second.empty();
  std::vector<bool> is(rank, none && op.number("noop_with_empty_axes", 0) == 0);
  if (!none) {
    for (const int64_t axis : axes->second) is[axis_of(op, axis, rank)] = true;
  }
  return is;
}
Tensor reduce_shape(const Operation& op, const Inputs& x) {
  const std::vector<bool> gone = reduced(op, x[0].shape.size());
  Tensor y;
  for (size_t i = 0; i < gone.size(); ++i) {
    if (!gone[i])
      y.shape.push_back(x[0].shape[i]);
    else if (op.number("keepdims", 1) != 0)
      y.shape.push_back(1);
  }
  return y;
}
void reduce_sum(const Operation& op, const Inputs& x, const Tensor& y) {
  const std::vector<bool> gone = reduced(op, x[0].shape.size());
  Shape kept = x[0].shape;
  for (size_t i = 0; i < kept.size(); ++i) kept[i] = gone[i] ? 1 : kept[i];
  std::fill_n(out(y), y.elements(), 0.0f);
  for (size_t i = 0; i < x[0].elements(); ++i) out(y)[source(i, x[0].shape, kept)] += in(x[0])[i];
}

Tensor softmax_shape(const Operation& op, const Inputs& x) {
  axis_of(op, int64_t(op.number("axis", -1)), x[0].shape.size());
  return same_shape(op, x);
}
void softmax(const Operation& op, const Inputs& x, const Tensor& y) {
  const size_t axis = axis_of(op, int64_t(op.number("axis", -1)), y.shape.size());
  const int64_t n = y.shape[axis], inner = product(y.shape, axis + 1, y.shape.size());
  for (int64_t o = 0; n && o < int64_t(y.elements()) / n; ++o) {
    const int64_t begin = o / inner * n * inner + o % inner;
    float most = -std::numeric_limits<float>::infinity(), sum = 0;
    for (int64_t i = 0; i < n; ++i) most = std::max(most, in(x[0])[begin + i * inner]);
    for (int64_t i = 0; i < n; ++i) sum += out(y)[begin + i * inner] = std::exp(in(x[0])[begin + i * inner] - most);
    for (int64_t i = 0; i < n; ++i) out(y)[begin + i * inner] /= sum;
  }
}

template <bool Last>
Tensor pooled_shape(const Operation& op, const Inputs& x) {
  Tensor y = x[0];
  if (y.shape.size() < 3) mismatch(op, x);
  std::fill(y.shape.begin() + (Last ? 1 : 2), y.shape.end() - Last, 1);
  return y;
}
template <bool Last>
void pool(const Operation&, const Inputs& x, const Tensor& y) {
  const int64_t images = y.shape[0], channels = Last ? y.shape.back() : y.shape[1];
  const int64_t area = int64_t(x[0].elements()) / std::max<int64_t>(1, images * channels);
  for (int64_t i = 0; i < images * channels; ++i) {
    const int64_t image = i / channels, channel = i % channels;
    const float* from = in(x[0]) + image * channels * area + channel * (Last ? 1 : area);
    double sum = 0;
    for (int64_t p = 0; p < area; ++p) sum += double(from[p * (Last ? channels : 1)]);
    out(y)[i] = float(sum / double(area));
  }
}

Tensor concat_shape(const Operation& op, const Inputs& x) {
  Tensor y = x[0];
  const size_t axis = axis_of(op, int64_t(op.number("axis", 0)), y.shape.size());
  for (size_t k = 1; k < x.size(); ++k) {
    Shape other = x[k].shape;
    if (other.size() != y.shape.size()) mismatch(op, x);
    const int64_t more = other[axis];
    other[axis] = y.shape[axis];
    if (other != y.shape) mismatch(op, x);
    y.shape[axis] += more;
  }
  return y;
}
void concat(const Operation& op, const Inputs& x, const Tensor& y) {
  const size_t axis = axis_of(op, int64_t(op.number("axis", 0)), y.shape.size());
  const int64_t outer = product(y.shape, 0, axis), inner = product(y.shape, axis + 1, y.shape.size());
  float* to = out(y);
  for (int64_t o = 0; o < outer; ++o) {
    for (const Tensor& t : x) {
      const int64_t n = t.shape[axis] * inner;
      to = std::copy_n(in(t) + o * n, n, to);
    }
  }
}

// The shape depends on data, so the caller waits for the stream.
Tensor nonzero_shape(const Operation&, const Inputs& x) {
  const int64_t n = int64_t(x[0].elements()) - std::count(in(x[0]), in(x[0]) + x[0].elements(), 0.0f);
  return {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, {int64_t(x[0].shape.size()), n}, nullptr};
}
void nonzero(const Operation&, const Inputs& x, const Tensor& y) {
  auto* places = static_cast<int64_t*>(y.data);
  const int64_t n = y.shape[1];
  for (size_t i = 0, found = 0; i < x[0].elements(); ++i) {
    if (in(x[0])[i] == 0) continue;
    size_t rest = i;
    for (size_t d = x[0].shape.size(); d-- > 0; rest /= size_t(x[0].shape[d]))
      places[int64_t(d) * n + int64_t(found)] = int64_t(rest % size_t(x[0].shape[d]));
    ++found;
  }
}

}  // namespace

const std::map<std::string, Operator>& operators() {
  constexpr int kLast = 30;  // up to this version, the operators are the same for floats
  static const std::map<std::string, Operator> all{
      {"Add", {7, kLast, 2, 2, 0, broadcast_shape, binary<std::plus<>>}},
      {"Sub", {7, kLast, 2, 2, 0, broadcast_shape, binary<std::minus<>>}},
      {"Mul", {7, kLast, 2, 2, 0, broadcast_shape, binary<std::multiplies<>>}},
      {"Neg", {6, kLast, 1, 1, 0, same_shape, unary<neg>}},
      {"Relu", {6, kLast, 1, 1, 0, same_shape, unary<relu>}},
      {"Sigmoid", {6, kLast, 1, 1, 0, same_shape, unary<sigmoid>}},
      {"Identity", {1, kLast, 1, 1, 0, same_shape, unary<same>}},
      {"MatMul", {1, kLast, 2, 2, 0, matmul_shape, matmul}},
      {"Gemm", {7, kLast, 2, 3, 0, gemm_shape, gemm}},
      {"Reshape", {5, kLast, 2, 2, 1, reshape_shape, plain_copy}},
      {"ReduceSum", {13, kLast, 1, 2, 1, reduce_shape, reduce_sum}},
      {"Softmax", {13, kLast, 1, 1, 0, softmax_shape, softmax}},
      {"Concat", {4, kLast, 1, 64, 0, concat_shape, concat}},
      {"GlobalAveragePool", {1, kLast, 1, 1, 0, pooled_shape<false>, pool<false>}},
      {kChannelsLast + "GlobalAveragePool", {1, kLast, 1, 1, 0, pooled_shape<true>, pool<true>}},
      {"NonZero", {9, kLast, 1, 1, 0, nonzero_shape, nonzero, true}},
  };
  return all;
}

const Operator& operator_of(const std::string& type) {
  const auto at = operators().find(type);
  if (at == operators().end()) throw Error(ORT_NOT_IMPLEMENTED, "no operator '" + type + "'");
  return at->second;
}

size_t bytes(const Tensor& t) {
  return t.elements() * (t.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64 ? sizeof(int64_t) : sizeof(float));
}

}  // namespace loopback
