// What only providers that compile make use of: contexts, weightless models, and the keys of sessions that ask for them.
#include "compile.h"

using namespace scenes;

namespace {

OrtStatus* write_named(void*, const char*, const void*, size_t) { return nullptr; }

std::string copied(const Folder& folder) {
  std::string to = folder / "dense.onnx";
  std::filesystem::copy_file(model_path("dense"), to);
  return to;
}

/// A session on a copy of dense.onnx; notes the files beside it.
void session_with(Scene& s, const Folder& folder, const std::string& model, const Config& config,
                  bool from_bytes = false) {
  OrtSessionOptions* o = s.options();
  for (const auto& [key, value] : config) CALL(AddSessionConfigEntry, o, key, value.c_str());
  OrtSession* session = nullptr;
  if (from_bytes) {
    const std::string bytes = Folder::read(model);
    CALL(CreateSessionFromArray, s.env(), bytes.data(), bytes.size(), o, &session);
  } else {
    CALL(CreateSession, s.env(), model.c_str(), o, &session);
  }
  if (session) run_dense(s, session);
  s.note("files", folder.names());
}

}  // namespace

SCENE(compile_context, embed_mode) {
  for (const bool embed : {false, true}) {
    Compilation c(s);
    Buffer out;
    SET(SetInputModelPath, model_path("dense").c_str());
    SET(SetOutputModelBuffer, s.allocator(), &out.data, &out.size);
    SET(SetEpContextEmbedMode, embed);
    c.compile();
    run_bytes(s, out.str());
  }
}

SCENE(compile_context, binary_information) {
  const Folder folder;
  for (const bool path_first : {false, true}) {
    Compilation c(s);
    SET(SetInputModelPath, model_path("dense").c_str());
    if (path_first) SET(SetOutputModelPath, (folder / "out.onnx").c_str());
    SET(SetEpContextBinaryInformation, (folder / "").c_str(), "named");
    if (!path_first) SET(SetOutputModelPath, (folder / "out2.onnx").c_str());
    c.compile();
    s.note("files", folder.names());
  }
}

SCENE(compile_context, binary_information_alone) {
  const Folder folder;
  const std::string model = copied(folder);
  Compilation c(s);
  SET(SetInputModelPath, model.c_str());
  SET(SetEpContextBinaryInformation, (folder / "").c_str(), "named.onnx");
  c.compile();
  s.note("files", folder.names());
  Compilation d(s);
  Buffer out;
  s.call("input", d.api.ModelCompilationOptions_SetInputModelPath(d.options, model.c_str()));
  s.call("information", d.api.ModelCompilationOptions_SetEpContextBinaryInformation(d.options, "/does/not/exist", "n"));
  s.call("output", d.api.ModelCompilationOptions_SetOutputModelBuffer(d.options, s.allocator(), &out.data, &out.size));
  d.compile();
  s.note("out", out.data);
}

SCENE(compile_context, weightless) {
  for (const bool weightless : {false, true}) {
    Compilation c(s);
    Buffer out;
    SET(SetInputModelPath, model_path("dense").c_str());
    SET(SetOutputModelBuffer, s.allocator(), &out.data, &out.size);
    SET(SetWeightlessEnabled, weightless);
    c.compile();
    if (out.data) run_bytes(s, out.str());
  }
}

SCENE(compile_context, data_write_function) {
  for (const bool cleared : {false, true}) {
    Compilation c(s);
    Buffer out;
    SET(SetInputModelPath, model_path("dense").c_str());
    SET(SetOutputModelBuffer, s.allocator(), &out.data, &out.size);
    SET(SetEpContextDataWriteFunc, write_named, &out);
    if (cleared) SET(SetEpContextDataWriteFunc, nullptr, nullptr);
    c.compile();
    if (out.data) run_bytes(s, out.str());
  }
}

