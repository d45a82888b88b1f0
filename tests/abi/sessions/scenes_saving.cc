// Models that a session saves: in which format, under which name, with weights where; and what comes of loading them.
#include "custom.h"
#include "folder.h"

using namespace scenes;

namespace {

constexpr const char* kSave = "session.save_model_format";
constexpr const char* kFile = "session.optimized_model_external_initializers_file_name";
constexpr const char* kLeast = "session.optimized_model_external_initializers_min_size_in_bytes";

bool is_ort(const std::string& file) {
  const std::string bytes = Folder::read(file);
  return bytes.size() > 8 && bytes.substr(4, 4) == "ORTM";
}

using Config = std::vector<std::pair<const char*, std::string>>;

/// Saves `model` under `file` in a session with that configuration.
void save(Scene& s, const char* model, const std::string& file, const Config& config = {},
          GraphOptimizationLevel level = ORT_DISABLE_ALL) {
  OrtSessionOptions* o = s.options();
  CALL(SetSessionGraphOptimizationLevel, o, level);
  CALL(SetOptimizedModelFilePath, o, file.c_str());
  for (const auto& [key, value] : config) CALL(AddSessionConfigEntry, o, key, value.c_str());
  OrtSession* session = open(s, model, o);
  s.note("session", session);
  s.api.ReleaseSession(session);
}

/// Saves what stands in one file under the name of another.
void save_again(Scene& s, const std::string& from, const std::string& to) {
  OrtSessionOptions* o = s.options();
  CALL(SetOptimizedModelFilePath, o, to.c_str());
  OrtSession* session = nullptr;
  CALL(CreateSession, s.env(), from.c_str(), o, &session);
  s.api.ReleaseSession(session);
}

void run_dense(Scene& s, const std::string& file) {
  OrtSession* session = nullptr;
  CALL(CreateSession, s.env(), file.c_str(), nullptr, &session);
  float data[6] = {1, 2, 3, -1, 0, 4};
  run(s, session, {"x"}, {floats(s, data, {2, 3})}, {"y", "s"});
  s.api.ReleaseSession(session);
}

}  // namespace

SCENE(saving, formats) {
  const Folder folder;
  const std::pair<std::string, std::string> all[] = {{"a.ort", ""},     {"b.onnx", ""},   {"c.onnx", "ORT"},
                                                     {"d.ort", "ONNX"}, {"e.bin", "ORT"}, {"f.ORT", ""}};
  for (const auto& [name, format] : all) {
    s.note("file", name);
    save(s, "dense", folder / name, format.empty() ? Config{} : Config{{kSave, format}});
    s.note("is ORT format", is_ort(folder / name));
    if (name != "c.onnx" && name != "d.ort" && name != "e.bin") run_dense(s, folder / name);
  }
  s.note("files", folder.names());
}

SCENE(saving, unknown_format) {
  const Folder folder;
  save(s, "dense", folder / "a.onnx", {{kSave, "TXT"}});
}

SCENE(saving, levels_of_ort_format) {
  const Folder folder;
  for (const auto level : {ORT_DISABLE_ALL, ORT_ENABLE_BASIC, ORT_ENABLE_EXTENDED, ORT_ENABLE_ALL}) {
    save(s, "dense", folder / "a.ort", {}, level);
    run_dense(s, folder / "a.ort");
  }
}

SCENE(saving, ort_format_again) {
  const Folder folder;
  save(s, "dense", folder / "a.ort");
  save_again(s, folder / "a.ort", folder / "b.ort");
  s.note("files", folder.names());
  run_dense(s, folder / "b.ort");
}

SCENE(saving, over_itself) {
  const Folder folder;
  save(s, "dense", folder / "a.ort");
  save_again(s, folder / "a.ort", folder / "a.ort");
  run_dense(s, folder / "a.ort");
}

SCENE(saving, weights_beside) {
  const Folder folder;
  save(s, "dense", folder / "a.onnx", {{kFile, "w.bin"}, {kLeast, "16"}});
  s.note("files", folder.names());
  run_dense(s, folder / "a.onnx");
}

SCENE(saving, ort_format_with_weights_beside) {
  const Folder folder;
  save(s, "dense", folder / "a.ort", {{kFile, "w.bin"}, {kLeast, "16"}});
  s.note("files", folder.names());
  run_dense(s, folder / "a.ort");
}

SCENE(saving, bodies) {
  const Folder folder;
  save(s, "scopes", folder / "a.ort");
  OrtSession* session = nullptr;
  CALL(CreateSession, s.env(), (folder / "a.ort").c_str(), nullptr, &session);
  s.note("session", session);
}

SCENE(saving, custom_operators) {
  const Folder folder;
  scene = &s;
  api = &s.api;
  Op op("Scale", {{kFloat}, {kFloat, INPUT_OUTPUT_OPTIONAL}, {kFloat}}, {{kFloat}});
  op.compute = [](OrtKernelContext* context) -> OrtStatus* {
    const LikeInput io(context);
    void* y = nullptr;
    NOTED(GetTensorMutableData, io.y, &y);
    for (size_t i = 0; i < count_of(io.shape); ++i) static_cast<float*>(y)[i] = 3 * floats_of(io.x)[i];
    return nullptr;
  };
  OrtCustomOpDomain* domain = nullptr;
  CALL(CreateCustomOpDomain, "test", &domain);
  CALL(CustomOpDomain_Add, domain, &op);
  for (const bool saves : {true, false}) {
    OrtSessionOptions* o = s.options();
    CALL(AddCustomOpDomain, o, domain);
    if (saves) CALL(SetOptimizedModelFilePath, o, (folder / "a.ort").c_str());
    OrtSession* session = nullptr;
    const std::string file = saves ? model_path("custom_scale") : folder / "a.ort";
    CALL(CreateSession, s.env(), file.c_str(), o, &session);
    float data[6] = {1, 2, 3, 4, 5, 6};
    run(s, session, {"x"}, {floats(s, data, {2, 3})}, {"y"});
    s.api.ReleaseSession(session);
  }
}
