// Models compiled ahead of time: where they come from and where they go. The processor compiles no nodes: what is written
// is the model.
#include "compile.h"
#include "editor.h"

using namespace scenes;

namespace {

std::string copy_of_dense(const Folder& folder) {
  std::string to = folder / "dense.onnx";
  std::filesystem::copy_file(model_path("dense"), to);
  return to;
}

OrtModel* doubled(Editor& e) {
  OrtGraph* g = e.graph();
  e.inputs(g, {e.value("x", {-1, 2})});
  e.outputs(g, {e.value("y", {-1, 2})});
  e.initializer(g, "w", e.tensor({1, 2}, 1));
  e.add(g, "Mul", {"x", "w"}, {"y"}, "doubling");
  return e.model(g);
}

void use(Scene& s) {
  scene = &s;
  api = &s.api;
}

}  // namespace

SCENE(compile, path_to_path) {
  const Folder folder;
  Compilation c(s);
  SET(SetInputModelPath, model_path("dense").c_str());
  SET(SetOutputModelPath, (folder / "out.onnx").c_str());
  c.compile();
  s.note("files", folder.names());
  run_file(s, folder / "out.onnx");
}

SCENE(compile, buffer_to_buffer) {
  Compilation c(s);
  const std::string bytes = model_bytes("dense");
  Buffer out;
  SET(SetInputModelFromBuffer, bytes.data(), bytes.size());
  SET(SetOutputModelBuffer, s.allocator(), &out.data, &out.size);
  s.note("before", out.size);
  c.compile();
  s.note("made", out.data);
  run_bytes(s, out.str());
  CALL(AllocatorFree, s.allocator(), out.data);
}

SCENE(compile, path_to_write_function) {
  use(s);
  Compilation c(s);
  Written out;
  SET(SetInputModelPath, model_path("dense").c_str());
  SET(SetOutputModelWriteFunc, Written::write, &out);
  c.compile();
  s.note("called", out.calls > 0);
  run_bytes(s, out.bytes);
}

SCENE(compile, write_function_fails) {
  use(s);
  Compilation c(s);
  Written out;
  out.fail_at = 0;
  SET(SetInputModelPath, model_path("dense").c_str());
  SET(SetOutputModelWriteFunc, Written::write, &out);
  c.compile();
  s.note("calls", out.calls);
  s.note("bytes", out.bytes.size());
}

SCENE(compile, made_model) {
  const Folder folder;
  Editor e(s);
  OrtModel* m = doubled(e);
  Compilation c(s);
  SET(SetInputModel, m);
  SET(SetOutputModelPath, (folder / "out.onnx").c_str());
  c.compile();
  s.api.ReleaseModel(m);
  OrtSession* session = nullptr;
  CALL(CreateSession, s.env(), (folder / "out.onnx").c_str(), nullptr, &session);
  e.run(session, {"x"}, {e.tensor({2, 2}, 3)}, {"y"});
}

SCENE(compile, made_model_without_output) {
  Editor e(s);
  OrtModel* m = doubled(e);
  Compilation c(s);
  SET(SetInputModel, m);
  c.compile();
  s.api.ReleaseModel(m);
}

SCENE(compile, twice_with_the_same_options) {
  const Folder folder;
  Compilation c(s);
  SET(SetInputModelPath, model_path("dense").c_str());
  SET(SetOutputModelPath, (folder / "out.onnx").c_str());
  c.compile();
  c.compile();
  run_file(s, folder / "out.onnx");
}

SCENE(compile, nothing_set) {
  Compilation c(s);
  c.compile();
}

SCENE(compile, no_input) {
  const Folder folder;
  Compilation c(s);
  SET(SetOutputModelPath, (folder / "out.onnx").c_str());
  c.compile();
  s.note("files", folder.names());
}

SCENE(compile, no_output) {
  const Folder folder;
  const std::string model = copy_of_dense(folder);
  Compilation c(s);
  SET(SetInputModelPath, model.c_str());
  c.compile();
  s.note("files", folder.names());
  for (const bool again : {false, true}) {
    s.note("again", again);
    c.compile();
  }
  if (folder.has("dense_ctx.onnx")) run_file(s, folder / "dense_ctx.onnx");
}

SCENE(compile, no_output_of_a_name_without_suffix) {
  const Folder folder;
  for (const char* name : {"plain", "two.dots.onnx", "dots.d.bin", ".hidden"}) {
    std::filesystem::copy_file(model_path("dense"), folder / name);
    Compilation c(s);
    SET(SetInputModelPath, (folder / name).c_str());
    c.compile();
  }
  s.note("files", folder.names());
}

SCENE(compile, no_output_of_a_buffer) {
  Compilation c(s);
  const std::string bytes = model_bytes("dense");
  SET(SetInputModelFromBuffer, bytes.data(), bytes.size());
  c.compile();
}

