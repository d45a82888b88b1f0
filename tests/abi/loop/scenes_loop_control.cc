// If, Loop and Scan on the loopback device: the provider requests kernels from the host, which run the bodies there.

#include "loop/loop.h"

using namespace scenes;

namespace {

constexpr int kBool = 9, kInt64 = 7;

/// One input of a run: floats, or a number that the host reads.
struct Given {
  const char* name;
  std::vector<int64_t> shape;
  std::vector<float> floats;
  int type = 1;
  int64_t number = 0;
};
Given floats_of(const char* name, std::vector<int64_t> shape, std::vector<float> data) {
  return {name, std::move(shape), std::move(data)};
}
Given truth(const char* name, bool is) { return {name, {}, {}, kBool, is}; }
Given count(const char* name, int64_t n) { return {name, {}, {}, kInt64, n}; }

OrtValue* value_of(Scene& s, Loop& loop, const Given& g, Where where) {
  if (g.type == 1) return loop.tensor(where, g.shape, g.floats);
  OrtValue* value = nullptr;
  void* to = nullptr;
  s.api.ReleaseStatus(
      s.api.CreateTensorAsOrtValue(s.allocator(), nullptr, 0, ONNXTensorElementDataType(g.type), &value));
  s.api.ReleaseStatus(s.api.GetTensorMutableData(value, &to));
  std::memcpy(to, &g.number, g.type == kBool ? 1 : 8);
  return value;
}

/// Notes the number of copies of a run; other scenes note their bytes.
void note_copies(Scene& s, const Loop& loop) {
  const LoopbackCounts c = loop.counts();
  s.note("copied to the device", c.to_device);
  s.note("copied from the device", c.from_device);
  s.note("copied between devices", c.on_device);
  s.note("kernels that ran", c.runs);
}

void run(Scene& s, Loop& loop, OrtSession* session, const std::vector<Given>& inputs,
         const std::vector<const char*>& outputs, Where where = Where::host) {
  std::vector<const char*> names;
  std::vector<const OrtValue*> values;
  for (const Given& g : inputs) {
    names.push_back(g.name);
    values.push_back(value_of(s, loop, g, where));
  }
  if (session) {
    std::vector<OrtValue*> results(outputs.size());
    loop.forget();
    CALL(Run, session, nullptr, names.data(), values.data(), values.size(), outputs.data(), outputs.size(),
         results.data());
    note_copies(s, loop);
    for (size_t k = 0; k < outputs.size(); ++k) {
      loop.note(outputs[k], results[k]);
      s.api.ReleaseValue(results[k]);
    }
  }
  for (const OrtValue* v : values) s.api.ReleaseValue(const_cast<OrtValue*>(v));
}

/// Scenes with kernels. Most of them are without streams: in bodies, the official library reads values on the host that
/// a stream has not copied yet.
#define TOLD(NAME, STREAMS)                                     \
  static void NAME(Scene& s, Loop& loop);                       \
  SCENE(loopback_bodies, NAME) {                                \
    Loop loop(s, {{"style", "kernels"}, {"streams", STREAMS}}); \
    NAME(s, loop);                                              \
    s.note("alive", loop.counts().alive);                       \
  }                                                             \
  static void NAME(Scene& s, Loop& loop)
#define STORY(NAME) TOLD(NAME, "0")
#define STORY_WITH_STREAMS(NAME) TOLD(NAME, "1")

/// y is x * x if c, otherwise -x; both branches read x from outside.
Maker choice() {
  return Maker()
      .input("c", tensor_type(kBool, {}))
      .floats_in("x", {2})
      .node("If", {"c"}, {"y"},
            {body("then_branch", Maker().node("Mul", {"x", "x"}, {"t"}).floats_out("t", {2}).graph()),
             body("else_branch", Maker().node("Neg", {"x"}, {"e"}).floats_out("e", {2}).graph())})
      .floats_out("y", {2});
}

void both_ways(Scene& s, Loop& loop, const Maker& model, std::initializer_list<Loop::Setting> settings = {}) {
  OrtSession* session = model.open(s, loop.options(settings));
  for (const Where where : {Where::host, Where::device}) {
    for (const bool c : {true, false})
      run(s, loop, session, {truth("c", c), floats_of("x", {2}, {3, -4})}, {"y"}, where);
  }
  s.api.ReleaseSession(session);
}

}  // namespace

