// A plug-in library for tests: a provider with memory of three kinds (general, pinned, and for constants), which
// reports which object is asked for allocators and what they allocate: one line each, in `lending_story`. It compiles
// each Mul to a part. `lending_set` chooses its answers.
#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include "host_device.h"

using namespace plugins;

namespace {

std::mutex mutex;
std::vector<std::string> story;
std::map<std::string, std::string> settings;
std::atomic<int> providers{0}, blocks{0};  ///< that exist

void tell(std::string line) {
  const std::lock_guard lock(mutex);
  story.push_back(std::move(line));
}
std::string setting(const std::string& key) {
  const auto found = settings.find(key);
  return found == settings.end() ? std::string() : found->second;
}

// Its memory
// ---------------------------------------------------------------------------------------------------------------------

struct Kind {
  const char* name;
  OrtDeviceMemoryType memory;
  OrtAllocatorType allocator;
};
constexpr Kind kKinds[] = {{"LendingDefault", OrtDeviceMemoryType_DEFAULT, OrtDeviceAllocator},
                           {"LendingPinned", OrtDeviceMemoryType_HOST_ACCESSIBLE, OrtDeviceAllocator},
                           {"LendingConstants", OrtDeviceMemoryType_DEFAULT, OrtReadOnlyAllocator}};
constexpr uint32_t kVendor = 0x1e4d;

std::string kind_of(const OrtMemoryInfo* info) {
  OrtAllocatorType allocator = OrtDeviceAllocator;
  api->ReleaseStatus(api->MemoryInfoGetType(info, &allocator));
  const bool pinned = api->MemoryInfoGetDeviceMemType(info) == OrtDeviceMemoryType_HOST_ACCESSIBLE;
  return allocator == OrtReadOnlyAllocator ? "constants" : pinned ? "pinned" : "default";
}

/// An allocator: its owner, its kind, and its number.
struct Lent : OrtAllocator {
  const OrtMemoryInfo* info;
  const std::string name;
  Lent(const OrtMemoryInfo* of, std::string called) : OrtAllocator{}, info(of), name(std::move(called)) {
    version = 23;
    Alloc = [](OrtAllocator* a, size_t size) -> void* {
      tell("block of " + static_cast<Lent*>(a)->name);
      ++blocks;
      return std::malloc(size ? size : 1);
    };
    Free = [](OrtAllocator*, void* p) {
      if (p) --blocks;
      std::free(p);
    };
    Info = [](const OrtAllocator* a) { return static_cast<const Lent*>(a)->info; };
  }
};

/// The answer of `who` when it is asked for an allocator. Settings are "ep" and "factory", alone or followed by
/// ".default", ".pinned" or ".constants"; values are "null" and "fails".
OrtStatus* lend(const std::string& who, const OrtMemoryInfo* info, OrtAllocator** made) {
  static int numbers = 0;
  const std::string kind = kind_of(info);
  const std::string special = setting(who + "." + kind), answer = special.empty() ? setting(who) : special;
  *made = nullptr;
  if (answer == "fails") tell(who + " fails to make " + kind);
  if (answer == "fails") return error("no such memory today");
  if (answer != "null") {
    const std::string name = kind + " of " + who + " " + std::to_string(++numbers);
    *made = new Lent(info, name);
  }
  tell(who + " makes " + (*made ? static_cast<Lent*>(*made)->name : kind + " null"));
  return nullptr;
}

/// The options of an allocator, but for the address of the provider.
void tell_options(const OrtKeyValuePairs* options) {
  const char *const *keys = nullptr, *const *values = nullptr;
  size_t count = 0;
  api->GetKeyValuePairs(options, &keys, &values, &count);
  std::set<std::string> lines;
  for (size_t i = 0; i < count; ++i) {
    const bool is_address = std::string(keys[i]) == "ep_instance_id";
    lines.insert(std::string(keys[i]) + "=" + (is_address ? "…" : values[i]));
  }
  for (const std::string& line : lines) tell("with " + line);
}

// Parts: the product of all inputs
// ---------------------------------------------------------------------------------------------------------------------

OrtStatus* multiply(OrtKernelContext* context) {
  Floats x;
  float* y = nullptr;
  size_t inputs = 0;
  TRY(read_first(context, x));
  TRY(make_output(context, 0, x.shape, y));
  TRY(api->KernelContext_GetInputCount(context, &inputs));
  std::copy(x.data, x.data + x.count, y);
  for (size_t k = 0; k < inputs; ++k) {
    const OrtValue* value = nullptr;
    const OrtMemoryInfo* info = nullptr;
    Floats f;
    TRY(api->KernelContext_GetInput(context, k, &value));
    TRY(api->GetTensorMemoryInfo(value, &info));
    tell("reads input " + std::to_string(k) + " in memory " + kind_of(info));
    if (k == 0) continue;
    TRY(read(value, f));
    for (size_t i = 0; i < x.count; ++i) y[i] *= f.data[i];
  }
  return nullptr;
}

using Part = StatelessPart<multiply>;

struct Ep : OrtEp {
  Ep() : OrtEp{} {
    ort_version_supported = 31;
    GetName = [](const OrtEp*) noexcept { return "lending"; };
    GetCapability = [](OrtEp*, const OrtGraph* graph, OrtEpGraphSupportInfo* info) noexcept -> OrtStatus* {
      tell("GetCapability");
      std::vector<const OrtNode*> nodes;
      TRY(nodes_of(graph, nodes));
      const OrtNodeFusionOptions how{23, false};
      for (const OrtNode* node : nodes)
        if (type_of(node) == "Mul") TRY(ep_api->EpGraphSupportInfo_AddNodesToFuse(info, &node, 1, &how));
      return nullptr;
    };
    Compile = make_parts<Part>;
    ReleaseNodeComputeInfos = delete_parts<Part>;
    if (setting("ep").empty()) return;
    CreateAllocator = [](OrtEp*, const OrtMemoryInfo* info, OrtAllocator** made) noexcept {
      return lend("ep", info, made);
    };
  }
};

struct LendingFactory : Factory {
  OrtMemoryInfo* infos[std::size(kKinds)] = {};
  LendingFactory() : Factory({31, "lending", kVendor, "1.2.3"}) {
    GetSupportedDevices = [](OrtEpFactory* f, const OrtHardwareDevice* const* devices, size_t count, OrtEpDevice** made,
                             size_t room, size_t* number) noexcept -> OrtStatus* {
      *number = 0;
      for (size_t i = 0; i < count && *number < room; ++i) {
        if (api->HardwareDevice_Type(devices[i]) != OrtHardwareDeviceType_CPU) continue;
        TRY(ep_api->CreateEpDevice(f, devices[i], nullptr, nullptr, &made[*number]));
        for (const OrtMemoryInfo* info : static_cast<LendingFactory*>(f)->infos)
          if (setting("hides") != kind_of(info)) TRY(ep_api->EpDevice_AddAllocatorInfo(made[*number], info));
        ++*number;
      }
      return nullptr;
    };
    CreateEp = [](OrtEpFactory*, const OrtHardwareDevice* const*, const OrtKeyValuePairs* const*, size_t,
                  const OrtSessionOptions*, const OrtLogger*, OrtEp** made) noexcept -> OrtStatus* {
      tell("CreateEp");
      ++providers;
      *made = new Ep;
      return nullptr;
    };
    ReleaseEp = [](OrtEpFactory*, OrtEp* ep) noexcept {
      --providers;
      delete static_cast<Ep*>(ep);
    };
    CreateAllocator = [](OrtEpFactory*, const OrtMemoryInfo* info, const OrtKeyValuePairs* options,
                         OrtAllocator** made) noexcept {
      if (options) tell_options(options);
      return lend("factory", info, made);
    };
    ReleaseAllocator = [](OrtEpFactory*, OrtAllocator* a) noexcept {
      tell("released " + static_cast<Lent*>(a)->name + ", providers left " + std::to_string(providers));
      delete static_cast<Lent*>(a);
    };
    CreateDataTransfer = [](OrtEpFactory*, OrtDataTransferImpl** made) noexcept -> OrtStatus* {
      *made = new Transfer(kVendor);
      return nullptr;
    };
  }
  ~LendingFactory() {
    for (OrtMemoryInfo* info : infos) api->ReleaseMemoryInfo(info);
  }
  OrtStatus* prepare() {
    for (size_t i = 0; i < std::size(kKinds); ++i) {
      const Kind& k = kKinds[i];
      TRY(api->CreateMemoryInfo_V2(k.name, OrtMemoryInfoDeviceType_GPU, kVendor, 0, k.memory, 0, k.allocator,
                                   &infos[i]));
    }
    return nullptr;
  }
};

}  // namespace

PLUGIN_OF(LendingFactory, ORT_API_VERSION)

/// The next line of the report; null at the end.
EXPORTED const char* lending_story() {
  static size_t next = 0;
  const std::lock_guard lock(mutex);
  return next < story.size() ? story[next++].c_str() : nullptr;
}
EXPORTED int lending_blocks() { return blocks; }
EXPORTED void lending_set(const char* key, const char* value) { settings[key] = value; }
