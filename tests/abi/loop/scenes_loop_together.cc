// The loopback provider: what it gained, told together. Each alone has a file of its own.
#include "compile.h"
#include "loop/loop.h"

using namespace scenes;

namespace {

using Settings = std::initializer_list<Loop::Setting>;

void configure(Scene& s, OrtSessionOptions* options, const Config& entries) {
  for (const auto& [key, value] : entries) CALL(AddSessionConfigEntry, options, key, value.c_str());
}

OrtSession* load(Scene& s, const std::string& file, const OrtSessionOptions* options) {
  OrtSession* session = nullptr;
  CALL(CreateSession, s.env(), file.c_str(), options, &session);
  return session;
}

/// Runs it on floats of that shape, 1, 2, 3 …
void run(Scene& s, Loop& loop, OrtSession* session, const std::vector<int64_t>& shape, const char* in = "x") {
  s.note("session", static_cast<const void*>(session));
  if (!session) return;
  size_t n = 1;
  for (const int64_t d : shape) n *= size_t(d);
  const OrtValue* x = loop.tensor(Where::host, shape, counted(n));
  const char* out = "y";
  OrtValue* y = nullptr;
  loop.forget();
  const bool good = CALL(Run, session, nullptr, &in, &x, 1, &out, 1, &y) == ORT_OK;
  loop.note_counts("a run", !good);
  loop.note("y", y);
}

/// Saves a model with what the provider compiled, and runs both.
void keep(Scene& s, Loop& loop, const Maker& model, OrtSessionOptions* options, const std::vector<int64_t>& shape,
          OrtSessionOptions* later) {
  const Folder folder;
  const std::string file = folder / "ctx.onnx";
  configure(s, options, {{"ep.context_enable", "1"}, {"ep.context_embed_mode", "1"}, {"ep.context_file_path", file}});
  run(s, loop, model.open(s, options), shape);
  s.note("the model is there", folder.has("ctx.onnx"));
  if (!folder.has("ctx.onnx")) return;
  loop.forget();
  OrtSession* again = load(s, file, later);
  s.note("compiled parts", loop.counts().compiled);
  run(s, loop, again, shape);
}

Maker images() {
  return Maker()
      .floats_in("x", {1, 3, 2, 2})
      .node("Neg", {"x"}, {"a"})
      .node("GlobalAveragePool", {"a"}, {"b"})
      .node("Relu", {"b"}, {"y"})
      .floats_out("y", {1, 3, 1, 1});
}

}  // namespace

SCENE(loopback_together, kept_with_channels_last) {
  for (const char* claim : {"*", "GlobalAveragePool", "Relu", "GlobalAveragePool,Relu"}) {
    Loop loop(s, {{"channels_last", "1"}});
    keep(s, loop, images(), loop.options({{"claim", claim}}), {1, 3, 2, 2}, loop.options({{"claim", claim}}));
  }
}

SCENE(loopback_together, kept_with_inputs_that_have_values) {
  for (const GraphOptimizationLevel level : {ORT_DISABLE_ALL, ORT_ENABLE_ALL}) {
    Loop loop(s);
    const Maker model = Maker()
                            .floats_in("x", {2})
                            .floats_in("w", {2})
                            .floats("w", {2}, {3, 4})
                            .node("Mul", {"x", "w"}, {"a"})
                            .node("Neg", {"a"}, {"y"})
                            .floats_out("y", {2});
    OrtSessionOptions* o = loop.options();
    CALL(SetSessionGraphOptimizationLevel, o, level);
    keep(s, loop, model, o, {2}, loop.options());
  }
}

SCENE(loopback_together, kept_with_known_values) {
  for (const GraphOptimizationLevel level : {ORT_DISABLE_ALL, ORT_ENABLE_ALL}) {
    Loop loop(s);
    const Maker model = Maker()
                            .floats_in("x", {2})
                            .floats("u", {2}, {3, 4})
                            .floats("v", {2}, {5, 6})
                            .node("Exp", {"u"}, {"e"})
                            .node("Add", {"u", "v"}, {"w"})
                            .node("Mul", {"x", "w"}, {"a"})
                            .node("Abs", {"a"}, {"b"})
                            .node("Mul", {"b", "w"}, {"y"})
                            .floats_out("y", {2});
    OrtSessionOptions* o = loop.options();
    CALL(SetSessionGraphOptimizationLevel, o, level);
    keep(s, loop, model, o, {2}, loop.options());
  }
}