STORY_WITH_STREAMS(if_in_streams) { both_ways(s, loop, choice()); }
STORY(if_both_branches) { both_ways(s, loop, choice()); }
STORY(if_with_cpu_in_a_branch) {
  both_ways(
      s, loop,
      Maker()
          .input("c", tensor_type(kBool, {}))
          .floats_in("x", {2})
          .node("Relu", {"x"}, {"r"})
          .node("If", {"c"}, {"i"},
                {body("then_branch",
                      Maker().node("Abs", {"x"}, {"a"}).node("Add", {"a", "r"}, {"t"}).floats_out("t", {2}).graph()),
                 body("else_branch",
                      Maker().node("Neg", {"r"}, {"n"}).node("Abs", {"n"}, {"e"}).floats_out("e", {2}).graph())})
          .node("Neg", {"i"}, {"y"})
          .floats_out("y", {2}));
}
// The CPU runs the If, the device runs nodes inside.
STORY(if_on_the_cpu) { both_ways(s, loop, choice(), {{"claim", "Mul,Neg"}}); }
STORY(if_whose_body_is_on_the_cpu) { both_ways(s, loop, choice(), {{"claim", "If"}}); }
STORY(if_in_an_if) {
  const Maker inner =
      Maker()
          .node("If", {"d"}, {"i"},
                {body("then_branch", Maker().node("Mul", {"x", "r"}, {"t"}).floats_out("t", {2}).graph()),
                 body("else_branch", Maker().node("Neg", {"r"}, {"e"}).floats_out("e", {2}).graph())})
          .floats_out("i", {2});
  const Maker model = Maker()
                          .input("c", tensor_type(kBool, {}))
                          .input("d", tensor_type(kBool, {}))
                          .floats_in("x", {2})
                          .node("Relu", {"x"}, {"r"})
                          .node("If", {"c"}, {"y"},
                                {body("then_branch", inner.graph()),
                                 body("else_branch", Maker().node("Relu", {"x"}, {"o"}).floats_out("o", {2}).graph())})
                          .floats_out("y", {2});
  OrtSession* session = model.open(s, loop.options());
  for (const auto& [c, d] : {std::pair(true, true), std::pair(true, false), std::pair(false, true)})
    run(s, loop, session, {truth("c", c), truth("d", d), floats_of("x", {2}, {3, -4})}, {"y"});
  s.api.ReleaseSession(session);
}

namespace {

/// Adds w to a carried value, and stacks its squares.
Maker adding(const std::vector<std::string>& in = {"m", "c", "x"}) {
  const Maker step = Maker()
                         .input("i", tensor_type(kInt64, {}))
                         .input("go", tensor_type(kBool, {}))
                         .floats_in("v", {2})
                         .node("Identity", {"go"}, {"go_on"})
                         .node("Add", {"v", "w"}, {"next"})
                         .node("Mul", {"next", "next"}, {"square"})
                         .output("go_on", tensor_type(kBool, {}))
                         .floats_out("next", {2})
                         .floats_out("square", {2});
  return Maker()
      .input("m", tensor_type(kInt64, {}))
      .input("c", tensor_type(kBool, {}))
      .floats_in("x", {2})
      .floats_in("w", {2})
      .node("Loop", in, {"y", "z"}, {body("body", step.graph())})
      .floats_out("y", {2})
      .floats_out("z", {"n", 2});
}
std::vector<Given> for_adding(int64_t m, bool c) {
  return {count("m", m), truth("c", c), floats_of("x", {2}, {1, -2}), floats_of("w", {2}, {10, 20})};
}
void loops(Scene& s, Loop& loop, const Maker& model, std::initializer_list<Loop::Setting> settings = {}) {
  OrtSession* session = model.open(s, loop.options(settings));
  for (const Where where : {Where::host, Where::device}) {
    for (const auto& [m, c] : {std::pair(3, true), std::pair(0, true), std::pair(5, false)})
      run(s, loop, session, for_adding(m, c), {"y", "z"}, where);
  }
  s.api.ReleaseSession(session);
}

}  // namespace

STORY_WITH_STREAMS(loop_in_streams) { loops(s, loop, adding()); }
STORY(loop_with_scan_outputs) { loops(s, loop, adding()); }
STORY(loop_on_the_cpu) { loops(s, loop, adding(), {{"claim", "Add,Mul"}}); }
STORY(loop_whose_body_is_on_the_cpu) { loops(s, loop, adding(), {{"claim", "Loop"}}); }
STORY(loop_until_told) {
  const Maker step = Maker()
                         .input("i", tensor_type(kInt64, {}))
                         .input("go", tensor_type(kBool, {}))
                         .floats_in("v", {2})
                         .floats("limit", {}, {10})
                         .node("Add", {"v", "v"}, {"next"})
                         .node("ReduceMax", {"next"}, {"most"}, {attribute("keepdims", 0)})
                         .node("Less", {"most", "limit"}, {"go_on"})
                         .output("go_on", tensor_type(kBool, {}))
                         .floats_out("next", {2});
  const Maker model = Maker()
                          .floats_in("x", {2})
                          .node("Relu", {"x"}, {"r"})
                          .node("Loop", {"", "", "r"}, {"l"}, {body("body", step.graph())})
                          .node("Neg", {"l"}, {"y"})
                          .floats_out("y", {2});
  OrtSession* session = model.open(s, loop.options());
  for (const Where where : {Where::host, Where::device})
    run(s, loop, session, {floats_of("x", {2}, {1, -2})}, {"y"}, where);
  s.api.ReleaseSession(session);
}
STORY(loop_in_an_if) {
  const Maker step = Maker()
                         .input("i", tensor_type(kInt64, {}))
                         .input("go", tensor_type(kBool, {}))
                         .floats_in("v", {2})
                         .node("Identity", {"go"}, {"go_on"})
                         .node("Add", {"v", "x"}, {"next"})
                         .output("go_on", tensor_type(kBool, {}))
                         .floats_out("next", {2});
  const Maker model =
      Maker()
          .input("m", tensor_type(kInt64, {}))
          .input("c", tensor_type(kBool, {}))
          .floats_in("x", {2})
          .node("If", {"c"}, {"y"},
                {body("then_branch", Maker()
                                         .node("Loop", {"m", "", "x"}, {"t"}, {body("body", step.graph())})
                                         .floats_out("t", {2})
                                         .graph()),
                 body("else_branch", Maker().node("Neg", {"x"}, {"e"}).floats_out("e", {2}).graph())})
          .floats_out("y", {2});
  OrtSession* session = model.open(s, loop.options());
  for (const bool c : {true, false})
    run(s, loop, session, {count("m", 3), truth("c", c), floats_of("x", {2}, {1, -2})}, {"y"});
  s.api.ReleaseSession(session);
}

