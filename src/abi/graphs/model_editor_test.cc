// Tests models that a caller makes: who owns the objects after a failed call, and what errors name.
#include <gtest/gtest.h>

#include "abi/graphs/graph.h"
#include "abi/slots.h"
#include "abi/status_testing.h"

namespace retort::abi {
namespace {

void expect_names(const std::string& text, std::initializer_list<const char*> words) {
  for (const char* word : words) EXPECT_NE(text.find(word), std::string::npos) << word << " in: " << text;
}

OrtValueInfo* value(const char* name) {
  OrtTensorTypeAndShapeInfo* info = nullptr;
  OrtTypeInfo* type = nullptr;
  OrtValueInfo* made = nullptr;
  const int64_t dims[1] = {2};
  expect_ok(CreateTensorTypeAndShapeInfo(&info));
  expect_ok(SetTensorElementType(info, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT));
  expect_ok(SetDimensions(info, dims, 1));
  expect_ok(editor_api::CreateTensorTypeInfo(info, &type));
  expect_ok(editor_api::CreateValueInfo(name, type, &made));
  ReleaseTypeInfo(type);
  ReleaseTensorTypeAndShapeInfo(info);
  return made;
}

OrtNode* node(const char* type, const char* name, std::vector<const char*> in, std::vector<const char*> out) {
  OrtNode* made = nullptr;
  expect_ok(editor_api::CreateNode(type, "", name, in.data(), in.size(), out.data(), out.size(), nullptr, 0, &made));
  return made;
}

OrtValue* tensor(int64_t count = 2) {
  OrtAllocator* allocator = nullptr;
  OrtValue* made = nullptr;
  expect_ok(GetAllocatorWithDefaultOptions(&allocator));
  expect_ok(CreateTensorAsOrtValue(allocator, &count, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &made));
  return made;
}

class ModelEditor : public ::testing::Test {
 protected:
  ModelEditor() { expect_ok(editor_api::CreateGraph(&graph_)); }
  ~ModelEditor() override { ReleaseGraph(graph_); }

  void ports() {
    OrtValueInfo *in[1] = {value("x")}, *out[1] = {value("y")};
    expect_ok(editor_api::SetGraphInputs(graph_, in, 1));
    expect_ok(editor_api::SetGraphOutputs(graph_, out, 1));
    EXPECT_EQ(in[0], nullptr);
  }
  void add(OrtNode* n) { expect_ok(editor_api::AddNodeToGraph(graph_, n)); }
  /// The message of an attempt to create a session of the graph.
  std::string session(OrtErrorCode code) {
    const char* domains[1] = {""};
    const int versions[1] = {17};
    OrtModel* model = nullptr;
    OrtEnv* env = nullptr;
    OrtSession* made = nullptr;
    expect_ok(editor_api::CreateModel(domains, versions, 1, &model));
    expect_ok(editor_api::AddGraphToModel(model, std::exchange(graph_, nullptr)));
    expect_ok(CreateEnv(ORT_LOGGING_LEVEL_ERROR, "test", &env));
    const std::string text = failure(editor_api::CreateSessionFromModel(env, model, nullptr, &made), code);
    ReleaseSession(made);
    ReleaseModel(model);
    ReleaseEnv(env);
    return text;
  }

  OrtGraph* graph_ = nullptr;
};

TEST_F(ModelEditor, FailureLeavesOwnershipWithTheCaller) {
  OrtValueInfo* values[2] = {value("x"), nullptr};
  expect_names(failure(editor_api::SetGraphInputs(graph_, values, 2)), {"inputs"});
  ASSERT_NE(values[0], nullptr);
  values[1] = values[0];
  expect_names(failure(editor_api::SetGraphInputs(graph_, values, 2)), {"entry 1"});
  ReleaseValueInfo(values[0]);
  OrtValue* small = tensor();
  expect_names(failure(editor_api::AddInitializerToGraph(graph_, "w", small, true)), {"'w'", "8 bytes", "128"});
  expect_ok(editor_api::AddInitializerToGraph(graph_, "w", small, false));
  expect_names(failure(editor_api::AddInitializerToGraph(graph_, "v", small, false)), {"'v'", "belongs"});
  OrtValue* again = tensor();
  expect_names(failure(editor_api::AddInitializerToGraph(graph_, "w", again, false)), {"'w'", "already"});
  ReleaseValue(again);
}

TEST_F(ModelEditor, AttributesChangeHandsOnlyOnSuccess) {
  OrtOpAttr* attributes[2] = {nullptr, nullptr};
  const int64_t axis = 0;
  const char *in[1] = {"x"}, *out[1] = {"y"};
  OrtNode* made = nullptr;
  expect_ok(CreateOpAttr("axis", &axis, 1, ORT_OP_ATTR_INT, &attributes[0]));
  expect_names(failure(editor_api::CreateNode("Softmax", "", "", in, 1, out, 1, attributes, 2, &made)), {"attributes"});
  ASSERT_NE(attributes[0], nullptr);
  expect_names(failure(editor_api::CreateNode("Softmax", "", "", in, 1, out, 1, attributes, 1, nullptr)), {"node"});
  ASSERT_NE(attributes[0], nullptr);
  expect_ok(editor_api::CreateNode("Softmax", "", "", in, 1, out, 1, attributes, 1, &made));
  EXPECT_EQ(attributes[0], nullptr);
  ReleaseNode(made);
}

TEST_F(ModelEditor, HandlesOfAnotherKind) {
  OrtNode* n = node("Relu", "r", {"x"}, {"y"});
  expect_names(failure(editor_api::AddNodeToGraph(graph_, reinterpret_cast<OrtNode*>(graph_))), {"node"});
  expect_names(failure(editor_api::AddNodeToGraph(reinterpret_cast<OrtGraph*>(n), n)), {"graph"});
  add(n);
  expect_names(failure(editor_api::AddNodeToGraph(graph_, n)), {"'r'", "belongs"});
  ReleaseNode(n);  // the graph owns it: ignored
}

TEST_F(ModelEditor, UnknownInputIsNamed) {
  ports();
  add(node("Add", "sum", {"x", "xx"}, {"y"}));
  expect_names(session(ORT_INVALID_ARGUMENT), {"'sum'", "(Add)", "'xx'", "use 'x'"});
}

TEST_F(ModelEditor, CycleIsNamed) {
  ports();
  add(node("Add", "first", {"x", "b"}, {"y"}));
  add(node("Relu", "second", {"y"}, {"b"}));
  expect_names(session(ORT_FAIL), {"cycle"});
}

TEST_F(ModelEditor, SecondDefinitionIsNamed) {
  ports();
  add(node("Relu", "first", {"x"}, {"y"}));
  add(node("Neg", "second", {"x"}, {"y"}));
  expect_names(session(ORT_FAIL), {"'second'", "(Neg)", "'y'"});
}

TEST_F(ModelEditor, OutputThatNothingMakesIsNamed) {
  ports();
  add(node("Relu", "first", {"x"}, {"other"}));
  expect_names(session(ORT_INVALID_GRAPH), {"'y'"});
}

TEST_F(ModelEditor, WrongTypeOfAnOutputIsNamed) {
  ports();
  add(node("Shape", "shape", {"x"}, {"y"}));
  expect_names(session(ORT_FAIL), {"'shape'", "'y'", "int64"});
}

}  // namespace
}  // namespace retort::abi