SCENE(loopback_together, kept_beside_bodies) {
  Loop loop(s);
  const Maker model =
      Maker()
          .floats_in("x", {2})
          .node("Mul", {"x", "x"}, {"a"})
          .node("ReduceMax", {"x"}, {"m"}, {attribute("keepdims", 0)})
          .floats("limit", {}, {1})
          .node("Less", {"limit", "m"}, {"go"})
          .node("If", {"go"}, {"i"},
                {body("then_branch", Maker().node("Mul", {"a", "a"}, {"t"}).floats_out("t", {2}).graph()),
                 body("else_branch", Maker().node("Neg", {"a"}, {"e"}).floats_out("e", {2}).graph())})
          .node("Neg", {"i"}, {"y"})
          .floats_out("y", {2});
  keep(s, loop, model, loop.options(), {2}, loop.options());
}

SCENE(loopback_together, bodies_with_channels_last) {
  for (const char* claim : {"*", "GlobalAveragePool", "If,GlobalAveragePool"}) {
    Loop loop(s, {{"channels_last", "1"}, {"style", "kernels"}, {"streams", "0"}});
    const auto branch = [](const char* first, const char* out) {
      return Maker()
          .node(first, {"x"}, {"p"})
          .node("GlobalAveragePool", {"p"}, {"q"})
          .node("Relu", {"q"}, {out})
          .floats_out(out, {1, 3, 1, 1})
          .graph();
    };
    const Maker model = Maker()
                            .floats_in("x", {1, 3, 2, 2})
                            .node("ReduceMax", {"x"}, {"m"}, {attribute("keepdims", 0)})
                            .floats("limit", {}, {1})
                            .node("Less", {"limit", "m"}, {"go"})
                            .node("If", {"go"}, {"y"},
                                  {body("then_branch", branch("Abs", "t")), body("else_branch", branch("Neg", "e"))})
                            .floats_out("y", {1, 3, 1, 1});
    OrtSessionOptions* o = loop.options({{"claim", claim}});
    configure(s, o, {{"session.record_ep_graph_assignment_info", "1"}});
    run(s, loop, model.open(s, o), {1, 3, 2, 2});
  }
}

SCENE(loopback_together, channels_last_without_the_usual_operators) {
  Loop loop(s, {{"channels_last", "1"}});
  const Message type = tensor_type(1, {2});
  Message model, graph;  // Maker imports ai.onnx
  graph.message(1, Message().text(1, "x").text(2, "y").text(4, "QuickGelu").text(7, "com.microsoft")).text(2, "made");
  graph.message(11, Message().text(1, "x").message(2, type)).message(12, Message().text(1, "y").message(2, type));
  model.number(1, 10).message(7, graph).message(8, Message().text(1, "com.microsoft").number(2, 1));
  OrtSession* session = nullptr;
  const std::string bytes = model.bytes();
  CALL(CreateSessionFromArray, s.env(), bytes.data(), bytes.size(), loop.options(), &session);
  run(s, loop, session, {2});
}

namespace {

/// Inputs that share the name of an extent.
Maker tied() {
  return Maker().floats_in("a", {"n"}).floats_in("b", {"n"}).node("Add", {"a", "b"}, {"y"}).floats_out("y", {"n"});
}

}  // namespace

SCENE(loopback_together, captured_with_odd_inputs) {
  Loop loop(s);
  Binder b(s, tied(), loop.options({{"capture", "2"}}));
  OrtValue* big = loop.tensor(Where::device, {2}, {1, 2});
  b.in("a", big);
  b.in("b", loop.tensor(Where::device, {1}, {10}));
  b.out("y", loop.empty(Where::device, {2}));
  for (int i = 0; i < 3; ++i) {
    b.run();
    loop.note_counts("the run");
    loop.note(b);
    const OrtValue* from = loop.tensor(Where::host, {2}, {float(i), 5});
    CALL(CopyTensors, s.env(), &from, &big, nullptr, 1);
  }
}

SCENE(loopback_together, captured_with_a_value_of_the_model) {
  Loop loop(s);
  Binder b(s, tied().floats("b", {1}, {10}), loop.options({{"capture", "2"}}));
  b.in("a", loop.tensor(Where::device, {1}, {1}));
  b.out("y", loop.empty(Where::device, {1}));
  b.run();
  loop.note(b);
  b.in("b", loop.tensor(Where::device, {1}, {20}));
  b.run();
  loop.note(b);
  OrtRunOptions* other = nullptr;
  CALL(CreateRunOptions, &other);
  CALL(AddRunConfigEntry, other, "gpu_graph_id", "1");
  b.run(other);
  loop.note(b);
}

