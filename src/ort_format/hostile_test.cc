// Tests hostile files: each must end in an Error, quickly, or be read as a consistent model.
#include <ctime>
#include <random>

#include "base/sanitized_testing.h"
#include "ort_format/flat_testing.h"

namespace retort::ort_format {
namespace {

bool survives(const std::string& bytes) {
  try {
    const auto m = load(bytes);
    verify(*m->graph);
    return true;
  } catch (const Error& error) {
    EXPECT_FALSE(error.message().empty());
    return false;
  }
}

std::string small_model() {
  Builder b;
  const auto type = [&] { return tensor_type(b, 1, {2}); };
  const auto body = GraphSpec{{node(b, "Add", {"x", "c"}, {"t"})}, {}, {"t"}, {value(b, "t", type())}, {}, {}}.build(b);
  const std::vector<int64_t> is{1, 2};
  const std::vector<Offset<fbs::Attribute>> attributes{
      fbs::CreateAttributeDirect(b, "body", 5, 0, 0, nullptr, 0, body),
      fbs::CreateAttributeDirect(b, "is", 7, 0, 0, nullptr, 0, 0, nullptr, &is),
      fbs::CreateAttribute(b, b.CreateString("ss"), 8, 0, 0, 0, 0, 0, 0, 0, strings(b, {"a", "b"}))};
  const auto sequence = fbs::CreateTypeInfo(b, fbs::AnyType_SequenceType, fbs::CreateSequenceType(b, type()).Union());
  const GraphSpec main{{node(b, "Op", {"x", "s"}, {"y"}, attributes)},
                       {"x", "s"},
                       {"y"},
                       {value(b, "x", type()), value(b, "s", sequence), value(b, "y", type())},
                       {floats(b, "c", {1, 2})},
                       {}};
  return finish(b, main.build(b));
}

TEST(HostileOrtFormat, every_bit) {
  const std::string good = small_model();
  ASSERT_TRUE(survives(good));
  size_t read = 0;
  for (size_t i = 0; i < good.size() * 8; i += sanitized() ? 5 : 1) {
    std::string bad = good;
    bad[i / 8] = char(bad[i / 8] ^ 1 << i % 8);
    read += survives(bad);
  }
  EXPECT_GT(read, 0u);
  EXPECT_LT(read, good.size() * 8);
}

TEST(HostileOrtFormat, every_length) {
  const std::string good = small_model();
  for (size_t n = 0; n < good.size(); ++n) EXPECT_FALSE(survives(good.substr(0, n))) << n;
}

TEST(HostileOrtFormat, words_of_elsewhere) {
  const std::string good = small_model();
  std::mt19937 random(5);
  for (int i = 0; i < 4000; ++i) {
    std::string bad = good;
    for (int k = 0; k < 1 + i % 3; ++k) {
      const size_t to = random() % (bad.size() / 4) * 4, from = random() % (bad.size() / 4) * 4;
      bad.replace(to, 4, good, from, 4);
    }
    survives(bad);
  }
}

/// Seconds of processor time, since other programs may use the processor, too.
double seconds(const std::string& bytes) {
  const std::clock_t begin = std::clock();
  EXPECT_FALSE(survives(bytes));
  return double(std::clock() - begin) / CLOCKS_PER_SEC;
}

// 60,000 references to one node, which has 60,000 inputs: 3.6 billion names in 0.5 MB.
TEST(HostileOrtFormat, a_table_many_times) {
  Builder b;
  const auto shared = b.CreateString("x");
  const std::vector<Offset<flatbuffers::String>> names(60000, shared);
  const Offset<flatbuffers::Vector<uint32_t>> inputs(b.CreateVector(names).o);
  const std::vector<Offset<fbs::Node>> nodes(60000, fbs::CreateNode(b, 0, 0, 0, 0, b.CreateString("Op"), 0, inputs));
  EXPECT_LT(seconds(finish(b, GraphSpec{nodes, {}, {}, {}, {}, {}}.build(b))), 5);
}

// Distinct tables that share one list.
TEST(HostileOrtFormat, a_list_many_times) {
  Builder b;
  const std::vector<Offset<flatbuffers::String>> names(60000, b.CreateString("x"));
  const Offset<flatbuffers::Vector<uint32_t>> inputs(b.CreateVector(names).o);
  std::vector<Offset<fbs::Node>> nodes;
  const auto type = b.CreateString("Op");
  for (int i = 0; i < 20000; ++i) nodes.push_back(fbs::CreateNode(b, 0, 0, 0, 0, type, 0, inputs));
  EXPECT_LT(seconds(finish(b, GraphSpec{nodes, {}, {}, {}, {}, {}}.build(b))), 5);
}

TEST(HostileOrtFormat, a_long_string_many_times) {
  Builder b;
  const auto name = b.CreateString(std::string(1 << 20, 'x'));
  std::vector<Offset<fbs::Node>> nodes;
  for (int i = 0; i < 5000; ++i) nodes.push_back(fbs::CreateNode(b, name, 0, 0, 0, name));
  EXPECT_LT(seconds(finish(b, GraphSpec{nodes, {}, {}, {}, {}, {}}.build(b))), 5);
}

TEST(HostileOrtFormat, graphs_within_graphs) {
  for (const int depth : {8, 200}) {
    Builder b;
    auto graph = GraphSpec{{}, {}, {}, {}, {}, {}}.build(b);
    for (int i = 0; i < depth; ++i) {
      const std::vector<Offset<fbs::Attribute>> body{fbs::CreateAttributeDirect(b, "g", 5, 0, 0, nullptr, 0, graph)};
      graph = GraphSpec{{node(b, "Op", {}, {}, body)}, {}, {}, {}, {}, {}}.build(b);
    }
    EXPECT_EQ(survives(finish(b, graph)), depth == 8);
  }
}

TEST(HostileOrtFormat, type_within_types) {
  Builder b;
  auto type = tensor_type(b, 1, {});
  for (int i = 0; i < 100; ++i) {
    type = fbs::CreateTypeInfo(b, fbs::AnyType_SequenceType, fbs::CreateSequenceType(b, type).Union());
  }
  EXPECT_FALSE(survives(finish(b, GraphSpec{{}, {"x"}, {}, {value(b, "x", type)}, {}, {}}.build(b))));
}

}  // namespace
}  // namespace retort::ort_format
