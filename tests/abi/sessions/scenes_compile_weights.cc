// Where the weights of a compiled model go: inside, into a file or a buffer, or where a callback says they are.
#include "compile.h"

using namespace scenes;

namespace {

void use(Scene& s) {
  scene = &s;
  api = &s.api;
}

/// What a location callback was asked, and what it answers.
struct Asked {
  std::vector<std::string> lines;
  const char* file = nullptr;  ///< where it says that "w" is; null: nowhere
  int64_t offset = 0;
  std::string content;
  OrtErrorCode fails = ORT_OK;

  static OrtStatus* locate(void* state, const char* name, const OrtValue* value, const OrtExternalInitializerInfo* info,
                           OrtExternalInitializerInfo** out) {
    Asked& a = *static_cast<Asked*>(state);
    std::string line = name;
    const void* data = nullptr;
    size_t size = 0;
    if (OrtStatus* status = api->GetTensorData(value, &data)) return status;
    if (OrtStatus* status = api->GetTensorSizeInBytes(value, &size)) return status;
    line += " " + std::to_string(size) + " bytes";
    if (info) {
      line += std::string(" in ") +
              std::filesystem::path(api->ExternalInitializerInfo_GetFilePath(info)).filename().string();
      line += " at " + std::to_string(api->ExternalInitializerInfo_GetFileOffset(info));
      line += " of " + std::to_string(api->ExternalInitializerInfo_GetByteSize(info));
    }
    a.lines.push_back(line);
    if (a.fails) return api->CreateStatus(a.fails, "no place for it");
    if (!a.file || std::string(name) != "w") return nullptr;
    a.content.assign(static_cast<const char*>(data), size);
    return api->CreateExternalInitializerInfo(a.file, a.offset, size, out);
  }
  void note(Scene& s) {
    std::sort(lines.begin(), lines.end());
    for (const std::string& line : lines) s.note("asked", line);
  }
};

}  // namespace

SCENE(compile_weights, file_by_threshold) {
  for (const size_t threshold : {size_t(0), size_t(8), size_t(9), size_t(24), size_t(25), size_t(1) << 40}) {
    const Folder folder;
    s.note("threshold", threshold);
    Compilation c(s);
    SET(SetInputModelPath, model_path("same_names").c_str());
    SET(SetOutputModelPath, (folder / "out.onnx").c_str());
    SET(SetOutputModelExternalInitializersFile, "w.bin", threshold);
    c.compile();
    s.note("files", folder.names());
    OrtSession* session = nullptr;
    CALL(CreateSession, s.env(), (folder / "out.onnx").c_str(), nullptr, &session);
    s.note("session", session);
  }
}

SCENE(compile_weights, file) {
  const Folder folder;
  Compilation c(s);
  SET(SetInputModelPath, model_path("dense").c_str());
  SET(SetOutputModelPath, (folder / "out.onnx").c_str());
  SET(SetOutputModelExternalInitializersFile, "w.bin", 20);
  c.compile();
  s.note("files", folder.names());
  run_file(s, folder / "out.onnx");
}

SCENE(compile_weights, file_names) {
  for (const char* name : {"sub/w.bin", "../w.bin", "/tmp/retort_scene_w.bin", ".", "out.onnx", "w"}) {
    const Folder folder;
    s.note("name", name);
    Compilation c(s);
    SET(SetInputModelPath, model_path("dense").c_str());
    SET(SetOutputModelPath, (folder / "out.onnx").c_str());
    SET(SetOutputModelExternalInitializersFile, name, 20);
    c.compile();
    s.note("files", folder.names());
  }
}

SCENE(compile_weights, file_of_a_model_in_a_buffer) {
  const Folder folder;
  std::filesystem::copy_file(model_path("dense"), folder / "dense.onnx");
  std::filesystem::current_path(folder / "");
  Compilation c(s);
  Buffer out;
  SET(SetInputModelPath, (folder / "dense.onnx").c_str());
  SET(SetOutputModelBuffer, s.allocator(), &out.data, &out.size);
  SET(SetOutputModelExternalInitializersFile, "w.bin", 20);
  c.compile();
  s.note("files", folder.names());
  s.note("out", out.data);
}

SCENE(compile_weights, buffer) {
  Compilation c(s);
  Buffer out, weights;
  SET(SetInputModelPath, model_path("dense").c_str());
  SET(SetOutputModelBuffer, s.allocator(), &out.data, &out.size);
  SET(SetOutputModelExternalInitializersBuffer, "w.bin", 20, s.allocator(), &weights.data, &weights.size);
  c.compile();
  s.note("weights", weights.data);
  s.note("size", weights.size);
  if (!weights.data) return;
  OrtSessionOptions* o = s.options();
  const char* names[] = {"w.bin"};
  char* files[] = {static_cast<char*>(weights.data)};
  const size_t sizes[] = {weights.size};
  CALL(AddExternalInitializersFromFilesInMemory, o, names, files, sizes, 1);
  run_bytes(s, out.str(), o);
}