SCENE(loopback_together, captured_by_name_without_values) {
  Loop loop(s);
  OrtSession* session = tied().open(s, loop.options({{"capture", "2"}}));
  const OrtValue* in[2] = {loop.tensor(Where::device, {2}, {1, 2}), loop.tensor(Where::device, {2}, {10, 20})};
  const char *names[2] = {"a", "b"}, *out = "y";
  for (int i = 0; i < 3; ++i) {
    OrtValue* y = nullptr;
    CALL(Run, session, nullptr, names, in, 2, &out, 1, &y);
    loop.note_counts("a run");
    loop.note("y", y);
  }
}

SCENE(loopback_together, captured_and_kept) {
  Loop loop(s);
  const auto o = [&] { return loop.options({{"capture", "2"}}); };
  keep(s, loop, rows_of_two(), o(), {2, 2}, o());
}

SCENE(loopback_together, captured_with_channels_last) {
  Loop loop(s, {{"channels_last", "1"}});
  run(s, loop, images().open(s, loop.options({{"capture", "2"}})), {1, 3, 2, 2});
}

SCENE(loopback_together, odd_inputs_with_channels_last_and_contexts) {
  Loop loop(s, {{"channels_last", "1"}});
  const Folder folder;
  const Maker model = Maker()
                          .floats_in("a", {1, 3, "h", "w"})
                          .floats_in("b", {1, 3, "h", "w"})
                          .node("GlobalAveragePool", {"a"}, {"c"})
                          .node("GlobalAveragePool", {"b"}, {"d"})
                          .node("Add", {"c", "d"}, {"y"})
                          .floats_out("y", {1, 3, 1, 1});
  OrtSessionOptions* o = loop.options();
  configure(
      s, o,
      {{"ep.context_enable", "1"}, {"ep.context_embed_mode", "1"}, {"ep.context_file_path", folder / "ctx.onnx"}});
  OrtSession* session = model.open(s, o);
  if (!session) return;
  const char *names[2] = {"a", "b"}, *out = "y";
  for (int64_t h : {2, 1, 2}) {
    const OrtValue* in[2] = {loop.tensor(Where::host, {1, 3, 2, 2}, counted(12)),
                             loop.tensor(Where::host, {1, 3, h, 2}, counted(size_t(h) * 6))};
    OrtValue* y = nullptr;
    CALL(Run, session, nullptr, names, in, 2, &out, 1, &y);
    loop.note_counts("a run");
    loop.note("y", y);
  }
}

SCENE(loopback_together, captured_in_two_parts_for_several_shapes) {
  Loop loop(s);
  const Folder folder;
  const std::string file = folder / "ctx.onnx";
  OrtSessionOptions* first = loop.options({{"claim", "Mul"}});
  configure(s, first, {{"ep.context_enable", "1"}, {"ep.context_embed_mode", "1"}, {"ep.context_file_path", file}});
  rows_of_two().open(s, first);
  OrtSession* session = load(s, file, loop.options({{"capture", "2"}}));
  if (!session) return;
  OrtValue* x[2] = {};
  std::vector<Binder> bindings;
  for (int64_t rows : {1, 2000}) {
    const size_t i = bindings.size();
    bindings.emplace_back(s, session);
    x[i] = loop.tensor(Where::device, {rows, 2}, counted(size_t(rows) * 2));
    bindings[i].in("x", x[i]);
    bindings[i].out("y", loop.empty(Where::device, {rows, 2}));
  }
  for (size_t i : {0, 1, 0, 1, 0}) {
    OrtRunOptions* o = nullptr;
    CALL(CreateRunOptions, &o);
    CALL(AddRunConfigEntry, o, "gpu_graph_id", i ? "1" : "0");
    bindings[i].run(o);
    loop.note_counts("the run");
    if (i == 0) loop.note(bindings[i]);
    const OrtValue* from = loop.tensor(Where::host, {i ? 2000 : 1, 2}, std::vector<float>(i ? 4000 : 2, 2));
    CALL(CopyTensors, s.env(), &from, &x[i], nullptr, 1);
  }
}

SCENE(loopback_together, captured_by_name_from_the_host) {
  Loop loop(s);
  OrtSession* session = rows_of_two().open(s, loop.options({{"capture", "2"}}));
  for (float first : {1.f, 5.f}) {
    const OrtValue* x = loop.tensor(Where::host, {1, 2}, {first, 2});
    OrtValue* y = loop.tensor(Where::host, {1, 2}, {7, 7});
    const char *in = "x", *out = "y";
    CALL(Run, session, nullptr, &in, &x, 1, &out, 1, &y);
    loop.note("y", y);
  }
}
