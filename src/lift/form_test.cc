// Every operator that a rule lifts, with each required input or attribute omitted, and with each input of a wrong type.
#include "lift/form.h"

#include "lift/lift_testing.h"
#include "lift/rewriter.h"
#include "onnx/operator_facts.h"
#include "onnx/operator_schemas.h"

namespace retort {
namespace {

using namespace lift_testing;  // NOLINT: the words of these tests
using onnx::OperatorForm;
using onnx::OperatorSchema;

/// A type of tensors that an input allows, or does not allow; none if it takes no tensors.
std::optional<DType> type_of(const OperatorSchema::Port& port, bool allowed) {
  const auto is_tensor = [](std::string_view one) { return one.starts_with("tensor"); };
  if (!std::ranges::any_of(port.types, is_tensor)) return std::nullopt;
  for (int t = 1; t < kDTypeCount; ++t) {
    const std::string_view name = dtype_name(DType(t));
    const std::string text = cat("tensor({})", name == "float32" ? "float" : name == "float64" ? "double" : name);
    const bool found = std::ranges::any_of(port.types, [&](const char* one) { return text == one; });
    if (found == allowed && (found || DType(t) != DType::bf16)) return DType(t);  // which is taken where float16 is
  }
  return std::nullopt;
}

Attribute value_of(std::string_view kind) {
  if (kind == "i") return int64_t(1);
  if (kind == "f") return 1.0f;
  if (kind == "s") return std::string("a");
  if (kind == "is") return std::vector<int64_t>{1};
  if (kind == "fs") return std::vector<float>{1};
  return std::vector<std::string>{"a"};
}

/// A node of a rule's operator, in the oldest form that the rule lifts, or in the newest one.
struct Whole {
  std::string domain, type;
  int version;
  OperatorSchema schema;
  std::vector<Input> inputs;
  Attributes attributes;

