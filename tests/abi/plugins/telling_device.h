// The device of the provider in telling.cc: memory of the host under another name, copies, streams.
#pragma once
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "retort/onnxruntime_ep_c_api.h"

namespace telling {

inline const OrtApi* api = nullptr;
inline const OrtEpApi* ep_api = nullptr;

inline std::mutex mutex;
inline std::vector<std::string> story;

inline void tell(std::string line) {
  const std::lock_guard lock(mutex);
  story.push_back(std::move(line));
}
inline OrtStatus* error(const char* text) { return api->CreateStatus(ORT_EP_FAIL, text); }

#define TRY(call)                        \
  do {                                   \
    if (OrtStatus* s = (call)) return s; \
  } while (false)

struct Memory : OrtAllocator {
  OrtMemoryInfo* info = nullptr;
  Memory() : OrtAllocator{} {
    version = 23;
    Alloc = [](OrtAllocator*, size_t size) { return std::malloc(size ? size : 1); };
    Reserve = Alloc;
    Free = [](OrtAllocator*, void* p) { std::free(p); };
    Info = [](const OrtAllocator* a) -> const OrtMemoryInfo* { return static_cast<const Memory*>(a)->info; };
  }
};

struct Transfer : OrtDataTransferImpl {
  Transfer() : OrtDataTransferImpl{} {
    ort_version_supported = 23;
    OrtDataTransferImpl::Release = [](OrtDataTransferImpl* t) noexcept { delete static_cast<Transfer*>(t); };
    CanCopy = [](const OrtDataTransferImpl*, const OrtMemoryDevice* from, const OrtMemoryDevice* to) noexcept {
      const auto known = [](const OrtMemoryDevice* d) {
        return ep_api->MemoryDevice_GetDeviceType(d) == OrtMemoryInfoDeviceType_CPU ||
               ep_api->MemoryDevice_GetVendorId(d) == 0xcafe;
      };
      return known(from) && known(to);
    };
    CopyTensors = [](OrtDataTransferImpl*, const OrtValue** from, OrtValue** to, OrtSyncStream**,
                     size_t count) noexcept -> OrtStatus* {
      for (size_t i = 0; i < count; ++i) {
        size_t bytes = 0;
        const void* source = nullptr;
        void* target = nullptr;
        TRY(api->GetTensorSizeInBytes(from[i], &bytes));
        TRY(api->GetTensorData(from[i], &source));
        TRY(api->GetTensorMutableData(to[i], &target));
        std::memcpy(target, source, bytes);
      }
      return nullptr;
    };
  }
};

struct Notification : OrtSyncNotificationImpl {
  const OrtSyncStream* stream = nullptr;
  Notification() : OrtSyncNotificationImpl{} {
    ort_version_supported = 23;
    OrtSyncNotificationImpl::Release = [](OrtSyncNotificationImpl* n) noexcept {
      delete static_cast<Notification*>(n);
    };
    Activate = [](OrtSyncNotificationImpl*) noexcept -> OrtStatus* {
      tell("Activate");
      return nullptr;
    };
    WaitOnDevice = [](OrtSyncNotificationImpl*, OrtSyncStream* later) noexcept -> OrtStatus* {
      tell("WaitOnDevice " + std::to_string(ep_api->SyncStream_GetSyncId(later)));
      return nullptr;
    };
    WaitOnHost = [](OrtSyncNotificationImpl*) noexcept -> OrtStatus* {
      tell("WaitOnHost");
      return nullptr;
    };
  }
};

struct Stream : OrtSyncStreamImpl {
  Stream() : OrtSyncStreamImpl{} {
    ort_version_supported = 23;
    OrtSyncStreamImpl::Release = [](OrtSyncStreamImpl* s) noexcept { delete static_cast<Stream*>(s); };
    GetHandle = [](OrtSyncStreamImpl* s) noexcept -> void* { return s; };
    CreateNotification = [](OrtSyncStreamImpl*, OrtSyncNotificationImpl** made) noexcept -> OrtStatus* {
      *made = new Notification;
      return nullptr;
    };
    Flush = [](OrtSyncStreamImpl*) noexcept -> OrtStatus* { return nullptr; };
    OnSessionRunEnd = [](OrtSyncStreamImpl*) noexcept -> OrtStatus* {
      tell("OnSessionRunEnd");
      return nullptr;
    };
  }
};

}  // namespace telling
