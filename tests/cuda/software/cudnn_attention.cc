// Products of matrices and reductions of cuDNN's graphs, and which attentions its engines support.
#include <algorithm>
#include <limits>

#include "cudnn_graph.h"

namespace software_cuda::dnn {
namespace {

/// C = A * B for each entry of the batch and each head; heads of B serve several of A.
struct Product {
  explicit Product(const Data& o) : a(need(o, 1520)), b(need(o, 1521)), c(need(o, 1522)) {
    const auto wrong = [](const char* what) { throw Refusal{kBadParameter, what}; };
    need(o, 1523);
    for (const Tensor* t : {&a, &b, &c})
      if (t->dims.size() != 4 || t->strides.size() != 4) wrong("a matrix of a product does not have 4 dims");
    if (a.dims[0] != c.dims[0] || a.dims[1] != c.dims[1] || b.dims[0] != c.dims[0] || c.dims[1] % b.dims[1])
      wrong("batch or heads of a product do not fit");
    if (a.dims[2] != c.dims[2] || b.dims[3] != c.dims[3] || a.dims[3] != b.dims[2]) wrong("matrices do not fit");
    for (const auto& [name, count] : {std::pair(1525, &m), std::pair(1526, &n), std::pair(1527, &k)})
      if (o.descriptor(name)) {
        count->emplace_back(need(o, name));
        if (count->back().type != Number::i32 || count->back().dims != std::vector<int64_t>{c.dims[0], 1, 1, 1})
          wrong("a number of rows is not an int32 for each entry of the batch");
      }
  }
  Tensor a, b, c;
  std::vector<Tensor> m, n, k;  // the numbers of rows, columns and depth of each entry, or none
};

int64_t extent(const std::vector<Tensor>& given, int64_t all, int64_t entry, const Finder& at) {
  if (given.empty()) return all;
  const auto count = int64_t(load(Number::i32, at(given[0]), entry * given[0].strides[0]));
  return std::clamp<int64_t>(count, 0, all);
}

int64_t place(const Tensor& t, int64_t b, int64_t h, int64_t r, int64_t c) {
  return b * t.strides[0] + h * t.strides[1] + r * t.strides[2] + c * t.strides[3];
}

void multiply_head(const Product& p, const Finder& at, int64_t b, int64_t h) {
  const int64_t rows = extent(p.m, p.c.dims[2], b, at), columns = extent(p.n, p.c.dims[3], b, at);
  const int64_t depth = extent(p.k, p.a.dims[3], b, at), other = h / (p.c.dims[1] / p.b.dims[1]);
  const void *const x = at(p.a), *const y = at(p.b);
  std::vector<float> right(size_t(columns * depth)), left(static_cast<size_t>(depth));
  for (int64_t j = 0; j < columns; ++j)
    for (int64_t k = 0; k < depth; ++k)
      right[size_t(j * depth + k)] = float(load(p.b.type, y, place(p.b, b, other, k, j)));
  for (int64_t i = 0; i < p.c.dims[2]; ++i) {
    for (int64_t k = 0; k < depth && i < rows; ++k) left[size_t(k)] = float(load(p.a.type, x, place(p.a, b, h, i, k)));
    for (int64_t j = 0; j < p.c.dims[3]; ++j) {
      const bool there = i < rows && j < columns;
      store(p.c.type, at(p.c), place(p.c, b, h, i, j),
            there ? double(dot(&right[size_t(j * depth)], left.data(), depth)) : 0);
    }
  }
}

}  // namespace

void examine_product(const Data& o) { const Product fits(o); }

void compute_product(const Data& o, const Finder& at) {
  const Product p(o);
  for (int64_t b = 0; b < p.c.dims[0]; ++b)
    for (int64_t h = 0; h < p.c.dims[1]; ++h) multiply_head(p, at, b, h);
}

void examine_reduction(const Data& o) {
  const Tensor x(need(o, 1610)), y(need(o, 1611));
  std::vector<int64_t> wanted = x.dims;
  wanted.back() = 1;
  if (y.dims != wanted) throw Refusal{kUnsupported, "a reduction of other than the last dim"};
  const int64_t operation = need(o, 1612).integer(1600, -1);
  if (operation != 0 && operation != 3) throw Refusal{kUnsupported, "a reduction that the stand-in does not have"};
}

void compute_reduction(const Data& o, const Finder& at) {
  const Tensor x(need(o, 1610)), y(need(o, 1611));
  const bool most = need(o, 1612).integer(1600, -1) == 3;
  for (int64_t b = 0; b < x.dims[0]; ++b)
    for (int64_t h = 0; h < x.dims[1]; ++h)
      for (int64_t r = 0; r < x.dims[2]; ++r) {
        double all = most ? -std::numeric_limits<double>::infinity() : 0;
        for (int64_t c = 0; c < x.dims[3]; ++c) {
          const double v = load(x.type, at(x), place(x, b, h, r, c));
          all = most ? std::max(all, v) : all + v;
        }
        store(y.type, at(y), place(y, b, h, r, 0), all);
      }
}

void examine_attention(const Data& graph) {
  const auto& operations = graph.find(801)->descriptors;
  const auto unsupported = [](const char* what) { throw Refusal{kUnsupported, what}; };
  if (operations.size() < 7 || operations.front()->kind != kMatmulOperation ||
      operations.back()->kind != kMatmulOperation)
    unsupported("a product outside of an attention");
  const auto takes_logarithm = [](const auto& o) {
    return o->kind == kPointwiseOperation && need(*o, 750).integer(0, -1) == 15;
  };
  if (std::none_of(operations.begin(), operations.end(), takes_logarithm))
    unsupported("an attention without the logarithm of the sums of its weights");
  const Product first(*operations.front()), last(*operations.back());
  if (!first.c.within || !last.a.within || last.c.within) unsupported("scores that are not virtual");
  for (const Tensor* t : {&first.a, &first.b, &last.b, &last.c}) {
    if (t->type != Number::f16 && t->type != Number::bf16) unsupported("elements that do not have 16 bits");
    if (t->within) unsupported("an operand that is virtual");
    const bool turned = t == &first.b;
    if (t->strides[turned ? 2 : 3] != 1) unsupported("elements of a head that do not lie side by side");
    if (t->dims[turned ? 2 : 3] % 8) unsupported("a size of a head that is no multiple of 8");
  }
  if (last.a.type != first.a.type) unsupported("weights of another type than the values");
}

}  // namespace software_cuda::dnn
