// Sessions: loading, signatures, metadata.

#include <cstdio>

#include "folder.h"
#include "model_maker.h"
#include "models.h"

using namespace scenes;

namespace {

/// `text` is a reference, because the call that returns the code sets it.
void note_text(Scene& s, std::string_view key, OrtErrorCode code, char* const& text) {
  if (code != ORT_OK) return;
  s.note(key, text);
  OrtAllocator* a = s.allocator();
  if (text) a->Free(a, text);
}

void note_type(Scene& s, const OrtTypeInfo* info) {
  ONNXType kind = ONNXType(-7);
  CALL(GetOnnxTypeFromTypeInfo, info, &kind);
  s.note("kind", kind);
  const OrtTensorTypeAndShapeInfo* tensor = nullptr;
  CALL(CastTypeInfoToTensorInfo, info, &tensor);
  if (tensor) {
    ONNXTensorElementDataType type = ONNXTensorElementDataType(-7);
    size_t rank = 77;
    CALL(GetTensorElementType, tensor, &type);
    s.note("element type", type);
    CALL(GetDimensionsCount, tensor, &rank);
    std::vector<int64_t> dims(rank);
    std::vector<const char*> names(rank);
    CALL(GetDimensions, tensor, dims.data(), rank);
    CALL(GetSymbolicDimensions, tensor, names.data(), rank);
    for (size_t i = 0; i < rank; ++i) s.note("dim", std::to_string(dims[i]) + " " + names[i]);
    s.note("has shape", s.api.TensorTypeAndShape_HasShape(tensor));
  }
  const OrtSequenceTypeInfo* sequence = nullptr;
  CALL(CastTypeInfoToSequenceTypeInfo, info, &sequence);
  if (sequence) {
    OrtTypeInfo* element = nullptr;
    CALL(GetSequenceElementType, sequence, &element);
    note_type(s, element);
  }
  const OrtMapTypeInfo* map = nullptr;
  CALL(CastTypeInfoToMapTypeInfo, info, &map);
  if (map) {
    ONNXTensorElementDataType key = ONNXTensorElementDataType(-7);
    CALL(GetMapKeyType, map, &key);
    s.note("key", key);
    OrtTypeInfo* value = nullptr;
    CALL(GetMapValueType, map, &value);
    note_type(s, value);
  }
}

void describe(Scene& s, const OrtSession* session) {
  if (!session) return;
  size_t inputs = 77, outputs = 77, overridable = 77;
  CALL(SessionGetInputCount, session, &inputs);
  CALL(SessionGetOutputCount, session, &outputs);
  CALL(SessionGetOverridableInitializerCount, session, &overridable);
  s.note("inputs", inputs);
  s.note("outputs", outputs);
  s.note("overridable", overridable);
  for (size_t i = 0; i <= inputs; ++i) {
    char* name = nullptr;
    OrtTypeInfo* type = nullptr;
    note_text(s, "input", CALL(SessionGetInputName, session, i, s.allocator(), &name), name);
    if (CALL(SessionGetInputTypeInfo, session, i, &type) == ORT_OK) note_type(s, type);
    s.api.ReleaseTypeInfo(type);
  }
  for (size_t i = 0; i <= outputs; ++i) {
    char* name = nullptr;
    OrtTypeInfo* type = nullptr;
    note_text(s, "output", CALL(SessionGetOutputName, session, i, s.allocator(), &name), name);
    if (CALL(SessionGetOutputTypeInfo, session, i, &type) == ORT_OK) note_type(s, type);
    s.api.ReleaseTypeInfo(type);
  }
  char* name = nullptr;
  OrtTypeInfo* type = nullptr;
  CALL(SessionGetOverridableInitializerName, session, 0, s.allocator(), &name);
  CALL(SessionGetOverridableInitializerTypeInfo, session, 0, &type);
}

}  // namespace

SCENE(session, dense) { describe(s, open(s, "dense")); }
SCENE(session, types) { describe(s, open(s, "types")); }
SCENE(session, nonzero) { describe(s, open(s, "nonzero")); }
SCENE(session, zipmap) { describe(s, open(s, "zipmap")); }

SCENE(session, from_bytes) {
  std::string bytes = model_bytes("dense");
  OrtSession* session = nullptr;
  CALL(CreateSessionFromArray, s.env(), bytes.data(), bytes.size(), nullptr, &session);
  std::fill(bytes.begin(), bytes.end(), 'x');
  describe(s, session);
  s.api.ReleaseSession(session);
  s.api.ReleaseSession(nullptr);
}

