// Models that import operator sets which are newer than the known ones.
#include <gtest/gtest.h>

#include <cstdlib>

#include "onnx/schema.h"
#include "onnx/writer.h"
#include "session/session_testing.h"

namespace retort {
namespace {

/// A Relu, in a model that imports these versions.
std::string bytes_with(const std::map<std::string, int>& opsets) {
  TestGraph t;
  t.output(t.add("Relu", {t.input("x", {2})}), "y");
  Model m = writable_model(t.g);
  m.opsets = opsets;
  return write_model(m);
}

struct OpsetLines : LogLines {
  SessionOptions options(const char* entry) {
    SessionOptions o;
    o.log.sink = sink();
    if (entry) o.config["session.allow_released_opsets_only"] = entry;
    return o;
  }
};

std::unique_ptr<Session> load(const std::string& bytes, const SessionOptions& options) {
  return std::make_unique<Session>(std::make_shared<Environment>(EnvironmentOptions{}), std::as_bytes(std::span(bytes)),
                                   options);
}

std::string refusal(const std::string& bytes, const char* entry = nullptr) {
  OpsetLines lines;
  try {
    load(bytes, lines.options(entry));
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::fail);
    return e.message();
  }
  return "accepted";
}

const int kNewer = onnx::kMaxOpset + 1;

TEST(NewerOpsets, AreAnErrorByDefault) {
  for (const char* entry : {static_cast<const char*>(nullptr), "1"}) {
    const std::string told = refusal(bytes_with({{"", kNewer}}), entry);
    EXPECT_CONTAINS(told,
                    cat("version {} of the operator set ai.onnx, and the newest known one is {}", kNewer, kNewer - 1));
    EXPECT_CONTAINS(told, "set session.allow_released_opsets_only to 0");
  }
  EXPECT_CONTAINS(refusal(bytes_with({{"", 17}, {"ai.onnx.ml", 9}})), "version 9 of the operator set ai.onnx.ml");
  EXPECT_EQ(refusal(bytes_with({{"", 17}, {"com.acme", 900}})), "accepted") << "a domain of custom operators";
}

TEST(NewerOpsets, CountAsTheNewestKnownOneIfAllowed) {
  OpsetLines lines;
  const auto session = load(bytes_with({{"", kNewer}}), lines.options("0"));
  ASSERT_EQ(lines.all.size(), 1u);
  EXPECT_CONTAINS(lines.all[0], cat("version {} of the operator set ai.onnx", kNewer));
  const auto y = run(*session, {Tensor::of<float>({2}, {-1, 2})});
  EXPECT_EQ(y[0].tensor()->data<float>()[0], 0);
  EXPECT_EQ(y[0].tensor()->data<float>()[1], 2);
}

TEST(NewerOpsets, OfFunctionsCountToo) {
  TestGraph t;
  const NodeId call = t.g.add({.type = "Positive", .inputs = {t.input("x", {2})}, .domain = "acme", .version = 1});
  t.output(t.g.node(call).outputs[0], "y");
  t.g.value(t.g.outputs[0]).type = ValueType::tensor(DType::f32, {2});
  Model m = writable_model(t.g);
  m.opsets["acme"] = 1;
  Function f{.domain = "acme", .name = "Positive", .opsets = {{"", kNewer}}};
  f.body = std::make_shared<Graph>(m.dims);
  f.body->inputs = {f.body->add_value("a")};
  const NodeId relu = f.body->add({.type = "Relu", .inputs = f.body->inputs, .version = kNewer});
  f.body->outputs = {f.body->node(relu).outputs[0]};
  m.functions.push_back(f);
  const std::string bytes = write_model(m);
  EXPECT_CONTAINS(refusal(bytes),
                  cat("function 'acme:Positive' imports version {} of the operator set ai.onnx", kNewer));
  OpsetLines lines;
  const auto session = load(bytes, lines.options("0"));
  ASSERT_EQ(lines.all.size(), 1u);
  EXPECT_CONTAINS(lines.all[0], "function 'acme:Positive' imports version");
  EXPECT_EQ(run(*session, {Tensor::of<float>({2}, {-1, 2})})[0].tensor()->data<float>()[1], 2);
}

TEST(NewerOpsets, AreAllowedByTheEnvironment) {
  const std::string bytes = bytes_with({{"", kNewer}});
  setenv("ALLOW_RELEASED_ONNX_OPSET_ONLY", "0", 1);
  EXPECT_EQ(refusal(bytes), "accepted");
  setenv("ALLOW_RELEASED_ONNX_OPSET_ONLY", "maybe", 1);
  EXPECT_CONTAINS(refusal(bytes), "ALLOW_RELEASED_ONNX_OPSET_ONLY is 'maybe'; set it to 0 or 1");
  unsetenv("ALLOW_RELEASED_ONNX_OPSET_ONLY");
  EXPECT_CONTAINS(refusal(bytes), "the newest known one");
}

}  // namespace
}  // namespace retort