SCENE(compile_context, session_options_with_keys) {
  const Folder folder;
  const Config all[] = {{{"ep.context_enable", "0"}},
                        {{"ep.context_enable", "1"}},
                        {{"ep.context_file_path", folder / "by_key.onnx"}},
                        {{"ep.context_embed_mode", "1"}},
                        {{"ep.context_model_external_initializers_file_name", "key.bin"}},
                        {{"session.disable_model_compile", "1"}}};
  for (const Config& config : all) {
    Compilation c(s, config);
    SET(SetInputModelPath, model_path("dense").c_str());
    SET(SetOutputModelPath, (folder / "out.onnx").c_str());
    c.compile();
    s.note("files", folder.names());
  }
}

SCENE(compile_context, session_options_change_afterwards) {
  const OrtCompileApi& api = *s.api.GetCompileApi();
  const Folder folder;
  OrtSessionOptions* o = s.options();
  OrtModelCompilationOptions* made = nullptr;
  s.call("create", api.CreateModelCompilationOptionsFromSessionOptions(s.env(), o, &made));
  CALL(AddSessionConfigEntry, o, "session.load_model_format", "ORT");
  s.api.ReleaseSessionOptions(o);
  s.call("input", api.ModelCompilationOptions_SetInputModelPath(made, model_path("dense").c_str()));
  s.call("output", api.ModelCompilationOptions_SetOutputModelPath(made, (folder / "out.onnx").c_str()));
  s.call("compile", api.CompileModel(s.env(), made));
  s.note("files", folder.names());
  api.ReleaseModelCompilationOptions(made);
}

SCENE(compile_context, optimized_model_too) {
  const OrtCompileApi& api = *s.api.GetCompileApi();
  const Folder folder;
  OrtSessionOptions* o = s.options();
  CALL(SetOptimizedModelFilePath, o, (folder / "optimized.onnx").c_str());
  OrtModelCompilationOptions* made = nullptr;
  s.call("create", api.CreateModelCompilationOptionsFromSessionOptions(s.env(), o, &made));
  s.call("input", api.ModelCompilationOptions_SetInputModelPath(made, model_path("dense").c_str()));
  s.call("output", api.ModelCompilationOptions_SetOutputModelPath(made, (folder / "out.onnx").c_str()));
  s.call("compile", api.CompileModel(s.env(), made));
  s.note("files", folder.names());
  api.ReleaseModelCompilationOptions(made);
}

SCENE(compile_context, sessions_that_ask_for_a_context) {
  const Config all[] = {{{"ep.context_enable", "1"}},
                        {{"ep.context_enable", "2"}},
                        {{"ep.context_enable", "1"}, {"ep.context_embed_mode", "1"}},
                        {{"ep.context_enable", "1"}, {"ep.context_embed_mode", "7"}},
                        {{"ep.context_enable", "1"}, {"ep.context_file_path", "/does/not/exist/ctx.onnx"}},
                        {{"ep.context_enable", "1"}, {"ep.context_node_name_prefix", "part_"}},
                        {{"ep.context_enable", "1"}, {"ep.context_model_external_initializers_file_name", "w.bin"}},
                        {{"ep.share_ep_contexts", "1"}, {"ep.stop_share_ep_contexts", "1"}},
                        {{"ep.context_source_model_path", "/does/not/exist.onnx"}},
                        {{"session.compile_only", "1"}},
                        {{"session.disable_model_compile", "1"}},
                        {{"ep.enable_weightless_ep_context_nodes", "1"}, {"ep.context_enable", "1"}},
                        {{"session.fail_on_suboptimal_compiled_model", "1"}}};
  for (const Config& config : all) {
    const Folder folder;
    session_with(s, folder, copied(folder), config);
  }
}

SCENE(compile_context, session_writes_where_it_is_told) {
  const Folder folder;
  const std::string model = copied(folder);
  for (const bool from_bytes : {false, true}) {
    session_with(s, folder, model, {{"ep.context_enable", "1"}, {"ep.context_file_path", folder / "told.onnx"}},
                 from_bytes);
    session_with(s, folder, model, {{"ep.context_enable", "1"}}, from_bytes);
    session_with(s, folder, model, {{"ep.context_enable", "1"}, {"ep.context_file_path", model}}, from_bytes);
  }
}