  std::string told() const {
    const auto g = graph_of(version, type.c_str(), inputs, attributes, 1, domain.c_str());
    try {
      lift(*g);
    } catch (const Error& e) {
      return e.message();
    }
    return "no error";
  }
  void expect_told(const std::string& what) const {
    const std::string name = domain.empty() ? type : cat("{}.{}", domain, type), text = told();
    EXPECT_TRUE(text.starts_with(cat("node 'n' ({}) [opset {}]: {}", name, version, what))) << text;
  }
};

std::optional<Whole> whole(const LiftRule& rule) {
  const std::string domain(rule.domain), type(rule.type);
  const int newest = domain.empty() ? 28 : domain == "ai.onnx.ml" ? 1 : 1;
  const int version = rule.to == kAlways ? newest : rule.to - 1;
  auto schema = onnx::operator_schema(domain, type, version);
  if (!schema || type == "Constant" || type == "Gradient") return std::nullopt;  // which check themselves
  Whole w{domain, type, version, *schema, {}, {}};
  for (const auto& port : schema->inputs) {
    const auto dtype = type_of(port, true);
    const std::string_view front = port.types.front();
    const ValueType tensor = ValueType::tensor(dtype.value_or(DType::f32));
    w.inputs.push_back(front.starts_with("seq") ? ValueType::sequence_of(tensor) : tensor);
    if (front.starts_with("sparse")) w.inputs.back() = ValueType{.kind = ValueType::Kind::sparse, .dtype = DType::f32};
  }
  if (const OperatorForm* form = onnx::operator_form(domain, type, version)) {
    for (const auto& a : form->attributes) {
      if (a.required && !a.kind.empty()) w.attributes.set(a.name, value_of(a.kind));
    }
  }
  return w;
}

template <typename F>
void each_rule(F&& test) {
  size_t count = 0;
  for (const LiftRules* file : lift_rule_table()) {
    for (const LiftRule& rule : *file) {
      SCOPED_TRACE(cat("{}.{} {}", rule.domain, rule.type, rule.to));
      if (const auto w = whole(rule)) count += test(*w);
    }
  }
  EXPECT_GT(count, 40u);
}

TEST(Form, RequiredInputsAreMissing) {
  each_rule([](const Whole& w) {
    for (size_t i = 0; i < w.schema.inputs.size(); ++i) {
      if (w.schema.inputs[i].optional) continue;
      Whole less = w;
      less.inputs[i] = kMissing;
      less.expect_told(cat("required input {} ({}) is missing", i, w.schema.inputs[i].name));
      less.inputs.erase(less.inputs.begin() + ptrdiff_t(i), less.inputs.end());
      less.expect_told(cat("required input {} ({}) is missing", i, w.schema.inputs[i].name));
    }
    return w.schema.inputs.size();
  });
}

TEST(Form, RequiredAttributesAreMissingOrOfAnotherKind) {
  each_rule([](const Whole& w) {
    for (const auto& [name, value] : w.attributes) {
      Whole less = w;
      less.attributes.erase(name);
      less.expect_told(cat("attribute '{}' is required and missing; set it", name));
      less.attributes.set(name, std::vector<std::string>{"another", "kind"});
      if (attribute_kind(value) != "STRINGS") less.expect_told(cat("attribute '{}' is of kind STRINGS", name));
    }
    return w.attributes.size();
  });
}

TEST(Form, InputsHaveTypesThatTheDefinitionExcludes) {
  each_rule([](const Whole& w) {
    for (size_t i = 0; i < w.schema.inputs.size(); ++i) {
      const auto wrong = type_of(w.schema.inputs[i], false);
      if (!wrong) continue;
      Whole other = w;
      other.inputs[i] = ValueType::tensor(*wrong);
      other.expect_told(cat("input {} ({}) is of type {}", i, w.schema.inputs[i].name, dtype_name(*wrong)));
    }
    return w.schema.inputs.size();
  });
}

TEST(Form, UnknownAttributesAndTooManyInputs) {
  const Input half = ValueType::tensor(DType::f16, {2, 3});
  Whole gate{"com.microsoft", "SwiGLU", 1, *onnx::operator_schema("com.microsoft", "SwiGLU", 1), {half, half}, {}};
  EXPECT_EQ(gate.told(), "no error");
  gate.attributes.set("limits", 7.0f);
  gate.expect_told("unrecognised attribute 'limits'; use 'limit', or remove it");
  gate.attributes = {};
  gate.inputs[1] = f32({2, 3});
  gate.expect_told("input 1 (up) is of type float32, but an earlier one of the same constraint T is of type float16");
  gate.inputs = {half, half, half};
  gate.expect_told("has 3 inputs, but the operator takes 2");
}

// Shapes that must be equal are checked when the lift knows them, and otherwise by a view.
TEST(Form, ShapesThatOnlyARunTells) {
  const auto f16 = [](Shape s) { return Input{ValueType::tensor(DType::f16, std::move(s))}; };
  const Input free16{ValueType::tensor(DType::f16)}, free32{ValueType::tensor(DType::f32)};
  struct Row {
    const char* type;
    std::vector<Input> wrong, unknown;
    Attributes attributes = {};
    size_t outputs = 1;
  };
  const Input states = f16({1, 2, 3, 4});
  const Row rows[] = {
      {"SwiGLU", {f16({2, 3}), f16({1, 3})}, {free16, free16}},
      {"BiasAdd", {f16({1, 2, 3}), f16({3}), f16({1, 1, 3})}, {free16, f16({3}), free16}},
      {"BiasDropout", {f16({2, 3}), f16({3}), f16({1, 3})}, {free16, free16, free16}},
      {"GemmaRotaryEmbedding",
       {f32({1, 1, 4}), states, states, states, states},
       {free32, free16, free16, free16, free16},
       {},
       2},
      {"GemmaRotaryEmbedding",
       {f32({1, 3, 4}), states, states, states, f16({1, 1, 3, 4})},
       {free32, states, states, states, free16},
       {},
       2},
      {"NhwcFusedConv",
       {f16({1, 4, 4, 2}), f16({3, 2, 1, 1}), kMissing, f16({1, 1, 4, 3})},
       {f16({1, 4, 4, 2}), f16({3, 2, 1, 1}), kMissing, free16}},
      {"FusedConv",
       {f32({1, 2, 4, 4}), f32({3, 2, 1, 1}), kMissing, f32({1, 3, 1, 4})},
       {f32({1, 2, 4, 4}), f32({3, 2, 1, 1}), kMissing, free32}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.type);
    EXPECT_THROW(lifted(1, row.type, row.wrong, row.attributes, row.outputs, "com.microsoft"), Error);
    const std::string text = lifted(1, row.type, row.unknown, row.attributes, row.outputs, "com.microsoft");
    EXPECT_NE(text.find("= Expect("), text.npos) << text;
  }
}

}  // namespace
}  // namespace retort
