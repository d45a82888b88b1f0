// The loopback provider: compiled parts that are saved in a model as EPContext nodes, and loaded again.
#include "compile.h"
#include "loop/loop.h"

using namespace scenes;

namespace {

Maker model() {
  return Maker()
      .floats_in("x", {2})
      .floats("w", {2}, {3, 4})
      .integers("axis", {1}, {0})
      .node("Mul", {"x", "w"}, {"a"})
      .node("Abs", {"a"}, {"b"})
      .node("ReduceSum", {"b", "axis"}, {"c"})
      .node("Sub", {"b", "c"}, {"y"})
      .floats_out("y", {2});
}

struct Settings {
  bool inside = true;
  uint32_t flags = OrtCompileApiFlags_NONE;
  GraphOptimizationLevel level = ORT_DISABLE_ALL;
};

std::string compiled(Scene& s, OrtSessionOptions* session, const Settings& settings = {}) {
  const OrtCompileApi& api = *s.api.GetCompileApi();
  OrtModelCompilationOptions* options = nullptr;
  Buffer out;
  const std::string source = model().bytes();
  const auto ok = [&](OrtStatus* status) {
    if (status) s.note("# message", s.api.GetErrorMessage(status));
    s.note("compiling succeeds", !status);
    s.api.ReleaseStatus(status);
  };
  ok(api.CreateModelCompilationOptionsFromSessionOptions(s.env(), session, &options));
  ok(api.ModelCompilationOptions_SetInputModelFromBuffer(options, source.data(), source.size()));
  ok(api.ModelCompilationOptions_SetOutputModelBuffer(options, s.allocator(), &out.data, &out.size));
  ok(api.ModelCompilationOptions_SetEpContextEmbedMode(options, settings.inside));
  ok(api.ModelCompilationOptions_SetFlags(options, settings.flags));
  ok(api.ModelCompilationOptions_SetGraphOptimizationLevel(options, settings.level));
  ok(api.CompileModel(s.env(), options));
  api.ReleaseModelCompilationOptions(options);
  std::string bytes = out.str();
  s.note("parts are in it", bytes.find("EPContext") != std::string::npos);
  return bytes;
}

void run(Scene& s, Loop& loop, OrtSession* session) {
  s.note("session", static_cast<const void*>(session));
  if (!session) return;
  float x[2] = {1, -2};
  loop.run(session, floats(s, x, {2}));
}

void load(Scene& s, Loop& loop, const std::string& bytes, OrtSessionOptions* options) {
  OrtSession* session = nullptr;
  loop.forget();
  CALL(CreateSessionFromArray, s.env(), bytes.data(), bytes.size(), options, &session);
  s.note("compiled parts", loop.counts().compiled);
  run(s, loop, session);
}

/// The same bytes with a text replaced by another of the same length.
std::string changed(std::string bytes, std::string_view from, std::string_view to) {
  const size_t at = bytes.find(from);
  return at == std::string::npos ? bytes : bytes.replace(at, from.size(), to);
}

/// A scene with a compiled model.
#define STORY(NAME)                                                 \
  static void NAME(Scene& s, Loop& loop, const std::string& saved); \
  SCENE(loopback_context, NAME) {                                   \
    Loop loop(s);                                                   \
    NAME(s, loop, compiled(s, loop.options()));                     \
  }                                                                 \
  static void NAME(Scene& s, [[maybe_unused]] Loop& loop, [[maybe_unused]] const std::string& saved)

}  // namespace

STORY(saved_and_loaded) { load(s, loop, saved, loop.options()); }

STORY(without_the_provider) { load(s, loop, saved, s.options()); }

STORY(with_the_other_provider) { load(s, loop, saved, loop.options({}, Where::device2)); }

STORY(of_another_version) {
  load(s, loop, changed(saved, "loopback-program-1 ", "loopback-program-7 "), loop.options());
}

