// The reports of the provider in telling.cc, and the streams of its device.
#pragma once
#include <mutex>

#include "host_device.h"

namespace telling {

using namespace plugins;

inline std::mutex mutex;
inline std::vector<std::string> story;

inline void tell(std::string line) {
  const std::lock_guard lock(mutex);
  story.push_back(std::move(line));
}

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
