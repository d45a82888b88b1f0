// Warnings about configuration entries, and the effects of entries that sessions honour.
#include "session/config.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>

#include "onnx/writer.h"
#include "session/session_testing.h"

namespace retort {
namespace {

using Entries = std::map<std::string, std::string>;

std::vector<std::string> told(ConfigScope scope, const Entries& entries, LogLevel level = LogLevel::warning) {
  LogLines lines;
  ConfigWatch().check(scope, entries, lines.logger(level));
  return lines.all;
}

void expect_refused(ConfigScope scope, const Entries& entries, ErrorCode code, const std::string& text) {
  try {
    told(scope, entries);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code);
    EXPECT_CONTAINS(e.message(), text);
  }
}

TEST(Config, TheTableIsOrderedAndWhole) {
  const auto keys = config_keys();
  EXPECT_GT(keys.size(), 90u);
  EXPECT_TRUE(std::ranges::is_sorted(keys, {}, &ConfigKey::key));
  for (const ConfigKey& k : keys) {
    EXPECT_EQ(k.why.empty(), k.deed == ConfigDeed::honoured) << k.key;
    EXPECT_TRUE(k.standard.empty() || k.deed != ConfigDeed::rejected || has_form(k.standard, k.form)) << k.key;
  }
}

TEST(Config, Forms) {
  for (const char* yes : {"0", "1"}) EXPECT_TRUE(has_form(yes, "0|1"));
  for (const char* no : {"", "01", "2", "true", " 1", "0|1"}) EXPECT_FALSE(has_form(no, "0|1")) << no;
  for (const char* yes : {"-3", "0", "9223372036854775807"}) EXPECT_TRUE(has_form(yes, "integer")) << yes;
  for (const char* no : {"", "1.5", "abc", " 1", "1 ", "9223372036854775808"})
    EXPECT_FALSE(has_form(no, "integer")) << no;
  EXPECT_TRUE(has_form("", "integer|"));
  EXPECT_FALSE(has_form("0", "integer>=1"));
  EXPECT_TRUE(has_form("1", "integer>=1"));
  EXPECT_TRUE(has_form("x:[2,4]", "*:[*]*|"));
  EXPECT_TRUE(has_form("", "*:[*]*|"));
  for (const char* no : {"x", "x:[2", "x:2]", ":"}) EXPECT_FALSE(has_form(no, "*:[*]*|")) << no;
  EXPECT_TRUE(has_form("aXbXb", "a*b"));
  EXPECT_FALSE(has_form("ab", "ab*b"));
  EXPECT_TRUE(has_form("anything", ""));
}

TEST(Config, FormsOfRanges) {
  for (const char* yes : {"4096", "8192", "67108864"})
    EXPECT_TRUE(has_form(yes, "integer 4096..67108864 by 4096")) << yes;
  for (const char* no : {"", "0", "4097", "67112960", "-4096", "4096x"})
    EXPECT_FALSE(has_form(no, "integer 4096..67108864 by 4096")) << no;
  EXPECT_TRUE(has_form("18446744073709551615", "integer 0..18446744073709551615"));
  EXPECT_FALSE(has_form("18446744073709551616", "integer 0..18446744073709551615"));
  for (const char* yes : {"0", "1", "0.5", "1e-3", ".5"}) EXPECT_TRUE(has_form(yes, "number 0..1")) << yes;
  for (const char* no : {"", "-1", "1.0001", "nan", "0.5x"}) EXPECT_FALSE(has_form(no, "number 0..1")) << no;
  EXPECT_TRUE(has_form("1e30", "number 0.."));
  for (const char* no : {"inf", "nan"}) EXPECT_FALSE(has_form(no, "number 0..")) << no;
  EXPECT_TRUE(has_form("aUTO", "~auto|0"));
  for (const char* no : {"", "aut", "autos"}) EXPECT_FALSE(has_form(no, "~auto|0")) << no;
}

TEST(Config, ErrorsSayTheRange) {
  expect_refused(ConfigScope::session, {{"session.external_data_loader.chunk_bytes", "1"}}, ErrorCode::invalid_argument,
                 "set it to an integer from 4096 to 67108864 that is a multiple of 4096");
  expect_refused(ConfigScope::session, {{"session.moe.offload.tail_substitution_threshold", "-1"}},
                 ErrorCode::invalid_argument, "set it to a number from 0");
  expect_refused(ConfigScope::session, {{"session.moe.offload.placement", "basic"}}, ErrorCode::invalid_argument,
                 "set it to static or adaptive");
}

TEST(Config, KeysOfAFamilyMustExist) {
  expect_refused(ConfigScope::session, {{"session.moe.offload.mod", "auto"}}, ErrorCode::invalid_argument,
                 "the key 'session.moe.offload.mod' does not exist");
  expect_refused(ConfigScope::session, {{"moe.cpu_offload.x", ""}}, ErrorCode::invalid_argument,
                 "begin with session.moe.offload.");
  EXPECT_TRUE(told(ConfigScope::session, {{"session.moe.offload.mode", "Auto"}}).empty());
}

TEST(Config, UnknownKeysNameTheNearest) {
  const auto near = [](ConfigScope scope, const char* key) {
    const std::vector<std::string> lines = told(scope, {{key, "1"}});
    return lines.size() == 1 ? lines[0] : cat("{} lines", lines.size());
  };
  EXPECT_CONTAINS(near(ConfigScope::session, "session.dissable_prepacking"), "use 'session.disable_prepacking'");
  EXPECT_CONTAINS(near(ConfigScope::session, "sesion.strict"), "use 'session.strict'");
  EXPECT_CONTAINS(near(ConfigScope::session, "optimisation.enable_gelu_approximation"),
                  "use 'optimization.enable_gelu");
  EXPECT_CONTAINS(near(ConfigScope::session, "ep.context_enabel"), "use 'ep.context_enable'");
  EXPECT_CONTAINS(near(ConfigScope::session, "session.nothing_like_it_at_all"), "is unknown");
  EXPECT_CONTAINS(near(ConfigScope::session, "verbose"), "is unknown");
  EXPECT_CONTAINS(near(ConfigScope::run, "gpu_graph_idd"), "use 'gpu_graph_id'");
  EXPECT_CONTAINS(near(ConfigScope::env, "retort.virtual_device"), "use 'retort.virtual_devices'");
}

TEST(Config, KeysOfOthersStaySilent) {
  for (const ConfigScope scope : {ConfigScope::session, ConfigScope::run, ConfigScope::env, ConfigScope::ep_dynamic}) {
    EXPECT_TRUE(
        told(scope, {{"my_app.tag", "x"}, {"ep.myprovider.level", "3"}, {"custom_op.Mine.alpha", "2"}}).empty());
  }
  EXPECT_TRUE(told(ConfigScope::session, {{"session.strict", "1"}, {"session.intra_op.allow_spinning", "0"}}).empty());
}

TEST(Config, KeysOfOtherPlaces) {
  EXPECT_CONTAINS(told(ConfigScope::run, {{"session.strict", "1"}}).at(0), "give it to the options of a session");
  EXPECT_CONTAINS(told(ConfigScope::session, {{"gpu_graph_id", "x"}}).at(0), "give it to the options of a run");
}

TEST(Config, IgnoredAndRejectedValues) {
  EXPECT_EQ(told(ConfigScope::session, {{"session.strict", "true"}}).at(0),
            "session.strict is 'true' and counts as 0; set it to 0 or 1");
  EXPECT_CONTAINS(told(ConfigScope::session, {{"session.intra_op.spin_duration_us", "-1"}}).at(0),
                  "does not count; set it to an integer from 0");
  expect_refused(ConfigScope::session, {{"session.gqa_value_layout", "bnsh"}}, ErrorCode::invalid_argument,
                 "session.gqa_value_layout is 'bnsh'; set it to BNSH or BNHS");
  expect_refused(ConfigScope::session, {{"optimization.minimal_build_optimizations", "all"}},
                 ErrorCode::invalid_argument, "set it to nothing, save or apply");
  expect_refused(ConfigScope::run, {{"gpu_graph_id", "first"}}, ErrorCode::invalid_argument, "an integer or nothing");
  expect_refused(ConfigScope::session, {{"session.max_shape_override", "x"}}, ErrorCode::fail, "set it to");
}

TEST(Config, UnsupportedValuesAreRejectedUnlessTheyAreTheDefault) {
  expect_refused(ConfigScope::session, {{"session.enable_moe_expert_counting", "1"}}, ErrorCode::not_implemented,
                 "experts of a mixture are not counted");
  EXPECT_TRUE(told(ConfigScope::session, {{"session.enable_moe_expert_counting", "0"}}).empty());
  EXPECT_TRUE(told(ConfigScope::session, {{"session.moe_expert_counter_state_file", ""}}).empty());
}

TEST(Config, KeysWithoutEffectSayWhyAsInformation) {
  const Entries entries{{"mlas.use_lut_gemm", "1"}};
  EXPECT_TRUE(told(ConfigScope::session, entries).empty());
  EXPECT_CONTAINS(told(ConfigScope::session, entries, LogLevel::info).at(0), "mlas.use_lut_gemm has no effect: ");
}

TEST(Config, AWatchReportsOnceAndIsBounded) {
  LogLines lines;
  const Logger logger = lines.logger();
  ConfigWatch watch;
  for (int i = 0; i < 3; ++i) watch.check(ConfigScope::run, {{"session.strict", "1"}, {"nonsense", "1"}}, logger);
  EXPECT_EQ(lines.all.size(), 2u);
  for (int i = 0; i < 1000; ++i) watch.check(ConfigScope::run, {{cat("nonsense{}", i), "1"}}, logger);
  EXPECT_LT(lines.all.size(), 100u);
  EXPECT_THROW(watch.check(ConfigScope::run, {{"gpu_graph_id", "x"}}, logger), Error)
      << "errors are reported every time";
}

TEST(Config, SessionsRunsAndEnvironmentsWarnTheirLoggers) {
  TestGraph t;
  t.output(t.add("Add", {t.input("x", {4}), t.scalar(1)}), "y");
  LogLines lines;
  SessionOptions options;
  options.log.sink = lines.sink();
  options.config["session.dissable_prepacking"] = "1";
  const auto session = make_session(t.g, options);
  ASSERT_EQ(lines.all.size(), 1u);
  const Value x(random_inputs(t.g)[0]);
  const Value* const in[] = {&x};
  RunOptions run_options;
  run_options.config["gpu_graph_idd"] = "1";
  for (int i = 0; i < 2; ++i) {
    Value y;
    Value* const out[] = {&y};
    session->run(in, out, {}, &run_options);
  }
  const char *key = "ep.dynamic.workload_typ", *value = "Efficient";
  session->set_dynamic_options({&key, 1}, {&value, 1});
  ASSERT_EQ(lines.all.size(), 3u);
  EXPECT_CONTAINS(lines.all[1], "gpu_graph_id");
  EXPECT_CONTAINS(lines.all[2], "ep.dynamic.workload_type");
  lines.all.clear();
  const Environment environment({.logger = lines.logger(), .threads = {}, .config = {{"alow_virtual_devices", "1"}}});
  ASSERT_EQ(lines.all.size(), 1u);
  EXPECT_CONTAINS(lines.all[0], "allow_virtual_devices");
}

TEST(Config, NumbersAndSwitches) {
  SessionOptions options;
  EXPECT_TRUE(options.config_on("session.weights_16bit", true));
  for (const char* off : {"0", "", "true", "2"}) {
    options.config["session.weights_16bit"] = off;
    EXPECT_FALSE(options.config_on("session.weights_16bit", true)) << off;
  }
  EXPECT_FALSE(options.config_number("n"));
  for (const char* none : {"", "-1", "1.5", "x", "99999999999999999999999"}) {
    options.config["n"] = none;
    EXPECT_FALSE(options.config_number("n")) << none;
  }
  options.config["n"] = "7";
  EXPECT_EQ(options.config_number("n"), 7u);
}

/// y = -x, by a function of three nodes.
std::shared_ptr<Model> with_function() {
  auto model = std::make_shared<Model>();
  model->opsets = {{"", 17}, {"f", 1}};
  Function f{.domain = "f", .name = "Thrice", .opsets = {{"", 17}}, .body = std::make_shared<Graph>(model->dims)};
  ValueId v = f.body->add_value("a");
  f.body->inputs = {v};
  for (int i = 0; i < 3; ++i) v = f.body->node(f.body->add({.type = "Neg", .inputs = {v}, .version = 17})).outputs[0];
  f.body->outputs = {v};
  model->functions.push_back(std::move(f));
  Graph& g = *model->graph;
  g.inputs = {g.add_value("x", ValueType::tensor(DType::f32, {4}))};
  g.outputs = {g.node(g.add({.type = "Thrice", .inputs = g.inputs, .domain = "f", .version = 1})).outputs[0]};
  return model;
}

TEST(Config, FunctionsMakeNoMoreThanTheirLimits) {
  const auto makes = [](const char* key, const char* value) {
    SessionOptions options;
    options.config[key] = value;
    try {
      Session(std::make_shared<Environment>(EnvironmentOptions{}), with_function(), options);
      return true;
    } catch (const Error&) {
      return false;
    }
  };
  EXPECT_TRUE(makes("session.function_expansion_node_limit", "10"));
  EXPECT_FALSE(makes("session.function_expansion_node_limit", "2"));
  EXPECT_TRUE(makes("session.function_expansion_byte_limit", "1000000"));
  EXPECT_FALSE(makes("session.function_expansion_byte_limit", "10"));
}

// If a program writes to the memory of a file, the session sees it only if the program promised to keep the memory.
TEST(Config, FilesInMemoryAreCopiedUnlessTheCallerKeepsThem) {
  constexpr int64_t kLong = 4096;
  TestGraph t;
  t.output(t.add("Add", {t.input("x", {kLong}), t.weight("w", {kLong})}), "y");
  auto model = std::make_shared<Model>();
  model->opsets = {{"", 17}};
  model->dims = t.g.shared_dims();
  model->graph = t.g.clone();
  const std::string folder = ::testing::TempDir(), name = cat("retort_config_{}.bin", getpid());
  const std::string path = cat("{}{}.onnx", folder, name);
  write_model(*model, path, {.external_file = name});
  std::ifstream in(folder + name, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  unlink((folder + name).c_str());
  for (const char* kept : {"0", "1"}) {
    alignas(64) static char memory[kLong * sizeof(float)];
    ASSERT_EQ(bytes.size(), sizeof memory);
    std::copy(bytes.begin(), bytes.end(), memory);
    SessionOptions options;
    options.external_files[name] = {memory, nullptr};
    options.config["session.use_external_initializer_file_buffers_directly"] = kept;
    Session session(std::make_shared<Environment>(EnvironmentOptions{}), path, options);
    const float first = run(session, {Value(random_inputs(t.g)[0])})[0].tensor()->data<float>()[0];
    reinterpret_cast<float*>(memory)[0] += 100;
    const float then = run(session, {Value(random_inputs(t.g)[0])})[0].tensor()->data<float>()[0];
    EXPECT_NEAR(then - first, *kept == '1' ? 100 : 0, 1e-3) << kept;
  }
  unlink(path.c_str());
}

// Also tests that the spinning time is kept to: if threads do not rest, workers spin for two seconds.
TEST(Config, SessionsThatPauseTheirThreadsAfterRuns) {
  TestGraph t;
  t.output(t.add("Relu", {t.input("x", {1 << 20})}), "y");
  SessionOptions options;
  options.threads.intra_threads = 2;
  options.config["session.force_spinning_stop"] = "1";
  options.config["session.intra_op.spin_duration_us"] = "2000000";
  const auto session = make_session(t.g, options);
  const std::vector<Value> inputs{Value(random_inputs(t.g)[0])};
  run(*session, inputs);
  const std::clock_t before = std::clock();  // of all threads of the process
  usleep(200'000);
  EXPECT_LT(double(std::clock() - before) / CLOCKS_PER_SEC, 0.03) << "workers spin although no run is left";
  options.config["session.force_spinning_stop"] = "0";
  const auto spins = make_session(t.g, options);
  run(*spins, inputs);
  // The limit is low, and nearly all of the two seconds may pass: other programs may use the processors, too.
  const std::clock_t then = std::clock();
  const auto spun = [&] { return double(std::clock() - then) / CLOCKS_PER_SEC; };
  for (int i = 0; i < 18 && spun() <= 0.03; ++i) usleep(100'000);
  EXPECT_GT(spun(), 0.03) << "spin_duration_us was not kept to";
}

}  // namespace
}  // namespace retort
