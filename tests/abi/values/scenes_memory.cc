// Memory infos, allocators, arena settings, string pairs.
#include <cstdlib>
#include <cstring>
#include <string>

#include "scene.h"

namespace {

/// How plug-ins that are built from ONNX Runtime's sources see an info: they read the info of an allocator as an object
/// of their own type, without calling a function.
struct Copied {
  std::string name;
  int32_t mem_type, type;
  int8_t device, kind;
  int16_t id;
  uint32_t vendor;
  uint64_t alignment;
};

void describe(scenes::Scene& s, const OrtMemoryInfo* info) {
  const char* name = nullptr;
  int id = -7;
  OrtMemType mem_type = OrtMemType(-7);
  OrtAllocatorType type = OrtAllocatorType(-7);
  OrtMemoryInfoDeviceType device = OrtMemoryInfoDeviceType(-7);
  CALL(MemoryInfoGetName, info, &name);
  s.note("name", name);
  CALL(MemoryInfoGetId, info, &id);
  s.note("id", id);
  CALL(MemoryInfoGetMemType, info, &mem_type);
  s.note("mem type", mem_type);
  CALL(MemoryInfoGetType, info, &type);
  s.note("type", type);
  s.api.MemoryInfoGetDeviceType(info, &device);
  s.note("device", device);
  s.note("device mem type", s.api.MemoryInfoGetDeviceMemType(info));
  s.note("vendor", s.api.MemoryInfoGetVendorId(info));
  const OrtEpApi& ep = *s.api.GetEpApi();
  const OrtMemoryDevice* memory = ep.MemoryInfo_GetMemoryDevice(info);
  s.note("memory device", memory);
  s.note("md type", ep.MemoryDevice_GetDeviceType(memory));
  s.note("md kind", ep.MemoryDevice_GetMemoryType(memory));
  s.note("md vendor", ep.MemoryDevice_GetVendorId(memory));
  s.note("md id", ep.MemoryDevice_GetDeviceId(memory));
  if (!info) return;
  const auto& copied = *reinterpret_cast<const Copied*>(info);
  s.note("copied name", copied.name);
  for (const int64_t number : {int64_t(copied.mem_type), int64_t(copied.type), int64_t(copied.device),
                               int64_t(copied.kind), int64_t(copied.id), int64_t(copied.vendor)})
    s.note("copied number", number);
  s.note("copied alignment", copied.alignment);
}

}  // namespace

SCENE(memory_info, names) {
  for (const char* name : {"Cpu",
                           "Cuda",
                           "CudaPinned",
                           "DML",
                           "OpenVINO_CPU",
                           "OpenVINO_GPU",
                           "OpenVINO_NPU",
                           "OpenVINO_RT",
                           "OpenVINO_RT_NPU",
                           "QnnHtpShared",
                           "WebGPU_Buffer",
                           "WebGPU_Buf",
                           "WebNN_Tensor",
                           "WebNN_Ten",
                           "Hip",
                           "HipPinned",
                           "Cann",
                           "CannPinned",
                           "Tvm",
                           "cpu",
                           "CPU",
                           "",
                           "Other",
                           "MIGraphX",
                           "MIGraphXPinned",
                           "AMDGPU_Host",
                           "QNN_HTP_SHARED",
                           "Neutron",
                           "VSINPU",
                           "SNPE"}) {
    OrtMemoryInfo* info = nullptr;
    s.note("asked", name);
    CALL(CreateMemoryInfo, name, OrtDeviceAllocator, 0, OrtMemTypeDefault, &info);
    if (info) describe(s, info);
    s.api.ReleaseMemoryInfo(info);
  }
}

SCENE(memory_info, device_ids) {
  for (int id : {0, 1, 7, 127, 128, 255, 1000, -1}) {
    for (const char* name : {"Cpu", "Cuda"}) {
      OrtMemoryInfo* info = nullptr;
      s.note("asked", id);
      CALL(CreateMemoryInfo, name, OrtArenaAllocator, id, OrtMemTypeDefault, &info);
      if (info) describe(s, info);
    }
  }
}

SCENE(memory_info, types) {
  for (const char* name : {"Cpu", "Cuda", "CudaPinned"}) {
    for (int type : {-1, 0, 1, 3}) {
      for (int mem : {-3, -2, 1}) {
        OrtMemoryInfo* info = nullptr;
        CALL(CreateMemoryInfo, name, OrtAllocatorType(type), 0, OrtMemType(mem), &info);
        if (info) describe(s, info);
      }
    }
  }
}