SCENE(compile, several_inputs) {
  const Folder folder;
  const std::string bytes = model_bytes("scalar");
  Editor e(s);
  OrtModel* m = doubled(e);
  for (int last = 0; last < 3; ++last) {
    s.note("last", last);
    Compilation c(s);
    for (int k = 1; k <= 3; ++k) {
      const int kind = (last + k) % 3;
      if (kind == 0) SET(SetInputModelPath, model_path("dense").c_str());
      if (kind == 1) SET(SetInputModelFromBuffer, bytes.data(), bytes.size());
      if (kind == 2) SET(SetInputModel, m);
    }
    SET(SetOutputModelPath, (folder / "out.onnx").c_str());
    c.compile();
    OrtSession* session = nullptr;
    CALL(CreateSession, s.env(), (folder / "out.onnx").c_str(), nullptr, &session);
    char* name = nullptr;
    if (session) CALL(SessionGetInputName, session, 0, s.allocator(), &name);
    if (session) s.note("input", name);
    s.api.ReleaseSession(session);
  }
  s.api.ReleaseModel(m);
}

SCENE(compile, several_outputs) {
  use(s);
  const Folder folder;
  for (int last = 0; last < 3; ++last) {
    s.note("last", last);
    Compilation c(s);
    Buffer buffer;
    Written written;
    SET(SetInputModelPath, model_path("dense").c_str());
    for (int k = 1; k <= 3; ++k) {
      const int kind = (last + k) % 3;
      if (kind == 0) SET(SetOutputModelPath, (folder / ("out" + std::to_string(last) + ".onnx")).c_str());
      if (kind == 1) SET(SetOutputModelBuffer, s.allocator(), &buffer.data, &buffer.size);
      if (kind == 2) SET(SetOutputModelWriteFunc, Written::write, &written);
    }
    c.compile();
    s.note("files", folder.names());
    s.note("buffer", buffer.data);
    s.note("size", buffer.size ? (buffer.size == 77 ? "as it was" : "set") : "0");
    s.note("written", written.calls > 0);
  }
}

SCENE(compile, output_is_the_input) {
  const Folder folder;
  const std::string model = copy_of_dense(folder);
  Compilation c(s);
  SET(SetInputModelPath, model.c_str());
  SET(SetOutputModelPath, model.c_str());
  c.compile();
  run_file(s, model);
}

SCENE(compile, output_exists) {
  const Folder folder;
  for (const uint32_t flags : {0u, 2u}) {
    s.note("flags", flags);
    std::ofstream(folder / "out.onnx") << "old";
    Compilation c(s);
    SET(SetInputModelPath, model_path("dense").c_str());
    SET(SetOutputModelPath, (folder / "out.onnx").c_str());
    SET(SetFlags, flags);
    c.compile();
    s.note("old", Folder::read(folder / "out.onnx") == "old");
  }
}

SCENE(compile, default_output_exists) {
  const Folder folder;
  const std::string model = copy_of_dense(folder);
  for (const uint32_t flags : {0u, 2u}) {
    std::ofstream(folder / "dense_ctx.onnx") << "old";
    Compilation c(s);
    SET(SetInputModelPath, model.c_str());
    SET(SetFlags, flags);
    c.compile();
    s.note("old", Folder::read(folder / "dense_ctx.onnx") == "old");
  }
}

SCENE(compile, error_if_no_nodes_are_compiled) {
  const Folder folder;
  for (const uint32_t flags : {1u, 3u}) {
    Compilation c(s);
    Buffer buffer;
    SET(SetInputModelPath, model_path("dense").c_str());
    if (flags == 1u)
      SET(SetOutputModelPath, (folder / "out.onnx").c_str());
    else
      SET(SetOutputModelBuffer, s.allocator(), &buffer.data, &buffer.size);
    SET(SetFlags, flags);
    c.compile();
    s.note("files", folder.names());
    s.note("buffer", buffer.data);
    s.note("size", buffer.size);
  }
}

SCENE(compile, unknown_flags) {
  for (const uint32_t flags : {4u, 0x80000000u, ~0u}) {
    Compilation c(s);
    Buffer buffer;
    SET(SetInputModelPath, model_path("dense").c_str());
    SET(SetOutputModelBuffer, s.allocator(), &buffer.data, &buffer.size);
    SET(SetFlags, flags);
    c.compile();
  }
}

SCENE(compile, unwritable) {
  for (const char* path : {"/does/not/exist/out.onnx", "/tmp"}) {
    Compilation c(s);
    SET(SetInputModelPath, model_path("dense").c_str());
    SET(SetOutputModelPath, path);
    c.compile();
  }
}