SCENE(session, not_a_model) {
  OrtSession* session = nullptr;
  const std::string bytes = model_bytes("dense"), garbage(100, 'x');
  CALL(CreateSession, s.env(), "/does/not/exist.onnx", nullptr, &session);
  CALL(CreateSession, s.env(), "/", nullptr, &session);
  CALL(CreateSession, s.env(), "", nullptr, &session);
  CALL(CreateSessionFromArray, s.env(), garbage.data(), garbage.size(), nullptr, &session);
  CALL(CreateSessionFromArray, s.env(), bytes.data(), bytes.size() / 2, nullptr, &session);
  CALL(CreateSessionFromArray, s.env(), bytes.data(), 0, nullptr, &session);
  s.note("session", session);
}

SCENE(session, free_dimension) {
  OrtSessionOptions* o = s.options();
  CALL(AddFreeDimensionOverrideByName, o, "n", 5);
  CALL(AddFreeDimensionOverrideByName, o, "unknown", 5);
  describe(s, open(s, "dense", o));
}

// Any number below zero is an extent that is not known and has no name, even where two extents had the same name.
SCENE(session, negative_free_dimensions) {
  for (const int64_t extent : {-1, -2, -3, -77}) {
    OrtSessionOptions* o = s.options();
    CALL(AddFreeDimensionOverrideByName, o, "n", extent);
    CALL(AddFreeDimensionOverride, o, "DATA_BATCH", extent);
    OrtSession* session = scenes::Maker()
                              .floats_in("a", {"n", "m"})
                              .floats_in("b", {"m", "n"})
                              .node("Neg", {"a"}, {"c"})
                              .node("Abs", {"b"}, {"d"})
                              .floats_out("c", {"n", "m"})
                              .floats_out("d", {"m", "n"})
                              .open(s, o);
    float data[6] = {1, 2, 3, 4, 5, 6};
    const OrtValue* in[2] = {scenes::floats(s, data, {2, 3}), scenes::floats(s, data, {3, 1})};
    const char *ins[2] = {"a", "b"}, *outs[2] = {"c", "d"};
    OrtValue* out[2] = {};
    CALL(Run, session, nullptr, ins, in, 2, outs, 2, out);
    for (OrtValue* value : out) {
      if (value) scenes::note_tensor(s, "out", value);
      s.api.ReleaseValue(value);
    }
    s.api.ReleaseSession(session);
    describe(s, open(s, "denoted", o));
    s.api.ReleaseSessionOptions(o);
  }
}

SCENE(session, free_dimension_by_denotation) {
  OrtSessionOptions* o = s.options();
  CALL(AddFreeDimensionOverride, o, "DATA_BATCH", 5);
  CALL(AddFreeDimensionOverride, o, "DATA_NOTHING", 7);
  describe(s, open(s, "denoted", o));
  CALL(AddFreeDimensionOverride, o, "DATA_CHANNEL", 3);
  describe(s, open(s, "denoted", o));
}

SCENE(session, every_optimization_level) {
  for (int level : {0, 1, 2, 3, 99}) {
    OrtSessionOptions* o = s.options();
    CALL(SetSessionGraphOptimizationLevel, o, GraphOptimizationLevel(level));
    OrtSession* session = open(s, "dense", o);
    s.note("session", session);
  }
}

SCENE(session, cancelled) {
  OrtSessionOptions* o = s.options();
  CALL(SessionOptionsSetLoadCancellationFlag, o, true);
  s.note("session", open(s, "dense", o));
}

SCENE(session, shared_pool_that_is_not_there) {
  OrtSessionOptions* o = s.options();
  CALL(DisablePerSessionThreads, o);
  s.note("session", open(s, "dense", o));
}

SCENE(session, shared_pool) {
  OrtThreadingOptions* threads = nullptr;
  OrtEnv* env = nullptr;
  OrtSession* session = nullptr;
  CALL(CreateThreadingOptions, &threads);
  CALL(CreateEnvWithGlobalThreadPools, ORT_LOGGING_LEVEL_FATAL, "x", threads, &env);
  OrtSessionOptions* o = s.options();
  CALL(DisablePerSessionThreads, o);
  CALL(CreateSession, env, model_path("dense").c_str(), o, &session);
  s.note("session", session);
  s.api.ReleaseSession(session);
  s.api.ReleaseEnv(env);
}