SCENE(memory_info, cpu) {
  for (int type : {-1, 0, 1, 2}) {
    for (int mem : {-2, -1, 0}) {
      OrtMemoryInfo* info = nullptr;
      CALL(CreateCpuMemoryInfo, OrtAllocatorType(type), OrtMemType(mem), &info);
      if (info) describe(s, info);
    }
  }
}

SCENE(memory_info, version_2) {
  for (int device : {0, 1, 2, 3, 4, -1}) {
    for (int kind : {0, 5, 1}) {
      OrtMemoryInfo* info = nullptr;
      CALL(CreateMemoryInfo_V2, "mine", OrtMemoryInfoDeviceType(device), 0x10de, 3, OrtDeviceMemoryType(kind), 0,
           OrtDeviceAllocator, &info);
      if (info) describe(s, info);
      s.api.ReleaseMemoryInfo(info);
    }
  }
  for (size_t alignment : {0u, 1u, 3u, 64u, 4096u}) {
    OrtMemoryInfo* info = nullptr;
    CALL(CreateMemoryInfo_V2, "mine", OrtMemoryInfoDeviceType_GPU, 1, 3, OrtDeviceMemoryType_DEFAULT, alignment,
         OrtReadOnlyAllocator, &info);
    if (info) describe(s, info);
  }
  OrtMemoryInfo* info = nullptr;
  CALL(CreateMemoryInfo_V2, "", OrtMemoryInfoDeviceType_GPU, 1, 200, OrtDeviceMemoryType_DEFAULT, 0, OrtDeviceAllocator,
       &info);
  if (info) describe(s, info);
  CALL(CreateMemoryInfo_V2, "Cpu", OrtMemoryInfoDeviceType_CPU, 0, 0, OrtDeviceMemoryType_DEFAULT, 0,
       OrtDeviceAllocator, &info);
  if (info) describe(s, info);
  CALL(CreateMemoryInfo_V2, "Cpu", OrtMemoryInfoDeviceType_CPU, 0, 0, OrtDeviceMemoryType_HOST_ACCESSIBLE, 0,
       OrtDeviceAllocator, &info);
  if (info) describe(s, info);
}

SCENE(memory_info, compare) {
  struct Made {
    const char* name;
    OrtMemoryInfo* info;
  };
  std::vector<Made> all;
  auto make = [&](const char* label, const char* name, OrtAllocatorType type, int id, OrtMemType mem) {
    OrtMemoryInfo* info = nullptr;
    CALL(CreateMemoryInfo, name, type, id, mem, &info);
    all.push_back({label, info});
  };
  make("cpu", "Cpu", OrtDeviceAllocator, 0, OrtMemTypeDefault);
  make("cpu arena", "Cpu", OrtArenaAllocator, 0, OrtMemTypeDefault);
  make("cpu input", "Cpu", OrtDeviceAllocator, 0, OrtMemTypeCPUInput);
  make("cuda", "Cuda", OrtDeviceAllocator, 0, OrtMemTypeDefault);
  make("cuda 1", "Cuda", OrtDeviceAllocator, 1, OrtMemTypeDefault);
  make("pinned", "CudaPinned", OrtDeviceAllocator, 0, OrtMemTypeDefault);
  auto make2 = [&](const char* label, const char* name, OrtMemoryInfoDeviceType device, uint32_t vendor,
                   size_t alignment) {
    OrtMemoryInfo* info = nullptr;
    CALL(CreateMemoryInfo_V2, name, device, vendor, 0, OrtDeviceMemoryType_DEFAULT, alignment, OrtDeviceAllocator,
         &info);
    all.push_back({label, info});
  };
  make2("v2 cpu", "Cpu", OrtMemoryInfoDeviceType_CPU, 0, 0);
  make2("v2 cpu other name", "Other", OrtMemoryInfoDeviceType_CPU, 0, 0);
  make2("v2 cuda", "Cuda", OrtMemoryInfoDeviceType_GPU, 0x10de, 0);
  make2("v2 cuda aligned", "Cuda", OrtMemoryInfoDeviceType_GPU, 0x10de, 256);
  const OrtEpApi& ep = *s.api.GetEpApi();
  for (const Made& a : all) {
    for (const Made& b : all) {
      int out = -7;
      CALL(CompareMemoryInfo, a.info, b.info, &out);
      s.note(std::string(a.name) + " to " + b.name, out);
      s.note("devices",
             ep.MemoryDevice_AreEqual(ep.MemoryInfo_GetMemoryDevice(a.info), ep.MemoryInfo_GetMemoryDevice(b.info)));
    }
  }
}

