// Compilations in scenes: options for one model, and runs of the result.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "custom.h"
#include "folder.h"

namespace scenes {

using Config = std::vector<std::pair<const char*, std::string>>;

/// Calls a slot of OrtCompileApi on the options of a Compilation `c`, and notes the code of its status.
#define SET(SLOT, ...) c.s.call(#SLOT, c.api.ModelCompilationOptions_##SLOT(c.options __VA_OPT__(, ) __VA_ARGS__))

struct Compilation {
  explicit Compilation(Scene& scene, const Config& config = {}) : s(scene), api(*scene.api.GetCompileApi()) {
    OrtSessionOptions* o = s.options();
    for (const auto& [key, value] : config) CALL(AddSessionConfigEntry, o, key, value.c_str());
    s.call("Create", api.CreateModelCompilationOptionsFromSessionOptions(s.env(), o, &options));
    s.api.ReleaseSessionOptions(o);
  }
  ~Compilation() { api.ReleaseModelCompilationOptions(options); }
  Compilation(const Compilation&) = delete;

  void compile() { s.call("CompileModel", api.CompileModel(s.env(), options)); }

  Scene& s;
  const OrtCompileApi& api;
  OrtModelCompilationOptions* options = nullptr;
};

/// Runs a session of dense.onnx and notes the results.
inline void run_dense(Scene& s, OrtSession* session) {
  float data[6] = {1, 2, 3, -1, 0, 4};
  run(s, session, {"x"}, {floats(s, data, {2, 3})}, {"y", "s"});
  s.api.ReleaseSession(session);
}

inline void run_file(Scene& s, const std::string& file, const OrtSessionOptions* options = nullptr) {
  OrtSession* session = nullptr;
  CALL(CreateSession, s.env(), file.c_str(), options, &session);
  run_dense(s, session);
}

inline void run_bytes(Scene& s, const std::string& bytes, const OrtSessionOptions* options = nullptr) {
  OrtSession* session = nullptr;
  CALL(CreateSessionFromArray, s.env(), bytes.data(), bytes.size(), options, &session);
  run_dense(s, session);
}

/// The pieces that a write function receives.
struct Written {
  std::string bytes;
  size_t calls = 0;
  size_t fail_at = ~size_t(0);  ///< the call that returns an error
  static OrtStatus* write(void* state, const void* buffer, size_t size) {
    Written& w = *static_cast<Written*>(state);
    if (w.calls++ == w.fail_at) return api->CreateStatus(ORT_EP_FAIL, "the disk is full");
    w.bytes.append(static_cast<const char*>(buffer), size);
    return nullptr;
  }
};

/// An output in memory of an allocator.
struct Buffer {
  void* data = nullptr;
  size_t size = 77;
  std::string str() const { return data ? std::string(static_cast<const char*>(data), size) : std::string(); }
};

}  // namespace scenes