SCENE(compile, unreadable) {
  const Folder folder;
  for (const char* path : {"/does/not/exist.onnx", "/tmp"}) {
    Compilation c(s);
    SET(SetInputModelPath, path);
    SET(SetOutputModelPath, (folder / "out.onnx").c_str());
    c.compile();
  }
  const std::string broken = "this is no model";
  Compilation c(s);
  Buffer out;
  SET(SetInputModelFromBuffer, broken.data(), broken.size());
  SET(SetOutputModelBuffer, s.allocator(), &out.data, &out.size);
  c.compile();
  s.note("files", folder.names());
  s.note("out", out.data);
  s.note("size", out.size);
}

SCENE(compile, empty_names) {
  Compilation c(s);
  SET(SetInputModelPath, "");
  SET(SetOutputModelPath, "");
  SET(SetOutputModelExternalInitializersFile, "", 0);
  SET(SetEpContextBinaryInformation, "", "");
  SET(SetEpContextBinaryInformation, "/tmp", "");
  SET(SetEpContextBinaryInformation, "", "model");
  SET(SetInputModelFromBuffer, "", 0);
  c.compile();
}

SCENE(compile, null_arguments) {
  Compilation c(s);
  void* data = &c;
  size_t size = 77;
  SET(SetInputModelPath, nullptr);
  SET(SetInputModelFromBuffer, nullptr, 10);
  SET(SetInputModelFromBuffer, nullptr, 0);
  SET(SetInputModel, nullptr);
  SET(SetOutputModelPath, nullptr);
  SET(SetOutputModelBuffer, nullptr, &data, &size);
  SET(SetOutputModelBuffer, s.allocator(), nullptr, &size);
  SET(SetOutputModelBuffer, s.allocator(), &data, nullptr);
  SET(SetOutputModelWriteFunc, nullptr, nullptr);
  SET(SetOutputModelGetInitializerLocationFunc, nullptr, nullptr);
  SET(SetOutputModelExternalInitializersFile, nullptr, 0);
  SET(SetEpContextBinaryInformation, nullptr, "model");
  SET(SetEpContextBinaryInformation, "/tmp", nullptr);
  SET(SetEpContextDataWriteFunc, nullptr, nullptr);
  SET(SetOutputModelExternalInitializersBuffer, nullptr, 0, s.allocator(), &data, &size);
  SET(SetOutputModelExternalInitializersBuffer, "w.bin", 0, nullptr, &data, &size);
  SET(SetOutputModelExternalInitializersBuffer, "w.bin", 0, s.allocator(), nullptr, &size);
  SET(SetOutputModelExternalInitializersBuffer, "w.bin", 0, s.allocator(), &data, nullptr);
  s.note("data untouched", data == &c);
  s.note("size", size);
  c.compile();
  s.call("no env", c.api.CompileModel(nullptr, c.options));
  s.call("no options", c.api.CompileModel(s.env(), nullptr));
  OrtModelCompilationOptions* none = nullptr;
  OrtSessionOptions* o = s.options();
  s.call("no env", c.api.CreateModelCompilationOptionsFromSessionOptions(nullptr, o, &none));
  s.call("no options", c.api.CreateModelCompilationOptionsFromSessionOptions(s.env(), nullptr, &none));
  s.call("no out", c.api.CreateModelCompilationOptionsFromSessionOptions(s.env(), o, nullptr));
  s.note("none", none);
  c.api.ReleaseModelCompilationOptions(nullptr);
}

SCENE(compile, levels) {
  for (const int level : {0, 1, 2, 3, 99, 4, -1}) {
    Compilation c(s);
    Buffer out;
    SET(SetInputModelPath, model_path("dense").c_str());
    SET(SetOutputModelBuffer, s.allocator(), &out.data, &out.size);
    SET(SetGraphOptimizationLevel, GraphOptimizationLevel(level));
    c.compile();
    if (out.data) run_bytes(s, out.str());
  }
}

SCENE(compile, from_ort_format) {
  const Folder folder;
  for (const char* name : {"out.onnx", "out.ort"}) {
    Compilation c(s);
    SET(SetInputModelPath, RETORT_ORT_MODEL);
    SET(SetOutputModelPath, (folder / name).c_str());
    c.compile();
    s.note("files", folder.names());
  }
}

SCENE(compile, to_ort_format) {
  const Folder folder;
  for (const Config& config : {Config{}, Config{{"session.save_model_format", "ORT"}}}) {
    Compilation c(s, config);
    SET(SetInputModelPath, model_path("dense").c_str());
    SET(SetOutputModelPath, (folder / "out.ort").c_str());
    c.compile();
    const std::string bytes = Folder::read(folder / "out.ort");
    s.note("is ORT format", bytes.size() > 8 && bytes.substr(4, 4) == "ORTM");
    run_bytes(s, bytes);
  }
}