SCENE(allocator, fallback) {
  OrtAllocator *a = s.allocator(), *b = s.allocator();
  s.note("same", a == b);
  s.note("version", a->version);
  s.note("has Reserve", a->Reserve != nullptr);
  s.note("has GetStats", a->GetStats != nullptr);
  s.note("has AllocOnStream", a->AllocOnStream != nullptr);
  s.note("has Shrink", a->Shrink != nullptr);
  const OrtMemoryInfo* info = nullptr;
  CALL(AllocatorGetInfo, a, &info);
  describe(s, info);
  s.note("same info", a->Info(a) == info);
}

SCENE(allocator, sizes) {
  OrtAllocator* a = s.allocator();
  for (size_t n : {size_t(0), size_t(1), size_t(63), size_t(4096), size_t(1) << 62, SIZE_MAX}) {
    void* p = nullptr;
    CALL(AllocatorAlloc, a, n, &p);
    s.note("got", p);
    s.note("aligned to 64", p && uintptr_t(p) % 64 == 0);
    if (p && n < SIZE_MAX) std::memset(p, 1, n);
    CALL(AllocatorFree, a, p);
  }
}

SCENE(allocator, direct_calls) {
  OrtAllocator* a = s.allocator();
  void* p = a->Alloc(a, 100);
  s.note("alloc", p);
  a->Free(a, p);
  a->Free(a, nullptr);
  p = a->Reserve ? a->Reserve(a, 100) : nullptr;
  s.note("reserve", p);
  a->Free(a, p);
}

SCENE(allocator, huge_direct_call) {
  OrtAllocator* a = s.allocator();
  s.note("alloc", a->Alloc(a, size_t(1) << 62));
}

SCENE(allocator, stats) {
  OrtAllocator* a = s.allocator();
  OrtKeyValuePairs* stats = nullptr;
  CALL(AllocatorGetStats, a, &stats);
  s.note("stats", stats);
  const char *const *keys = nullptr, *const *values = nullptr;
  size_t n = 77;
  if (stats) {
    s.api.GetKeyValuePairs(stats, &keys, &values, &n);
    s.note("count", n);
    for (size_t i = 0; i < n; ++i) s.note(keys[i], values[i]);
  }
}

SCENE(allocator, shared) {
  OrtMemoryInfo *cpu = nullptr, *cuda = nullptr;
  CALL(CreateCpuMemoryInfo, OrtDeviceAllocator, OrtMemTypeDefault, &cpu);
  CALL(CreateMemoryInfo, "Cuda", OrtDeviceAllocator, 0, OrtMemTypeDefault, &cuda);
  OrtAllocator *one = nullptr, *two = nullptr, *none = nullptr;
  CALL(GetSharedAllocator, s.env(), cpu, &one);
  s.note("cpu", one);
  CALL(GetSharedAllocator, s.env(), cpu, &two);
  s.note("same", one == two);
  s.note("is the default one", one == s.allocator());
  CALL(GetSharedAllocator, s.env(), cuda, &none);
  s.note("cuda", none);
  if (one) {
    const OrtMemoryInfo* info = nullptr;
    CALL(AllocatorGetInfo, one, &info);
    describe(s, info);
    void* p = nullptr;
    CALL(AllocatorAlloc, one, 100, &p);
    s.note("p", p);
    CALL(AllocatorFree, one, p);
  }
}

