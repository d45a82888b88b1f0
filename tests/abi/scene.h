// Scenes: short programs that only use the C interface. Each is run on two libraries, in separate processes, and must
// leave the same transcript on both.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "retort/onnxruntime_c_api.h"

namespace scenes {

/// What a scene uses: the library, and a transcript with lines "key = value". A line that starts with '#' is a comment
/// (the text of a message): it is shown but not compared.
class Scene {
 public:
  Scene(const OrtApiBase* base, int out) : base(base), api(newest(base)), out_(out) {}

  const OrtApiBase* base;
  const OrtApi& api;

  void note(std::string_view key, std::string_view value);
  void note(std::string_view key, const char* value) { note(key, value ? std::string_view(value) : "null"); }
  void note(std::string_view key, const void* value) { note(key, value ? "not null" : "null"); }
  template <typename T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void note(std::string_view key, T value) {
    if constexpr (std::is_floating_point_v<T>) {
      note(key, std::string_view(std::to_string(value)));
    } else {
      note(key, std::string_view(std::to_string(int64_t(value))));
    }
  }
  /// Notes the code of a status, and releases it.
  OrtErrorCode call(std::string_view name, OrtStatus* status);

  /// The environment, made on first use; the default allocator; new session options.
  OrtEnv* env();
  OrtAllocator* allocator();
  OrtSessionOptions* options();
  /// The device of a provider of the environment; null if there is none.
  const OrtEpDevice* device(const char* provider);

 private:
  /// An older official library has a shorter table, and ends a scene that calls what it lacks.
  static const OrtApi& newest(const OrtApiBase* base) {
    const OrtApi* found = nullptr;
    for (uint32_t version = ORT_API_VERSION; !found && version > 0; --version) found = base->GetApi(version);
    return *found;
  }
  void write(std::string line);
  int out_;
  OrtEnv* env_ = nullptr;
};

using Story = void (*)(Scene&);

struct Registered {
  std::string name;
  Story story;
};
std::vector<Registered>& registry();

struct Register {
  Register(std::string name, Story story) { registry().push_back({std::move(name), story}); }
};

}  // namespace scenes

/// SCENE(group, name) { … s.call … }
#define SCENE(GROUP, NAME)                                                                     \
  static void GROUP##_##NAME(::scenes::Scene& s);                                              \
  static const ::scenes::Register register_##GROUP##_##NAME(#GROUP "." #NAME, GROUP##_##NAME); \
  static void GROUP##_##NAME(::scenes::Scene& s)

/// Calls a slot of OrtApi and notes the code of its status.
#define CALL(SLOT, ...) s.call(#SLOT, s.api.SLOT(__VA_ARGS__))