namespace {

Maker scanning(const std::vector<Message>& attributes, const Extents& a, const Extents& b, const Extents& z) {
  const Maker step = Maker()
                         .floats_in("v", {2})
                         .floats_in("u", {2})
                         .floats_in("p", {2})
                         .floats_in("q", {2})
                         .node("Add", {"v", "p"}, {"v_next"})
                         .node("Mul", {"u", "q"}, {"u_next"})
                         .node("Sub", {"v_next", "u_next"}, {"d"})
                         .node("Neg", {"p"}, {"n"})
                         .floats_out("v_next", {2})
                         .floats_out("u_next", {2})
                         .floats_out("d", {2})
                         .floats_out("n", {2});
  std::vector<Message> all = attributes;
  all.push_back(body("body", step.graph()));
  all.push_back(attribute("num_scan_inputs", 2));
  return Maker()
      .floats_in("v0", {2})
      .floats_in("u0", {2})
      .floats_in("a", a)
      .floats_in("b", b)
      .node("Scan", {"v0", "u0", "a", "b"}, {"v1", "u1", "d", "n"}, all)
      .floats_out("v1", {2})
      .floats_out("u1", {2})
      .floats_out("d", z)
      .floats_out("n", {"k", 2});
}
void scans(Scene& s, Loop& loop, const Maker& model, const std::vector<int64_t>& b,
           std::initializer_list<Loop::Setting> settings = {}) {
  OrtSession* session = model.open(s, loop.options(settings));
  for (const Where where : {Where::host, Where::device}) {
    run(s, loop, session,
        {floats_of("v0", {2}, {1, 2}), floats_of("u0", {2}, {3, 4}), floats_of("a", {3, 2}, {1, 2, 3, 4, 5, 6}),
         floats_of("b", b, {2, 1, 3, 1, 2, 4})},
        {"v1", "u1", "d", "n"}, where);
  }
  s.api.ReleaseSession(session);
}
Message list(std::string_view name, const std::vector<int64_t>& numbers) {
  Message m;
  m.text(1, name).number(20, 7);
  for (const int64_t n : numbers) m.number(8, uint64_t(n));
  return m;
}

}  // namespace

STORY_WITH_STREAMS(scan_in_streams) { scans(s, loop, scanning({}, {3, 2}, {3, 2}, {3, 2}), {3, 2}); }
STORY(scan_plainly) { scans(s, loop, scanning({}, {3, 2}, {3, 2}, {3, 2}), {3, 2}); }
STORY(scan_along_other_axes) {
  scans(s, loop,
        scanning({list("scan_input_axes", {0, 1}), list("scan_input_directions", {1, 0}),
                  list("scan_output_axes", {1, 0}), list("scan_output_directions", {0, 1})},
                 {3, 2}, {2, 3}, {2, 3}),
        {2, 3});
}
STORY(scan_on_the_cpu) { scans(s, loop, scanning({}, {3, 2}, {3, 2}, {3, 2}), {3, 2}, {{"claim", "Add,Mul,Sub,Neg"}}); }
STORY(scan_whose_body_is_on_the_cpu) {
  scans(s, loop, scanning({}, {3, 2}, {3, 2}, {3, 2}), {3, 2}, {{"claim", "Scan"}});
}

STORY(failures_in_bodies) {
  for (const char* fail :
       {"CreateKernel", "CreateKernel:2", "Compute", "Compute:2", "ConcatOutput", "Kernel", "Kernel:2", "Copy"}) {
    loop.set("fail", fail);
    OrtSession* session = adding().open(s, loop.options());
    run(s, loop, session, for_adding(3, true), {"y", "z"});
    loop.set("fail", "");
    run(s, loop, session, for_adding(3, true), {"y", "z"});
    s.api.ReleaseSession(session);
  }
}