SCENE(allocator, registered) {
  OrtMemoryInfo *cpu = nullptr, *arena = nullptr;
  CALL(CreateCpuMemoryInfo, OrtDeviceAllocator, OrtMemTypeDefault, &cpu);
  CALL(CreateCpuMemoryInfo, OrtArenaAllocator, OrtMemTypeDefault, &arena);
  CALL(CreateAndRegisterAllocator, s.env(), arena, nullptr);
  CALL(CreateAndRegisterAllocator, s.env(), arena, nullptr);
  CALL(UnregisterAllocator, s.env(), arena);
  CALL(UnregisterAllocator, s.env(), arena);
  CALL(CreateAndRegisterAllocator, s.env(), cpu, nullptr);
  CALL(UnregisterAllocator, s.env(), cpu);
  CALL(CreateAndRegisterAllocatorV2, s.env(), "CPUExecutionProvider", cpu, nullptr, nullptr, nullptr, 0);
  CALL(CreateAndRegisterAllocatorV2, s.env(), "Unknown", cpu, nullptr, nullptr, nullptr, 0);
  OrtMemoryInfo* cuda = nullptr;
  CALL(CreateMemoryInfo, "Cuda", OrtArenaAllocator, 0, OrtMemTypeDefault, &cuda);
  CALL(CreateAndRegisterAllocator, s.env(), cuda, nullptr);
  CALL(UnregisterAllocator, s.env(), cuda);
}

SCENE(allocator, arena_settings) {
  OrtArenaCfg* cfg = nullptr;
  CALL(CreateArenaCfg, 0, -1, -1, -1, &cfg);
  s.note("cfg", cfg);
  s.api.ReleaseArenaCfg(cfg);
  cfg = nullptr;
  CALL(CreateArenaCfg, 1 << 20, 7, 0, 0, &cfg);
  s.api.ReleaseArenaCfg(cfg);
  cfg = nullptr;
  const char* keys[] = {"max_mem",
                        "arena_extend_strategy",
                        "initial_chunk_size_bytes",
                        "max_dead_bytes_per_chunk",
                        "initial_growth_chunk_size_bytes",
                        "max_power_of_two_extend_bytes",
                        "use_cuda_mempool",
                        "unknown"};
  for (const char*& key : keys) {
    for (size_t value : {size_t(0), size_t(1), size_t(1) << 40}) {
      s.note("key", key);
      CALL(CreateArenaCfgV2, &key, &value, 1, &cfg);
      s.note("cfg", cfg);
      s.api.ReleaseArenaCfg(cfg);
      cfg = nullptr;
    }
  }
  CALL(CreateArenaCfgV2, keys, nullptr, 0, &cfg);
  s.note("cfg", cfg);
}

SCENE(pairs, life) {
  OrtKeyValuePairs* p = nullptr;
  s.api.CreateKeyValuePairs(&p);
  const char *const *keys = nullptr, *const *values = nullptr;
  size_t n = 77;
  s.api.GetKeyValuePairs(p, &keys, &values, &n);
  s.note("count", n);
  s.api.AddKeyValuePair(p, "one", "1");
  s.api.AddKeyValuePair(p, "two", "2");
  s.api.AddKeyValuePair(p, "one", "11");
  s.api.AddKeyValuePair(p, "empty", "");
  s.api.AddKeyValuePair(p, "", "no key");
  s.api.AddKeyValuePair(p, nullptr, "null key");
  s.api.AddKeyValuePair(p, "null value", nullptr);
  for (const char* k : {"one", "two", "empty", "", "null value", "missing"}) s.note(k, s.api.GetKeyValue(p, k));
  s.api.GetKeyValuePairs(p, &keys, &values, &n);
  s.note("count", n);
  for (size_t i = 0; i < n; ++i) s.note(keys[i], values[i]);
  s.api.RemoveKeyValuePair(p, "one");
  s.api.RemoveKeyValuePair(p, "missing");
  s.api.GetKeyValuePairs(p, &keys, &values, &n);
  s.note("count", n);
  for (size_t i = 0; i < n; ++i) s.note(keys[i], values[i]);
  s.api.ReleaseKeyValuePairs(p);
  s.api.ReleaseKeyValuePairs(nullptr);
}

SCENE(pairs, order) {
  OrtKeyValuePairs* p = nullptr;
  s.api.CreateKeyValuePairs(&p);
  for (const char* k : {"zebra", "apple", "mango", "kiwi", "banana"}) s.api.AddKeyValuePair(p, k, k);
  s.api.AddKeyValuePair(p, "apple", "again");
  const char *const *keys = nullptr, *const *values = nullptr;
  size_t n = 77;
  s.api.GetKeyValuePairs(p, &keys, &values, &n);
  for (size_t i = 0; i < n; ++i) s.note(keys[i], values[i]);
}
