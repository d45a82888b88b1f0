// Objects that only carry data: locations of external initializers, and events of profiles.
#include "abi/plain_data.h"

#include "abi/slots.h"

namespace retort::abi {

OrtStatusPtr ORT_API_CALL CreateExternalInitializerInfo(const char* filepath, int64_t file_offset, size_t byte_size,
                                                        OrtExternalInitializerInfo** out) noexcept {
  return guard([&] {
    auto info = std::make_unique<OrtExternalInitializerInfo>();
    info->path = need_text(filepath, "filepath");
    info->offset = file_offset;
    info->bytes = byte_size;
    give(out, "out", std::move(info));
  });
}

void ORT_API_CALL ReleaseExternalInitializerInfo(OrtExternalInitializerInfo* input) noexcept { release(input); }

const char* ORT_API_CALL ExternalInitializerInfo_GetFilePath(const OrtExternalInitializerInfo* info) noexcept {
  return info ? info->path.c_str() : nullptr;
}

int64_t ORT_API_CALL ExternalInitializerInfo_GetFileOffset(const OrtExternalInitializerInfo* info) noexcept {
  return info ? info->offset : 0;
}

size_t ORT_API_CALL ExternalInitializerInfo_GetByteSize(const OrtExternalInitializerInfo* info) noexcept {
  return info ? info->bytes : 0;
}

namespace ep_api {

OrtStatusPtr ORT_API_CALL CreateProfilingEvent(OrtProfilingEventCategory category, int32_t process_id,
                                               int32_t thread_id, const char* event_name, int64_t timestamp_us,
                                               int64_t duration_us, const char* const* arg_keys,
                                               const char* const* arg_values, size_t num_args,
                                               OrtProfilingEvent** out) noexcept {
  return guard([&] {
    require(category >= OrtProfilingEventCategory_SESSION && category <= OrtProfilingEventCategory_API,
            ErrorCode::invalid_argument, "event category {} does not exist", int(category));
    auto event = std::make_unique<OrtProfilingEvent>();
    event->category = category;
    event->process = process_id;
    event->thread = thread_id;
    event->name = need_text(event_name, "event_name");
    event->timestamp_us = timestamp_us;
    event->duration_us = duration_us;
    for (size_t i = 0; i < num_args; ++i) {
      event->arguments[need_text((&need(arg_keys, "arg_keys"))[i], "arg_keys")] =
          need_text((&need(arg_values, "arg_values"))[i], "arg_values");
    }
    give(out, "out", std::move(event));
  });
}

void ORT_API_CALL ReleaseProfilingEvent(OrtProfilingEvent* input) noexcept { release(input); }

OrtStatusPtr ORT_API_CALL ProfilingEvent_GetCategory(const OrtProfilingEvent* event,
                                                     OrtProfilingEventCategory* out) noexcept {
  return guard([&] { need(out, "out") = handle(event, "event").category; });
}

OrtStatusPtr ORT_API_CALL ProfilingEvent_GetName(const OrtProfilingEvent* event, const char** out) noexcept {
  return guard([&] { need(out, "out") = handle(event, "event").name.c_str(); });
}

OrtStatusPtr ORT_API_CALL ProfilingEvent_GetTimestampUs(const OrtProfilingEvent* event, int64_t* out) noexcept {
  return guard([&] { need(out, "out") = handle(event, "event").timestamp_us; });
}

OrtStatusPtr ORT_API_CALL ProfilingEvent_GetDurationUs(const OrtProfilingEvent* event, int64_t* out) noexcept {
  return guard([&] { need(out, "out") = handle(event, "event").duration_us; });
}

OrtStatusPtr ORT_API_CALL ProfilingEvent_GetArgValue(const OrtProfilingEvent* event, const char* key,
                                                     const char** out) noexcept {
  return guard([&] {
    const auto& arguments = handle(event, "event").arguments;
    const auto found = arguments.find(std::string_view(need_text(key, "key")));
    need(out, "out") = found == arguments.end() ? nullptr : found->second.c_str();
  });
}

}  // namespace ep_api
}  // namespace retort::abi
