// The file of a profile, as scripts read it.
#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "editor.h"
#include "folder.h"
#include "model_maker.h"

using namespace scenes;
using nlohmann::json;

namespace {

constexpr std::string_view kExecutor = "SequentialExecutor::Execute";

bool is_number(const std::string& text) {
  size_t read = 0;
  std::stoll(text, &read);
  return read == text.size();
}

std::string text_of(const json& value) { return value.is_string() ? std::string(value) : value.dump(); }

Message named(std::string_view name, std::string_view type, const std::vector<std::string>& in, std::string_view out) {
  Message n;
  for (const std::string& i : in) n.text(1, i);
  return n.text(2, out).text(3, name).text(4, type);
}

std::string model() {
  Message graph = Maker()
                      .floats_in("x", {"n", 2})
                      .floats("w", {2, 2}, {1, 2, 3, 4})
                      .floats("b", {2}, {1, 2})
                      .output("y", tensor_type(7, {2}))
                      .graph();
  graph.message(1, named("transposed", "Transpose", {"x"}, "t"))
      .message(1, named("back", "Transpose", {"t"}, "u"))
      .message(1, named("product", "MatMul", {"u", "w"}, "p"))
      .message(1, named("sum", "Add", {"p", "b"}, "s"))
      .message(1, named("result", "Shape", {"s"}, "y"));
  return Message().number(1, 10).message(7, graph).message(8, Message().text(1, "").number(2, 17)).bytes();
}

json events_of(Scene& s, OrtSession* session) {
  char* path = nullptr;
  CALL(SessionEndProfiling, session, s.allocator(), &path);
  std::ifstream file(path ? path : "");
  return json::parse(file, nullptr, false);
}

json profile(Scene& s, GraphOptimizationLevel level) {
  const Folder folder;
  OrtSessionOptions* o = s.options();
  CALL(EnableProfiling, o, (folder / "profile").c_str());
  CALL(SetSessionGraphOptimizationLevel, o, level);
  const std::string bytes = model();
  OrtSession* session = nullptr;
  CALL(CreateSessionFromArray, s.env(), bytes.data(), bytes.size(), o, &session);
  float data[6] = {1, 2, 3, 4, 5, 6};
  const OrtValue* x = floats(s, data, {3, 2});
  const char *in = "x", *out = "y";
  OrtValue* y = nullptr;
  CALL(Run, session, nullptr, &in, &x, 1, &out, 1, &y);
  s.api.ReleaseValue(y);
  return events_of(s, session);
}

/// Notes the events before the first run, in the order of their times, and that none begins before the last has ended.
void note_loading(Scene& s, std::string_view of, OrtSession* session) {
  json events = events_of(s, session);
  std::sort(events.begin(), events.end(), [](const json& a, const json& b) { return a["ts"] < b["ts"]; });
  int64_t end = 0;
  s.note("# of", of);
  for (const json& event : events) {
    s.note("event", event.value("name", ""));
    s.note("after the last", event["ts"] >= end);
    end = event["ts"].get<int64_t>() + event["dur"].get<int64_t>();
  }
}

void note_form(Scene& s, const json& event) {
  for (const char* key : {"pid", "tid", "ts", "dur"})
    s.note(key, event.contains(key) && event[key].is_number_integer() && event[key] >= 0);
  s.note("ph", event.value("ph", ""));
  s.note("args", event.contains("args") && event["args"].is_object());
}

}  // namespace

SCENE(profile, of_a_plain_run) {
  const json events = profile(s, ORT_DISABLE_ALL);
  s.note("a list", events.is_array());
  for (const json& event : events) {
    const std::string name = event.value("name", ""), category = event.value("cat", "");
    if (category == "Session" && (name == "session_initialization" || name == "model_run" || name == kExecutor)) {
      s.note("session", name);
      note_form(s, event);
    }
    if (category != "Node" || !name.ends_with("_kernel_time")) continue;
    s.note("node", name);
    note_form(s, event);
    const json& args = event["args"];
    for (const char* key : {"op_name", "provider", "node_index", "output_type_shape", "output_size"})
      s.note(key, args.contains(key) ? text_of(args[key]) : "missing");
    // Weights that a kernel has packed are no longer inputs.
    const bool packs = name.starts_with("product");
    for (const char* key : {"input_type_shape", "activation_size", "parameter_size"})
      s.note(key, !args.contains(key) ? "missing" : packs ? "there" : text_of(args[key]));
    for (const char* key : {"mem_arena_held", "mem_bytes_in_use", "mem_bytes_requested_in_use", "mem_in_use_peak"})
      s.note(key, args.contains(key) && args[key].is_string() && std::stoll(std::string(args[key])) >= 0);
    for (const char* key : {"mem_arena_held_delta", "mem_in_use_delta", "mem_requested_in_use_delta"})
      s.note(key, args.contains(key) && args[key].is_string() && is_number(std::string(args[key])));
    s.note("ran somewhere", args.contains("thread_scheduling_stats") &&
                                args["thread_scheduling_stats"]["main_thread"].contains("thread_id"));
  }
}

SCENE(profile, of_loading) {
  const Folder folder;
  const std::string bytes = model(), onnx = folder / "model.onnx", ort = folder / "model.ort";
  std::ofstream(onnx) << bytes;
  OrtSessionOptions* saving = s.options();
  CALL(SetOptimizedModelFilePath, saving, ort.c_str());
  CALL(AddSessionConfigEntry, saving, "session.save_model_format", "ORT");
  OrtSession* saver = nullptr;
  CALL(CreateSession, s.env(), onnx.c_str(), saving, &saver);

  OrtSessionOptions* o = s.options();
  CALL(EnableProfiling, o, (folder / "profile").c_str());
  for (const std::string& file : {onnx, ort}) {
    OrtSession* session = nullptr;
    CALL(CreateSession, s.env(), file.c_str(), o, &session);
    note_loading(s, file == onnx ? "a file" : "a file in ORT format", session);
  }
  OrtSession* session = nullptr;
  CALL(CreateSessionFromArray, s.env(), bytes.data(), bytes.size(), o, &session);
  note_loading(s, "bytes", session);
  Editor e(s);
  OrtModel* built = e.model(affine(e));
  note_loading(s, "a model that was built in memory", e.session(built, o));
  s.api.ReleaseModel(built);
}

// What a fused step is called is each library's own; every script can sum it up by operator.
SCENE(profile, of_an_optimised_run) {
  const json events = profile(s, ORT_ENABLE_ALL);
  size_t nodes = 0, named = 0;
  for (const json& event : events) {
    const std::string name = event.value("name", "");
    if (event.value("cat", "") != "Node" || !name.ends_with("_kernel_time")) continue;
    ++nodes;
    named += event["args"].contains("op_name") && event["args"]["op_name"].is_string();
  }
  s.note("nodes", nodes > 0 && nodes < 5);
  s.note("all have an operator", named == nodes);
}
