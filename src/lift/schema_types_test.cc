// Types that the schema of an operator does not have are told before anything else.
#include "lift/schema_types.h"

#include "base/error.h"
#include "lift/lift_testing.h"

namespace retort {
namespace {

struct Row {
  std::string domain, type;
  int version;
  std::vector<ValueType> inputs;
  std::string told;  ///< part of the message; empty if the types are allowed
  ErrorCode code = ErrorCode::invalid_graph;
};

ValueType of(DType type) { return ValueType::tensor(type); }

// The message of the check of a node with inputs of these types.
std::string told(const Row& row, ErrorCode& code) {
  Graph g(std::make_shared<DimTable>());
  std::vector<ValueId> inputs;
  for (const ValueType& t : row.inputs) inputs.push_back(g.add_value(cat("x{}", inputs.size()), t));
  const NodeId id = g.add({.type = row.type, .inputs = inputs, .domain = row.domain, .version = row.version});
  try {
    SchemaTypes().check(g, g.node(id));
  } catch (const Error& e) {
    code = e.code();
    return e.message();
  }
  return "";
}

TEST(SchemaTypes, AreThoseOfTheVersion) {
  const ValueType f32 = of(DType::f32), i64 = of(DType::i64), text = of(DType::string), flag = of(DType::boolean);
  const ValueType half = of(DType::bf16), texts = ValueType::sequence_of(text);
  const Row rows[] = {
      {"", "HannWindow", 17, {i64}, ""},
      {"",
       "HannWindow",
       17,
       {f32},
       "input 0 (size) is of type float32, but the operator takes int32, int64 there; cast it"},
      {"", "BlackmanWindow", 17, {flag}, "input 0 (size) is of type bool"},
      {"", "DFT", 17, {f32, f32}, "input 1 (dft_length) is of type float32, but the operator takes int32, int64 there"},
      {"", "OneHot", 11, {flag, i64, f32}, "input 0 (indices) is of type bool"},
      {"", "OneHot", 11, {i64, text, f32}, "input 1 (depth) is of type string"},
      {"", "Reshape", 5, {f32, f32}, "input 1 (shape) is of type float32, but the operator takes int64 there; cast it"},
      {"", "Relu", 6, {i64}, "input 0 (X) is of type int64, but the operator takes float16, float32, float64"},
      {"", "Relu", 6, {half}, ""},  // wherever float16 is taken
      {"", "Range", 11, {half, half, half}, "input 0 (start) is of type bfloat16"},
      {"", "Relu", 13, {half}, ""},
      {"", "SequenceLength", 11, {f32}, "input 0 (input_sequence) is of type float32"},
      {"", "Add", 14, {texts, f32}, "input 0 (A) is of type seq(string[...]), but the operator takes"},
      {"", "SequenceLength", 11, {texts}, ""},
      {"",
       "Add",
       14,
       {f32, i64},
       "input 1 (B) is of type int64, but an earlier one of the same constraint T is of type float32",
       ErrorCode::fail},
      {"", "Concat", 13, {f32, f32, i64}, "input 2 (inputs) is of type int64, but an earlier one", ErrorCode::fail},
      {"", "Loop", 21, {i64, flag, f32, text}, ""},  // carried values may have different types
      {"", "Loop", 21, {i64, i64, f32}, "input 1 (cond) is of type int64"},
      {"", "Add", 14, {ValueType(), of(DType::undefined)}, ""},
      {"", "Add", 0, {f32, i64}, ""},  // a node of the engine
      {"com.acme", "Add", 14, {f32, i64}, ""},
      {"com.microsoft", "QuickGelu", 1, {i64}, "input 0 (X) is of type int64"},
  };
  for (const Row& row : rows) {
    ErrorCode code = row.code;
    const std::string message = told(row, code);
    EXPECT_EQ(message.substr(0, row.told.empty() ? message.npos : row.told.size()), row.told) << row.type;
    EXPECT_EQ(code, row.code) << message;
  }
}

TEST(SchemaTypes, AreCheckedBeforeTheFormOfTheNode) {
  Graph g(std::make_shared<DimTable>());
  const ValueId size = g.add_value("size", ValueType::tensor(DType::string));
  g.inputs = {size};
  g.outputs =
      g
          .node(g.add(
              {.type = "HannWindow", .inputs = {size}, .attributes = {{"no", int64_t(1)}}, .name = "w", .version = 17}))
          .outputs;
  try {
    lift(g);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.message(),
              "node 'w' (HannWindow) [opset 17]: input 0 (size) is of type string, but the operator takes int32, int64 "
              "there; cast it");
  }
}

}  // namespace
}  // namespace retort