SCENE(compile_weights, buffer_of_a_model_in_a_file) {
  const Folder folder;
  Compilation c(s);
  Buffer weights;
  SET(SetInputModelPath, model_path("dense").c_str());
  SET(SetOutputModelPath, (folder / "out.onnx").c_str());
  SET(SetOutputModelExternalInitializersBuffer, "w.bin", 20, s.allocator(), &weights.data, &weights.size);
  c.compile();
  s.note("files", folder.names());
  s.note("weights", weights.data);
  s.note("size", weights.size);
}

SCENE(compile_weights, buffer_of_nothing) {
  Compilation c(s);
  Buffer out, weights;
  weights.data = &weights;
  SET(SetInputModelPath, model_path("dense").c_str());
  SET(SetOutputModelBuffer, s.allocator(), &out.data, &out.size);
  SET(SetOutputModelExternalInitializersBuffer, "w.bin", 1000, s.allocator(), &weights.data, &weights.size);
  c.compile();
  s.note("weights", weights.data);
  s.note("size", weights.size);
  run_bytes(s, out.str());
}

SCENE(compile_weights, buffer_after_a_failure) {
  const std::string broken = "this is no model";
  Compilation c(s);
  Buffer out, weights;
  weights.data = &weights;
  SET(SetInputModelFromBuffer, broken.data(), broken.size());
  SET(SetOutputModelBuffer, s.allocator(), &out.data, &out.size);
  SET(SetOutputModelExternalInitializersBuffer, "w.bin", 0, s.allocator(), &weights.data, &weights.size);
  c.compile();
  s.note("out", out.data);
  s.note("out size", out.size);
  s.note("weights untouched", weights.data == &weights);
  s.note("size", weights.size);
}

SCENE(compile_weights, buffer_names) {
  for (const char* name : {"", "sub/w.bin", "../w.bin", "/tmp/w.bin", "."}) {
    Compilation c(s);
    Buffer out, weights;
    s.note("name", name);
    SET(SetInputModelPath, model_path("dense").c_str());
    SET(SetOutputModelBuffer, s.allocator(), &out.data, &out.size);
    SET(SetOutputModelExternalInitializersBuffer, name, 20, s.allocator(), &weights.data, &weights.size);
    c.compile();
    s.note("weights", weights.data);
  }
}

SCENE(compile_weights, file_and_buffer) {
  for (const bool file_last : {false, true}) {
    const Folder folder;
    Compilation c(s);
    Buffer weights;
    SET(SetInputModelPath, model_path("dense").c_str());
    SET(SetOutputModelPath, (folder / "out.onnx").c_str());
    if (!file_last) SET(SetOutputModelExternalInitializersFile, "w.bin", 20);
    SET(SetOutputModelExternalInitializersBuffer, "b.bin", 20, s.allocator(), &weights.data, &weights.size);
    if (file_last) SET(SetOutputModelExternalInitializersFile, "w.bin", 20);
    c.compile();
    s.note("files", folder.names());
    s.note("weights", weights.data);
    s.note("size", weights.size);
  }
}

SCENE(compile_weights, alignment) {
  for (const size_t alignment : {size_t(0), size_t(1), size_t(3), size_t(16), size_t(64), size_t(100), size_t(4096),
                                 size_t(1) << 20, size_t(1) << 32, size_t(1) << 63}) {
    s.note("alignment", std::to_string(alignment));
    Compilation c(s);
    Buffer out, weights;
    SET(SetInputModelPath, model_path("dense").c_str());
    SET(SetOutputModelBuffer, s.allocator(), &out.data, &out.size);
    SET(SetOutputModelExternalInitializersBuffer, "w.bin", 0, s.allocator(), &weights.data, &weights.size);
    SET(SetOutputModelExternalInitializersAlignment, alignment, 9);
    if (alignment > size_t(1) << 20) continue;
    c.compile();
    s.note("size", weights.size);
  }
}

SCENE(compile_weights, alignment_from_a_size_on) {
  for (const size_t least : {size_t(0), size_t(9), size_t(25)}) {
    Compilation c(s);
    Buffer out, weights;
    SET(SetInputModelPath, model_path("dense").c_str());
    SET(SetOutputModelBuffer, s.allocator(), &out.data, &out.size);
    SET(SetOutputModelExternalInitializersBuffer, "w.bin", 0, s.allocator(), &weights.data, &weights.size);
    SET(SetOutputModelExternalInitializersAlignment, 256, least);
    c.compile();
    s.note("size", weights.size);
  }
}