SCENE(session, model_metadata) {
  OrtSession* session = open(s, "dense");
  OrtModelMetadata* m = nullptr;
  CALL(SessionGetModelMetadata, session, &m);
  char* text = nullptr;
  note_text(s, "producer", CALL(ModelMetadataGetProducerName, m, s.allocator(), &text), text);
  note_text(s, "graph", CALL(ModelMetadataGetGraphName, m, s.allocator(), &text), text);
  note_text(s, "domain", CALL(ModelMetadataGetDomain, m, s.allocator(), &text), text);
  note_text(s, "description", CALL(ModelMetadataGetDescription, m, s.allocator(), &text), text);
  note_text(s, "graph description", CALL(ModelMetadataGetGraphDescription, m, s.allocator(), &text), text);
  note_text(s, "made_by", CALL(ModelMetadataLookupCustomMetadataMap, m, s.allocator(), "made_by", &text), text);
  note_text(s, "missing", CALL(ModelMetadataLookupCustomMetadataMap, m, s.allocator(), "missing", &text), text);
  int64_t version = -7, n = -7;
  CALL(ModelMetadataGetVersion, m, &version);
  s.note("version", version);
  char** keys = nullptr;
  CALL(ModelMetadataGetCustomMetadataMapKeys, m, s.allocator(), &keys, &n);
  s.note("keys", n);
  for (int64_t i = 0; i < n; ++i) s.note("key", keys[i]);
  s.api.ReleaseModelMetadata(m);
  s.api.ReleaseModelMetadata(nullptr);
}

namespace {

void note_version(Scene& s, const OrtSession* session) {
  OrtModelMetadata* m = nullptr;
  int64_t version = -7;
  CALL(SessionGetModelMetadata, session, &m);
  CALL(ModelMetadataGetVersion, m, &version);
  s.note("version", version);
  s.api.ReleaseModelMetadata(m);
}

/// Notes the version of the model, then those of its copies in both formats.
void note_versions(Scene& s, const Maker& model) {
  const Folder folder;
  for (const char* format : {"ONNX", "ORT"}) {
    const std::string file = folder / "saved";
    OrtSessionOptions* o = s.options();
    CALL(SetOptimizedModelFilePath, o, file.c_str());
    CALL(AddSessionConfigEntry, o, "session.save_model_format", format);
    OrtSession* session = model.open(s, o);
    note_version(s, session);
    s.api.ReleaseSession(session);
    s.api.ReleaseSessionOptions(o);
    o = s.options();
    CALL(AddSessionConfigEntry, o, "session.load_model_format", format);
    CALL(CreateSession, s.env(), file.c_str(), o, &session);
    note_version(s, session);
    s.api.ReleaseSession(session);
    s.api.ReleaseSessionOptions(o);
  }
}

}  // namespace

SCENE(session, versions_of_models) {
  Maker model = Maker().floats_in("x", {2}).node("Neg", {"x"}, {"y"}).floats_out("y", {2});
  note_versions(s, model);
  for (const int64_t version : {0, 5, -3}) note_versions(s, model.version(version));
}

SCENE(session, allocators) {
  OrtSession* session = open(s, "dense");
  OrtMemoryInfo *cpu = nullptr, *cuda = nullptr, *arena = nullptr;
  CALL(CreateCpuMemoryInfo, OrtDeviceAllocator, OrtMemTypeDefault, &cpu);
  CALL(CreateCpuMemoryInfo, OrtArenaAllocator, OrtMemTypeDefault, &arena);
  CALL(CreateMemoryInfo, "Cuda", OrtDeviceAllocator, 0, OrtMemTypeDefault, &cuda);
  for (OrtMemoryInfo* info : {cpu, arena, cuda}) {
    OrtAllocator* a = nullptr;
    if (CALL(CreateAllocator, session, info, &a) != ORT_OK) continue;
    s.note("is the default", a == s.allocator());
    void* p = nullptr;
    CALL(AllocatorAlloc, a, 100, &p);
    s.note("p", p);
    CALL(AllocatorFree, a, p);
    const OrtMemoryInfo* of = nullptr;
    CALL(AllocatorGetInfo, a, &of);
    const char* name = nullptr;
    CALL(MemoryInfoGetName, of, &name);
    s.note("name", name);
    s.api.ReleaseAllocator(a);
  }
  s.api.ReleaseAllocator(nullptr);
}