STORY(that_is_broken) {
  load(s, loop, changed(saved, "ReduceSum ", "ReduceProd"), loop.options());
  load(s, loop, changed(saved, "Mul 0 0 2 0 1", "Mul 0 0 2 0 9"), loop.options());
  load(s, loop, changed(saved, "loopback-program-1 1 1 ", "loopback-program-1 9 1 "), loop.options());
}

STORY(compatibility) {
  char* info = nullptr;
  CALL(GetCompatibilityInfoFromModelBytes, saved.data(), saved.size(), "loopback", s.allocator(), &info);
  s.note("info", info);
  const OrtEpDevice* device = loop.device();
  for (const char* text : {"loopback-program-1", "loopback-program-7", ""}) {
    OrtCompiledModelCompatibility answer = OrtCompiledModelCompatibility(-7);
    CALL(GetModelCompatibilityForEpDevices, &device, 1, text, &answer);
    s.note("answer", answer);
  }
}

STORY(beside_the_model) {
  const Folder folder;
  OrtSessionOptions* options = loop.options();
  CALL(AddSessionConfigEntry, options, "ep.context_enable", "1");
  CALL(AddSessionConfigEntry, options, "ep.context_embed_mode", "0");
  CALL(AddSessionConfigEntry, options, "ep.context_file_path", (folder / "ctx.onnx").c_str());
  OrtSession* session = model().open(s, options);
  run(s, loop, session);
  s.note("the model is there", folder.has("ctx.onnx"));
  s.note("files", std::distance(std::filesystem::directory_iterator(folder / ""), {}));
  session = nullptr;
  CALL(CreateSession, s.env(), (folder / "ctx.onnx").c_str(), loop.options(), &session);
  run(s, loop, session);
}

STORY(failures) {
  for (const char* fail : {"Compile", "CreateState"}) {
    loop.set("fail", fail);
    load(s, loop, saved, loop.options());
    loop.set("fail", "");
  }
}

SCENE(loopback_context, of_an_optimised_model) {
  Loop loop(s);
  load(s, loop, compiled(s, loop.options(), {.level = ORT_ENABLE_ALL}), loop.options());
}

SCENE(loopback_context, of_nothing) {
  Loop loop(s);
  OrtSessionOptions* none = loop.options({{"claim", "none"}});
  load(s, loop, compiled(s, none), s.options());
  compiled(s, none, {.flags = OrtCompileApiFlags_ERROR_IF_NO_NODES_COMPILED});
  compiled(s, loop.options(), {.flags = OrtCompileApiFlags_ERROR_IF_NO_NODES_COMPILED});
}

SCENE(loopback_context, of_kernels) {
  Loop loop(s, {{"style", "kernels"}});
  load(s, loop, compiled(s, loop.options()), loop.options());
}

SCENE(loopback_context, of_two_providers) {
  Loop loop(s);
  const auto both = [&] {
    OrtSessionOptions* o = loop.options({{"claim", "Mul"}});
    loop.add_provider(o, Where::device2, {{"claim", "ReduceSum"}});
    return o;
  };
  load(s, loop, compiled(s, both()), both());
}

SCENE(loopback_context, compiled_again) {
  Loop loop(s);
  const std::string saved = compiled(s, loop.options());
  const Folder folder;
  OrtSessionOptions* options = loop.options();
  CALL(AddSessionConfigEntry, options, "ep.context_enable", "1");
  CALL(AddSessionConfigEntry, options, "ep.context_file_path", (folder / "again.onnx").c_str());
  load(s, loop, saved, options);
  s.note("the model is there", folder.has("again.onnx"));
}

SCENE(loopback_context, nothing_to_keep) {
  Loop loop(s);
  const Folder folder;
  OrtSessionOptions* options = loop.options({{"claim", "none"}});
  CALL(AddSessionConfigEntry, options, "ep.context_enable", "1");
  CALL(AddSessionConfigEntry, options, "ep.context_file_path", (folder / "none.onnx").c_str());
  run(s, loop, model().open(s, options));
  s.note("the model is there", folder.has("none.onnx"));
}