SCENE(compile_weights, alignment_alone) {
  const Folder folder;
  Compilation c(s);
  SET(SetInputModelPath, model_path("dense").c_str());
  SET(SetOutputModelPath, (folder / "out.onnx").c_str());
  SET(SetOutputModelExternalInitializersAlignment, 4096, 0);
  c.compile();
  s.note("files", folder.names());
}

SCENE(compile_weights, callback_keeps_them) {
  use(s);
  Compilation c(s);
  Buffer out;
  Asked asked;
  SET(SetInputModelPath, model_path("dense").c_str());
  SET(SetOutputModelBuffer, s.allocator(), &out.data, &out.size);
  SET(SetOutputModelGetInitializerLocationFunc, Asked::locate, &asked);
  c.compile();
  asked.note(s);
  run_bytes(s, out.str());
}

SCENE(compile_weights, callback_places_one) {
  use(s);
  const Folder folder;
  Compilation c(s);
  Asked asked;
  asked.file = "mine.bin";
  asked.offset = 8;
  SET(SetInputModelPath, model_path("dense").c_str());
  SET(SetOutputModelPath, (folder / "out.onnx").c_str());
  SET(SetOutputModelGetInitializerLocationFunc, Asked::locate, &asked);
  c.compile();
  asked.note(s);
  s.note("files", folder.names());
  std::ofstream(folder / "mine.bin", std::ios::binary) << "12345678" << asked.content;
  run_file(s, folder / "out.onnx");
}

SCENE(compile_weights, callback_places_one_wrongly) {
  use(s);
  for (const auto& [file, offset] : {std::pair{"mine.bin", int64_t(-8)}, std::pair{"", int64_t(0)}}) {
    Compilation c(s);
    Buffer out;
    Asked asked;
    asked.file = file;
    asked.offset = offset;
    SET(SetInputModelPath, model_path("dense").c_str());
    SET(SetOutputModelBuffer, s.allocator(), &out.data, &out.size);
    SET(SetOutputModelGetInitializerLocationFunc, Asked::locate, &asked);
    c.compile();
    s.note("out", out.data);
    s.note("size", out.data ? 1 : out.size);
  }
}

SCENE(compile_weights, callback_fails) {
  use(s);
  Compilation c(s);
  Buffer out;
  Asked asked;
  asked.fails = ORT_EP_FAIL;
  SET(SetInputModelPath, model_path("dense").c_str());
  SET(SetOutputModelBuffer, s.allocator(), &out.data, &out.size);
  SET(SetOutputModelGetInitializerLocationFunc, Asked::locate, &asked);
  c.compile();
  s.note("asked", asked.lines.size());
  s.note("out", out.data);
  s.note("size", out.size);
}

SCENE(compile_weights, callback_of_weights_outside) {
  use(s);
  for (const char* level : {"0", "1"}) {
    Compilation c(s);
    Buffer out;
    Asked asked;
    SET(SetInputModelPath, model_path("scopes").c_str());
    SET(SetOutputModelBuffer, s.allocator(), &out.data, &out.size);
    SET(SetGraphOptimizationLevel, GraphOptimizationLevel(atoi(level)));
    SET(SetOutputModelGetInitializerLocationFunc, Asked::locate, &asked);
    c.compile();
    asked.note(s);
  }
}

SCENE(compile_weights, callback_and_file) {
  use(s);
  for (const bool callback_last : {false, true}) {
    const Folder folder;
    Compilation c(s);
    Asked asked;
    SET(SetInputModelPath, model_path("dense").c_str());
    SET(SetOutputModelPath, (folder / "out.onnx").c_str());
    if (callback_last) SET(SetOutputModelExternalInitializersFile, "w.bin", 20);
    SET(SetOutputModelGetInitializerLocationFunc, Asked::locate, &asked);
    if (!callback_last) SET(SetOutputModelExternalInitializersFile, "w.bin", 20);
    c.compile();
    s.note("files", folder.names());
    s.note("asked", asked.lines.size());
  }
}

SCENE(compile_weights, outside_in_the_input) {
  const Folder folder;
  for (const bool placed : {false, true}) {
    Compilation c(s);
    SET(SetInputModelPath, model_path("scopes").c_str());
    SET(SetOutputModelPath, (folder / "out.onnx").c_str());
    if (placed) SET(SetOutputModelExternalInitializersFile, "w.bin", 0);
    c.compile();
    s.note("files", folder.names());
    OrtSession* session = nullptr;
    CALL(CreateSession, s.env(), (folder / "out.onnx").c_str(), nullptr, &session);
    s.note("session", session);
    s.api.ReleaseSession(session);
  }
}