SCENE(session, memory_of_ports) {
  OrtSession* session = open(s, "dense");
  const OrtMemoryInfo* infos[3] = {};
  CALL(SessionGetMemoryInfoForInputs, session, infos, 1);
  const char* name = nullptr;
  CALL(MemoryInfoGetName, infos[0], &name);
  s.note("input", name);
  CALL(SessionGetMemoryInfoForInputs, session, infos, 3);
  s.note("spare entry", infos[2]);
  CALL(SessionGetMemoryInfoForInputs, session, infos, 0);
  CALL(SessionGetMemoryInfoForOutputs, session, infos, 1);
  CALL(SessionGetMemoryInfoForOutputs, session, infos, 2);
  CALL(MemoryInfoGetName, infos[1], &name);
  s.note("output", name);
}

SCENE(session, prepacked_container) {
  OrtPrepackedWeightsContainer* container = nullptr;
  CALL(CreatePrepackedWeightsContainer, &container);
  OrtSession *a = nullptr, *b = nullptr;
  const std::string bytes = model_bytes("dense");
  CALL(CreateSessionWithPrepackedWeightsContainer, s.env(), model_path("dense").c_str(), nullptr, container, &a);
  CALL(CreateSessionFromArrayWithPrepackedWeightsContainer, s.env(), bytes.data(), bytes.size(), nullptr, container,
       &b);
  s.note("a", a);
  s.note("b", b);
  s.api.ReleaseSession(a);
  s.api.ReleaseSession(b);
  s.api.ReleasePrepackedWeightsContainer(container);
  s.api.ReleasePrepackedWeightsContainer(nullptr);
}

SCENE(session, profiling) {
  OrtSessionOptions* o = s.options();
  const Folder folder;
  const std::string prefix = folder / "profile";
  CALL(EnableProfiling, o, prefix.c_str());
  OrtSession* session = open(s, "dense", o);
  uint64_t start = 0;
  CALL(SessionGetProfilingStartTimeNs, session, &start);
  s.note("started", start != 0);
  char* file = nullptr;
  CALL(SessionEndProfiling, session, s.allocator(), &file);
  s.note("prefix", std::string_view(file ? file : "").starts_with(prefix));
  std::ifstream in(file ? file : "");
  s.note("begins", std::string(1, char(in.get())));
  std::remove(file);
  CALL(SessionEndProfiling, session, s.allocator(), &file);
  s.note("again", file);
}

SCENE(session, profiling_off) {
  OrtSession* session = open(s, "dense");
  char* file = nullptr;
  CALL(SessionEndProfiling, session, s.allocator(), &file);
  s.note("file", file);
}

SCENE(session, options_are_copied) {
  OrtSessionOptions* o = s.options();
  OrtSession* session = open(s, "dense", o);
  s.api.ReleaseSessionOptions(o);
  describe(s, session);
}

SCENE(session, initializer_of_the_caller) {
  float w[6] = {1, 0, 0, 1, 0, 0}, x[3] = {5, 6, 7};
  OrtSessionOptions* o = s.options();
  CALL(AddInitializer, o, "w", floats(s, w, {3, 2}));
  CALL(AddInitializer, o, "unknown", floats(s, w, {3, 2}));
  OrtSession* session = open(s, "dense", o);
  OrtValue *in = floats(s, x, {1, 3}), *out = nullptr;
  const char *names[1] = {"x"}, *outputs[1] = {"y"};
  CALL(Run, session, nullptr, names, &in, 1, outputs, 1, &out);
  note_tensor(s, "y", out);
}

SCENE(session, initializer_that_does_not_fit) {
  float w[6] = {};
  OrtSessionOptions* o = s.options();
  CALL(AddInitializer, o, "w", floats(s, w, {2, 3}));
  s.note("session", open(s, "dense", o));
}

SCENE(session, dynamic_options) {
  OrtSession* session = open(s, "dense");
  const char *keys[1] = {"ep.dynamic.workload_type"}, *values[1] = {"Efficient"};
  CALL(SetEpDynamicOptions, session, keys, values, 0);
  CALL(SetEpDynamicOptions, session, keys, values, 1);
  CALL(SessionReleaseCapturedGraph, session, 0);
}
