// Models in ORT format: tests/clients/data/dense.onnx as official ONNX Runtime saves it without optimisations.
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "models.h"

using scenes::Scene;

namespace {

constexpr const char* kLoad = "session.load_model_format";
constexpr const char* kDirectly = "session.use_ort_model_bytes_directly";
constexpr const char* kInitializers = "session.use_ort_model_bytes_for_initializers";

std::string bytes_of(const char* path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string ort_bytes() { return bytes_of(RETORT_ORT_MODEL); }

void run(Scene& s, OrtSession* session) {
  if (!session) return;
  float data[6] = {1, 2, 3, -1, 0, 4};
  const OrtValue* input = scenes::floats(s, data, {2, 3});
  const char *in = "x", *out[] = {"y", "s"};
  OrtValue* outputs[2] = {};
  CALL(Run, session, nullptr, &in, &input, 1, out, 2, outputs);
  scenes::note_tensor(s, "y", outputs[0]);
  scenes::note_tensor(s, "s", outputs[1]);
}

/// Makes a session from bytes with options, and uses it after the bytes are freed unless `keep`.
void from_bytes(Scene& s, std::string bytes, const std::vector<std::pair<const char*, const char*>>& config,
                bool keep = false) {
  s.env();
  OrtSessionOptions* o = s.options();
  for (const auto& [key, value] : config) CALL(AddSessionConfigEntry, o, key, value);
  OrtSession* session = nullptr;
  CALL(CreateSessionFromArray, s.env(), bytes.data(), bytes.size(), o, &session);
  if (!keep) std::memset(bytes.data(), 0xff, bytes.size());
  run(s, session);
  s.api.ReleaseSession(session);
}

}  // namespace

SCENE(ort_format, from_path) {
  OrtSession* session = nullptr;
  CALL(CreateSession, s.env(), RETORT_ORT_MODEL, nullptr, &session);
  run(s, session);
}

SCENE(ort_format, from_bytes) { from_bytes(s, ort_bytes(), {}); }
SCENE(ort_format, from_bytes_directly) { from_bytes(s, ort_bytes(), {{kDirectly, "1"}}); }
SCENE(ort_format, from_lent_bytes) { from_bytes(s, ort_bytes(), {{kDirectly, "1"}, {kInitializers, "1"}}, true); }
SCENE(ort_format, initializers_lent_alone) { from_bytes(s, ort_bytes(), {{kInitializers, "1"}}); }
SCENE(ort_format, onnx_bytes_directly) {
  from_bytes(s, scenes::model_bytes("dense"), {{kDirectly, "1"}, {kInitializers, "1"}}, true);
}

SCENE(ort_format, named) {
  for (const char* name : {"ORT", "ONNX", ""}) {
    s.note("format", name);
    from_bytes(s, ort_bytes(), {{kLoad, name}});
    from_bytes(s, scenes::model_bytes("dense"), {{kLoad, name}});
  }
}

SCENE(ort_format, named_otherwise) { from_bytes(s, ort_bytes(), {{kLoad, "ort"}}); }

SCENE(ort_format, named_of_a_path) {
  for (const char* path : {RETORT_ORT_MODEL, RETORT_MODELS "/dense.onnx"}) {
    for (const char* name : {"ORT", "ONNX"}) {
      OrtSessionOptions* o = s.options();
      CALL(AddSessionConfigEntry, o, kLoad, name);
      OrtSession* session = nullptr;
      CALL(CreateSession, s.env(), path, o, &session);
      run(s, session);
    }
  }
}

SCENE(ort_format, levels) {
  for (auto level : {ORT_DISABLE_ALL, ORT_ENABLE_BASIC, ORT_ENABLE_ALL}) {
    OrtSessionOptions* o = s.options();
    CALL(SetSessionGraphOptimizationLevel, o, level);
    OrtSession* session = nullptr;
    CALL(CreateSession, s.env(), RETORT_ORT_MODEL, o, &session);
    run(s, session);
  }
}

SCENE(ort_format, ports_and_metadata) {
  OrtSession* session = nullptr;
  CALL(CreateSession, s.env(), RETORT_ORT_MODEL, nullptr, &session);
  size_t n = 0;
  char* text = nullptr;
  CALL(SessionGetInputCount, session, &n);
  s.note("inputs", n);
  CALL(SessionGetOverridableInitializerCount, session, &n);
  s.note("overridable", n);
  CALL(SessionGetOutputName, session, 1, s.allocator(), &text);
  s.note("output", text);
  OrtTypeInfo* type = nullptr;
  CALL(SessionGetInputTypeInfo, session, 0, &type);
  const OrtTensorTypeAndShapeInfo* shape = nullptr;
  CALL(CastTypeInfoToTensorInfo, type, &shape);
  const char* symbols[2] = {};
  CALL(GetSymbolicDimensions, shape, symbols, 2);
  s.note("first", symbols[0]);
  OrtModelMetadata* metadata = nullptr;
  CALL(SessionGetModelMetadata, session, &metadata);
  int64_t version = 0;
  CALL(ModelMetadataGetVersion, metadata, &version);
  s.note("version", version);
  for (auto get :
       {&OrtApi::ModelMetadataGetProducerName, &OrtApi::ModelMetadataGetGraphName, &OrtApi::ModelMetadataGetDomain,
        &OrtApi::ModelMetadataGetDescription, &OrtApi::ModelMetadataGetGraphDescription}) {
    s.call("get", (s.api.*get)(metadata, s.allocator(), &text));
    s.note("text", text);
  }
  CALL(ModelMetadataLookupCustomMetadataMap, metadata, s.allocator(), "made_by", &text);
  s.note("made_by", text);
}

SCENE(ort_format, versions) {
  const std::string good = ort_bytes(), version = std::string("\x01\0\0\0", 4) + std::string("6\0", 2);
  const size_t at = good.rfind(version);
  s.note("found", at != good.npos);
  for (char digit : {'0', '1', '2', '3', '4', '5', '6', '7'}) {
    std::string other = good;
    other[at + 4] = digit;
    from_bytes(s, other, {});
  }
}

SCENE(ort_format, broken) {
  const std::string good = ort_bytes();
  for (size_t size : {size_t(8), size_t(9), size_t(40), good.size() / 2, good.size() - 4}) {
    from_bytes(s, good.substr(0, size), {});
  }
}

SCENE(ort_format, saving) {
  OrtSessionOptions* o = s.options();
  CALL(SetOptimizedModelFilePath, o, "/does/not/exist/saved.ort");
  OrtSession* session = nullptr;
  CALL(CreateSession, s.env(), RETORT_ORT_MODEL, o, &session);
  s.note("session", session);
}
