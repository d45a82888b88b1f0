#include "passes/match.h"

#include <cmath>
#include <cstring>

namespace retort {
namespace {

// Element i of a float tensor; nullopt for other types.
std::optional<double> float_at(const Tensor& t, size_t i) {
  switch (t.dtype()) {
    case DType::f32:
      return t.at<float>(i);
    case DType::f64:
      return t.at<double>(i);
    case DType::f16:
      return float(t.at<float16>(i));
    case DType::bf16:
      return float(t.at<bfloat16>(i));
    default:
      return std::nullopt;
  }
}

}  // namespace

const Node* producer_of(const Graph& graph, ValueId value, std::string_view type, std::string_view domain) {
  const Node* n = graph.producer(value);
  return n && n->op && n->is(type, domain) ? n : nullptr;
}

const Node* sole_producer_of(const Graph& graph, ValueId value, std::string_view type, std::string_view domain) {
  const Node* n = producer_of(graph, value, type, domain);
  return n && used_once(graph, value) ? n : nullptr;
}

bool used_once(const Graph& graph, ValueId value) { return graph.use_count(value) == 1 && !graph.is_output(value); }

std::optional<double> scalar_constant(const Graph& graph, ValueId value) {
  const Tensor* t = graph.constant(value);
  return t && t->count() == 1 ? float_at(*t, 0) : std::nullopt;
}

bool is_rounded(double c, double number) {
  return std::abs(c - number) <= 1e-6 * std::abs(number) || c == double(float(float16(float(number))));
}

bool is_scalar(const Graph& graph, ValueId value, double number) {
  const auto c = scalar_constant(graph, value);
  return c && is_rounded(*c, number);
}

std::optional<std::vector<int64_t>> known_integers(const Graph& graph, ValueId value) {
  if (value == ValueId::none) return std::nullopt;
  if (const Tensor* t = graph.constant(value)) {
    std::vector<int64_t> content(t->count());
    for (size_t i = 0; i < content.size(); ++i) {
      if (t->dtype() == DType::i64)
        content[i] = t->at<int64_t>(i);
      else if (t->dtype() == DType::i32)
        content[i] = t->at<int32_t>(i);
      else
        return std::nullopt;
    }
    return content;
  }
  const GraphValue& v = graph.value(value);
  if (!v.has_known || !all_known(v.known)) return std::nullopt;
  return v.known;
}

std::optional<ScalarOperand> with_scalar(const Graph& graph, const Node& n) {
  ScalarOperand s;
  s.x = other_input(n, [&](ValueId v) { return scalar_constant(graph, v).has_value(); });
  if (s.x == ValueId::none) return std::nullopt;
  s.c = *scalar_constant(graph, n.inputs[0] == s.x ? n.inputs[1] : n.inputs[0]);
  return s;
}

const Shape* shape_of(const Graph& graph, ValueId value) {
  if (value == ValueId::none || !graph.value(value).type.ranked) return nullptr;
  return &graph.value(value).type.shape;
}

bool has_content(const Graph& graph, ValueId value) {
  return value != ValueId::none && (graph.constant(value) || graph.value(value).has_known);
}

bool same_shape(const Graph& graph, ValueId a, ValueId b) {
  const Shape *x = shape_of(graph, a), *y = shape_of(graph, b);
  return x && y && *x == *y;
}

std::vector<float> float_content(const Graph& graph, ValueId value) {
  std::vector<float> content;
  const Tensor* t = graph.constant(value);
  if (!t || !is_float(t->dtype())) return content;
  content.resize(t->count());
  if (t->dtype() == DType::f32 && !content.empty())
    std::memcpy(content.data(), t->data(), content.size() * sizeof(float));
  for (size_t i = 0; i < content.size() && t->dtype() != DType::f32; ++i) content[i] = float(*float_at(*t, i));
  return content;
}

Tensor float_tensor(Shape shape, std::span<const float> content) {
  Tensor t(DType::f32, std::move(shape));
  std::copy(content.begin(), content.end(), t.mutable_data<float>());
  return t;
}

Tensor int64_tensor(std::span<const int64_t> content) {
  Tensor t(DType::i64, {int64_t(content.size())});
  std::copy(content.begin(), content.end(), t.mutable_data<int64_t>());
  return t;
}

std::vector<int64_t> ints_attribute(const Node& n, std::string_view name) {
  return n.attributes.get_or<std::vector<int64_t>>(name, {});
}

}  // namespace retort
