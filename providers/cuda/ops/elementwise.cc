#include "elementwise.h"

#include <algorithm>

#include "expressions.h"

namespace providers::cuda {

bool is_real_type(Type type) {
  return type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT || type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16 ||
         type == ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16 || type == ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE ||
         is_float8(type);
}

bool is_float8(Type type) {
  return type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FN || type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2;
}

bool is_integer_type(Type type) {
  switch (type) {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64:
      return true;
    default:
      return false;
  }
}

bool is_computable(Type type) {
  return is_real_type(type) || is_integer_type(type) || type == ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL;
}

std::string computed_type(Type type) {
  if (is_real_type(type) && type != ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE) return "float";
  return type == ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL ? "bool" : kernel_type(type);
}

std::string constant_text(Type type, double value) {
  if (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE) return "(" + literal(value) + ")";
  if (is_real_type(type)) return "(" + literal(float(value)) + ")";
  return "static_cast<" + computed_type(type) + ">(" + std::to_string(int64_t(value)) + ")";
}

std::string text_of_conversion(Type to, const std::string& number, bool saturates) {
  if (is_float8(to))
    return std::string("to_float(to_") + kernel_type(to) + "(float(" + number + ")" + (saturates ? "))" : ", false))");
  return "op::To<" + (is_real_type(to) ? kernel_type(to) : computed_type(to)) + ">::of(" + number + ")";
}

void Weaver::add(const Node& node) {
  node_ = &node;
  made_[node.out[0]] = elementwise_rules().at({node.domain, node.type}).weave(*this);
}

Term Weaver::in(size_t i, Source::Form form, int64_t axis, Term like) {
  const Value* value = node_->in[i];
  const auto made = made_.find(value);
  if (made != made_.end()) return made->second;
  const auto [entry, added] = sources_.try_emplace({value, form, axis, like}, ~Term(expression_.sources.size()));
  if (!added) return entry->second;
  const auto at = std::find(inputs_.begin(), inputs_.end(), value);
  Source source{.in = int(at - inputs_.begin()), .type = value->type, .form = form, .axis = axis, .like = like};
  if (at == inputs_.end()) inputs_.push_back(value);
  expression_.sources.push_back(source);
  return entry->second;
}

Term Weaver::step(std::string text, Type type, std::vector<Term> arguments, int cost) {
  expression_.steps.push_back(
      {.text = std::move(text), .type = type, .arguments = std::move(arguments), .cost = cost, .power = false});
  return Term(expression_.steps.size()) - 1;
}

Term Weaver::power(Term base, Term exponent, Type type) {
  const Term made = step("op::power($0, $1)", type, {base, exponent}, is_real_type(type) ? 40 : 60);
  expression_.steps.back().power = true;
  return made;
}

std::unique_ptr<Op> Weaver::finish(const std::vector<const Value*>& outputs, const std::string& who, Builder& builder) {
  for (const Value* v : outputs) expression_.results.push_back(made_.at(v));
  auto op = make_elementwise(std::move(expression_));
  op->who = who;
  for (const Value* v : inputs_) op->in.push_back(builder.number(v));
  for (const Value* v : outputs) op->out.push_back(builder.number(v));
  *this = Weaver();
  return op;
}

void add_elementwise(Kinds& kinds) {
  for (const auto& [key, rule] : elementwise_rules()) {
    kinds[key] = Kind{.refuses = [](const Node& node, const Claiming&) { return elementwise_refuses(node); },
                      .make =
                          [](const Node& node, Builder& builder) {
                            Weaver weaver;
                            weaver.add(node);
                            return weaver.finish({node.out[0]}, node.who(), builder);
                          }};
  }
}

}  // namespace providers::cuda
