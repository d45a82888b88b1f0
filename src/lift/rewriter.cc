#include "lift/rewriter.h"

#include <utility>

#include "base/error.h"
#include "ir/describe.h"
#include "ops/op.h"

namespace retort {
namespace {

// "step Add: …" instead of "node 'n' (Add): …", since the model has no such node.
Error in_step(const Graph& graph, const Node& node, const Error& e) {
  const std::string context = describe(graph, node) + ": ";
  const bool named = e.message().starts_with(context);
  const std::string type = node.domain.empty() ? node.type : cat("{}.{}", node.domain, node.type);
  return {e.code(), cat("step {}: {}", type, std::string_view(e.message()).substr(named ? context.size() : 0))};
}

}  // namespace

const ValueType& Rewriter::type(size_t i) {
  require(has(i), ErrorCode::invalid_graph, "required input {} is missing", i);
  return graph_.value(input(i)).type;
}

const ValueType& Rewriter::type_of(ValueId value) {
  require(value != ValueId::none, ErrorCode::invalid_graph, "a required input is missing");
  return graph_.value(value).type;
}

size_t Rewriter::rank(size_t i, std::string_view why) {
  if (!has(i) || !type(i).ranked) fail(ErrorCode::invalid_graph, "the rank of input {} is needed for {}", i, why);
  return type(i).rank();
}

bool Rewriter::output_used(size_t i) {
  const Node& n = node();
  return i < n.outputs.size() && n.outputs[i] != ValueId::none && graph_.use_count(n.outputs[i]) > 0;
}

void Rewriter::erase(std::initializer_list<std::string_view> names) {
  for (std::string_view name : names) attributes().erase(name);
}

void Rewriter::attribute_to_input(std::string_view name, size_t slot) {
  std::vector<int64_t> values;
  if (const auto* list = attributes().get<std::vector<int64_t>>(name))
    values = *list;
  else if (const auto* one = attributes().get<int64_t>(name))
    values = {*one};
  else
    return;
  attributes().erase(name);
  set_input(slot, constant(values));
}

void Rewriter::set_input(size_t slot, ValueId value) {
  if (node().inputs.size() <= slot) graph_.resize_inputs(id_, slot + 1);
  graph_.set_input(id_, slot, value);
}

ValueId Rewriter::constant(Tensor value) {
  return graph_.add_constant(graph_.unique_name(node().type), std::move(value));
}

std::vector<ValueId> Rewriter::add_all(NodeSpec spec) {
  spec.position = node().position;
  if (spec.name.empty()) spec.name = node().name;
  std::vector<std::string> origins = node().origins;
  if (origins.empty()) origins.push_back(label(graph_, node()));
  const NodeId added = graph_.add(std::move(spec));
  graph_.node(added).origins = std::move(origins);
  try {
    resolve(graph_.node(added));
    infer_node(graph_, graph_.node(added));
  } catch (const Error& e) {
    throw in_step(graph_, graph_.node(added), e);
  }
  return graph_.node(added).outputs;
}

void Rewriter::replace_output(size_t i, ValueId by) {
  if (i >= node().outputs.size() || node().outputs[i] == ValueId::none) return;
  require(by != ValueId::none, ErrorCode::invalid_graph, "a required input is missing");
  GraphValue& before = graph_.value(node().outputs[i]);
  // For callers that use the old id.
  if (before.type.kind == ValueType::Kind::unknown) before.type = graph_.value(by).type;
  graph_.replace_uses(node().outputs[i], by);
}

void Rewriter::drop_output(size_t i) {
  ValueId& out = node().outputs[i];
  if (out != ValueId::none) graph_.value(out).producer = NodeId::none;
  out = ValueId::none;
}

ValueId transpose(Rewriter& r, ValueId x, std::vector<int64_t> axes) {
  return r.add({.type = "Transpose", .inputs = {x}, .attributes = {{"perm", std::move(axes)}}});
}

ValueId cast(Rewriter& r, ValueId x, DType type) {
  return r.add({.type = "Cast", .inputs = {x}, .attributes = {{"to", int64_t(type)}}});
}

ValueId shape_part(Rewriter& r, ValueId x, int64_t begin, int64_t end) {
  return r.add({.type = "Shape", .inputs = {x}, .attributes = {{"start", begin}, {"end", end}}});
}

ValueId joined(Rewriter& r, std::vector<ValueId> vectors) {
  return r.add({.type = "Concat", .inputs = std::move(vectors), .attributes = {{"axis", int64_t(0)}}});
}

Tensor float_scalar(DType type, float value) {
  switch (type) {
    case DType::f64:
      return Tensor::of<double>({}, {double(value)});
    case DType::f16:
      return Tensor::of<float16>({}, {float16(value)});
    case DType::bf16:
      return Tensor::of<bfloat16>({}, {bfloat16(value)});
    case DType::f32:
      return Tensor::of<float>({}, {value});
    default:
      fail(ErrorCode::invalid_graph, "a float attribute cannot have the type {}", dtype_name(type));
  }
}

}  // namespace retort
