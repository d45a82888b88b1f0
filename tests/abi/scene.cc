#include "scene.h"

#include <unistd.h>

#include <cstring>

namespace scenes {

std::vector<Registered>& registry() {
  static std::vector<Registered> all;
  return all;
}

void Scene::write(std::string line) {
  for (char& c : line) c = c == '\n' ? ' ' : c;
  line += '\n';
  for (size_t done = 0; done < line.size();) {
    const ssize_t n = ::write(out_, line.data() + done, line.size() - done);
    if (n <= 0) _exit(3);
    done += size_t(n);
  }
}

void Scene::note(std::string_view key, std::string_view value) { write(std::string(key) + " = " + std::string(value)); }

OrtErrorCode Scene::call(std::string_view name, OrtStatus* status) {
  const OrtErrorCode code = status ? api.GetErrorCode(status) : ORT_OK;
  note(name, code);
  if (status) {
    write("#   " + std::string(api.GetErrorMessage(status)));
    api.ReleaseStatus(status);
  }
  return code;
}

OrtEnv* Scene::env() {
  if (!env_) call("CreateEnv", api.CreateEnv(ORT_LOGGING_LEVEL_FATAL, "scene", &env_));
  return env_;
}

OrtAllocator* Scene::allocator() {
  OrtAllocator* allocator = nullptr;
  call("GetAllocatorWithDefaultOptions", api.GetAllocatorWithDefaultOptions(&allocator));
  return allocator;
}

OrtSessionOptions* Scene::options() {
  OrtSessionOptions* options = nullptr;
  call("CreateSessionOptions", api.CreateSessionOptions(&options));
  return options;
}

const OrtEpDevice* Scene::device(const char* provider) {
  const OrtEpDevice* const* all = nullptr;
  size_t n = 0;
  api.ReleaseStatus(api.GetEpDevices(env(), &all, &n));
  for (size_t i = 0; i < n; ++i) {
    if (std::strcmp(api.EpDevice_EpName(all[i]), provider) == 0) return all[i];
  }
  return nullptr;
}

}  // namespace scenes
