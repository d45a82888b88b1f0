// Malicious files: each must cause an Error quickly, or read as a consistent model.
#include <ctime>
#include <random>

#include "base/sanitized_testing.h"
#include "onnx/functions.h"
#include "onnx/model_testing.h"
#include "onnx/writer.h"

namespace retort::onnx {
namespace {

/// Reads the bytes and checks the result if that works. Returns whether it did.
bool survives(const std::string& bytes) {
  try {
    const auto m = read(bytes);
    verify(*m->graph);
    inline_functions(*m);
    verify(*m->graph);
    write_model(*m);
    return true;
  } catch (const Error& error) {
    EXPECT_FALSE(error.message().empty());
    return false;
  }
}

/// Function F of domain f: b = Neg(a).
MessageWriter negation() {
  MessageWriter function;
  function.bytes(tag::function::name, "F");
  function.bytes(tag::function::domain, "f");
  function.bytes(tag::function::input, "a");
  function.bytes(tag::function::output, "b");
  function.message(tag::function::node, node("Neg", {"a"}, {"b"}));
  function.message(tag::function::opset_import, opset("", 17));
  return function;
}

/// A small model with one of everything: captures, types, attributes, sparse and typed tensors, a function.
std::string small_model() {
  MessageWriter typed, sparse, index;
  typed.integer(tag::tensor::dims, 3);
  typed.integer(tag::tensor::data_type, 7);
  typed.bytes(tag::tensor::name, "k");
  typed.bytes(tag::tensor::int64_data, "\x01\x02\x03");
  index.integer(tag::tensor::dims, 1);
  index.integer(tag::tensor::data_type, 7);
  index.integer(tag::tensor::int64_data, 2);
  sparse.message(tag::sparse::values, float_tensor("s", {4}));
  sparse.message(tag::sparse::indices, index);
  sparse.integer(tag::sparse::dims, 3);
  const MessageWriter body =
      GraphSpec{.nodes = {node("Add", {"x", "c"}, {"t"})}, .inputs = {}, .outputs = {info("t")}}.build();
  return model_bytes(
      GraphSpec{.nodes = {node("F", {"x"}, {"u"}, {}, "f"),
                          node("If", {"b"}, {"v"},
                               {graph_attribute("then_branch", body), graph_attribute("else_branch", body)}),
                          node("Op", {"u", "v", "k", "s"}, {"y"}, {int_attribute("axis", 1)})},
                .inputs = {info("x"), info("b", tensor_type(9, {}))},
                .outputs = {info("y")},
                .initializers = {float_tensor("c", {1, 2}), typed},
                .sparse = {sparse},
                .infos = {info("u"), info("v", tensor_type(1, {-1}))}},
      10, {negation()});
}

TEST(Hostile, TruncationAtEveryByte) {
  const std::string whole = small_model();
  ASSERT_TRUE(survives(whole));
  for (size_t size = 0; size < whole.size(); ++size) EXPECT_FALSE(survives(whole.substr(0, size))) << size;
}

TEST(Hostile, EveryBitFlipped) {
  const std::string whole = small_model();
  size_t read = 0;
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = char(flipped[bit / 8] ^ 1 << bit % 8);
    read += survives(flipped);
  }
  EXPECT_GT(read, whole.size());  // names and numbers may change without harm
}

TEST(Hostile, EveryByteReplaced) {
  const std::string whole = small_model();
  for (size_t i = 0; i < whole.size(); ++i) {
    for (int byte : {0x00, 0x7f, 0x80, 0xff}) {
      std::string changed = whole;
      changed[i] = char(byte);
      survives(changed);
    }
  }
}

TEST(Hostile, RandomSplices) {
  const std::string whole = small_model();
  std::mt19937 random(1);
  for (int round = 0; round < 3000; ++round) {
    std::string changed = whole;
    const size_t at = random() % whole.size(), from = random() % whole.size(), size = random() % 40;
    if (round % 3 == 0) changed.erase(at, size);
    if (round % 3 == 1) changed.insert(at, whole.substr(from, size));
    if (round % 3 == 2) changed.replace(at, size, whole.substr(from, size));
    survives(changed);
  }
}

TEST(Hostile, NestedBodies) {
  for (int depth : {10, 30, 100, 3000}) {
    MessageWriter inner = node("Neg", {"x"}, {"t"});
    for (int i = 0; i < depth; ++i) {
      const MessageWriter g = GraphSpec{.nodes = {inner}, .inputs = {}, .outputs = {info("t")}}.build();
      inner = node("Once", {}, {"t"}, {graph_attribute("body", g)});
    }
    const std::string bytes = model_bytes(GraphSpec{.nodes = {inner}, .inputs = {info("x")}, .outputs = {info("t")}});
    if (depth <= 30) {
      EXPECT_TRUE(survives(bytes)) << depth;
    } else {
      expect_unreadable(bytes, ErrorCode::invalid_protobuf, "nest too deep");
    }
  }
}

TEST(Hostile, NestedTypes) {
  for (int depth : {20, 3000}) {
    MessageWriter type = tensor_type(1, {2});
    for (int i = 0; i < depth; ++i) {
      MessageWriter holder, outer;
      holder.message(tag::tensor_type::elem_type, type);
      outer.message(i % 2 ? tag::type::optional : tag::type::sequence, holder);
      type = outer;
    }
    const std::string bytes = model_bytes(GraphSpec{.nodes = {}, .inputs = {info("x", type)}, .outputs = {info("x")}});
    if (depth == 20) {
      EXPECT_TRUE(survives(bytes));
    } else {
      expect_unreadable(bytes, ErrorCode::invalid_protobuf, "nest too deep");
    }
  }
}

TEST(Hostile, ManyBodiesTimesManyCaptures) {
  GraphSpec g{.nodes = {}, .inputs = {}, .outputs = {}};
  Strings names;
  for (int i = 0; i < 1500; ++i) {
    names.push_back("x" + std::to_string(i));
    g.inputs.push_back(info(names.back()));
  }
  std::vector<MessageWriter> bodies{graph_attribute(
      "all", GraphSpec{.nodes = {node("Sum", names, {"t"})}, .inputs = {}, .outputs = {info("t")}}.build())};
  for (int i = 0; i < 1500; ++i)
    bodies.push_back(graph_attribute("b" + std::to_string(i), GraphSpec{{}, {}, {}}.build()));
  g.nodes = {node("Many", {}, {}, bodies)};
  expect_unreadable(model_bytes(g), ErrorCode::invalid_graph, "values and attributes");
}

TEST(Hostile, LimitsOnNodesEntriesAndStrings) {
  ReadOptions options;
  options.limits.nodes = 2;
  expect_unreadable(small_model(), ErrorCode::invalid_graph, "more than 2 nodes", options);
  options = {};
  options.limits.entries = 3;
  expect_unreadable(small_model(), ErrorCode::invalid_graph, "more than 3 values", options);
  options = {};
  options.limits.string_bytes = 4;
  expect_unreadable(small_model(), ErrorCode::invalid_graph, "exceeds the limit of 4", options);
  options = {};
  options.limits.depth = 3;
  expect_unreadable(small_model(), ErrorCode::invalid_protobuf, "nest too deep", options);
}

/// Milliseconds of this process's processor time that reading takes.
double time_of(const std::string& bytes) {
  const std::clock_t start = std::clock();
  survives(bytes);
  return 1e3 * double(std::clock() - start) / CLOCKS_PER_SEC;
}

/// 32 times the content must not take 1024 times as long. A busy machine slows some rounds down, so the best ones
/// count.
void expect_linear(const std::function<std::string(int)>& make, int size) {
  if (sanitized()) size /= 4;
  const std::string small = make(size), large = make(size * 32);
  double t1 = 1e9, t32 = 1e9;
  const auto linear = [&] { return t32 < 128 * t1 + 100; };
  int rounds = 0;
  do {
    t1 = std::min(t1, time_of(small));
    t32 = std::min(t32, time_of(large));
  } while (!linear() && ++rounds < 10);
  EXPECT_TRUE(linear()) << t1 << " ms became " << t32 << " ms";
}

TEST(Hostile, NothingIsQuadratic) {
  const auto names = [](int n, const std::string& prefix) {
    Strings all;
    for (int i = 0; i < n; ++i) all.push_back(prefix + std::to_string(n - i));
    return all;
  };
  expect_linear(
      [&](int n) {  // attributes of one node, in descending order
        std::vector<MessageWriter> attributes;
        for (const std::string& a : names(n, "a")) attributes.push_back(int_attribute(a, 1));
        return model_bytes(
            GraphSpec{.nodes = {node("Op", {"x"}, {"y"}, attributes)}, .inputs = {info("x")}, .outputs = {info("y")}});
      },
      2000);
  expect_linear(
      [&](int n) {  // inputs, each with a value_info and an initializer
        GraphSpec g{.nodes = {node("Sum", names(n, "x"), {"y"})}, .inputs = {}, .outputs = {info("y")}};
        for (const std::string& x : names(n, "x")) {
          g.inputs.push_back(info(x));
          g.infos.push_back(info(x));
          g.initializers.push_back(float_tensor(x, {1, 2}));
        }
        return model_bytes(g);
      },
      1000);
  expect_linear(
      [&](int n) {  // calls that share an input
        GraphSpec g{.nodes = {}, .inputs = {info("x")}, .outputs = {info("x")}};
        for (const std::string& y : names(n, "y")) g.nodes.push_back(node("F", {"x"}, {y}, {}, "f"));
        return model_bytes(g, 10, {negation()});
      },
      2000);
}

}  // namespace
}  // namespace retort::onnx
