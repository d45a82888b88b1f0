// What the plug-in of telling.cc adds to the profile of a session, and the calls that it receives.
#pragma once
#include <mutex>
#include <set>

#include "telling_device.h"

namespace telling {

struct Profiler : OrtEpProfilerImpl {
  std::set<uint64_t> open;
  std::mutex own;
  Profiler() : OrtEpProfilerImpl{} {
    ort_version_supported = 25;
    OrtEpProfilerImpl::Release = [](OrtEpProfilerImpl* p) noexcept {
      tell("profiler released");
      delete static_cast<Profiler*>(p);
    };
    StartProfiling = [](OrtEpProfilerImpl*, int64_t offset) noexcept -> OrtStatus* {
      tell("StartProfiling " + std::to_string(offset >= 0 && offset < 5'000'000'000));
      return nullptr;
    };
    StartEvent = [](OrtEpProfilerImpl* p, uint64_t id) noexcept -> OrtStatus* {
      const std::lock_guard lock(static_cast<Profiler*>(p)->own);
      static_cast<Profiler*>(p)->open.insert(id);
      return nullptr;
    };
    StopEvent = [](OrtEpProfilerImpl* p, uint64_t id, const OrtProfilingEvent* event) noexcept -> OrtStatus* {
      return static_cast<Profiler*>(p)->stop(id, event);
    };
    EndProfiling = [](OrtEpProfilerImpl* p, OrtProfilingEventsContainer* events) noexcept -> OrtStatus* {
      return static_cast<Profiler*>(p)->end(events);
    };
  }
  OrtStatus* stop(uint64_t id, const OrtProfilingEvent* event) {
    const std::lock_guard lock(own);
    OrtProfilingEventCategory category{};
    const char *name = "", *op = nullptr, *provider = nullptr;
    int64_t start = 0, duration = 0;
    TRY(ep_api->ProfilingEvent_GetCategory(event, &category));
    TRY(ep_api->ProfilingEvent_GetName(event, &name));
    TRY(ep_api->ProfilingEvent_GetTimestampUs(event, &start));
    TRY(ep_api->ProfilingEvent_GetDurationUs(event, &duration));
    TRY(ep_api->ProfilingEvent_GetArgValue(event, "op_name", &op));
    TRY(ep_api->ProfilingEvent_GetArgValue(event, "provider", &provider));
    const bool closed = open.erase(id) == 1, mine = provider && std::strcmp(provider, "telling") == 0;
    const bool timed = start >= 0 && duration >= 0 && start < 5'000'000;
    tell("event of category " + std::to_string(category) + (op ? " op " : " name ") +
         (mine ? "of this provider"
          : op ? op
               : name) +
         (provider ? std::string(" provider ") + provider : "") + (timed ? "" : " at a strange time") +
         (closed || category == 0 ? "" : " that never began"));
    return nullptr;
  }
  OrtStatus* end(OrtProfilingEventsContainer* events) {
    tell("EndProfiling, not ended: " + std::to_string(open.size()));
    const char *keys[] = {"who", "count"}, *values[] = {"told \"it\"", "3"};
    for (int category = 0; category < 4; ++category) {
      OrtProfilingEvent* event = nullptr;
      TRY(ep_api->CreateProfilingEvent(OrtProfilingEventCategory(category), 12, 34, "kernel of a test", 56 - category,
                                       78, keys, values, size_t(category) / 2, &event));
      const OrtProfilingEvent* all[1] = {event};
      OrtStatus* status = ep_api->ProfilingEventsContainer_AddEvents(events, all, 1);
      ep_api->ReleaseProfilingEvent(event);
      TRY(status);
    }
    OrtStatus* none = ep_api->ProfilingEventsContainer_AddEvents(events, nullptr, 0);
    tell("no events: " + std::to_string(none ? api->GetErrorCode(none) : ORT_OK));
    api->ReleaseStatus(none);
    return nullptr;
  }
};

}  // namespace telling
