// Metadata of models and sessions; profiles.
#include <algorithm>

#include "abi/sessions/session.h"
#include "abi/slots.h"
#include "abi/values/allocators.h"
#include "ort_format/read.h"

namespace retort::abi {
namespace {

OrtStatusPtr give_text(const OrtModelMetadata* metadata, std::string ModelInfo::*text, OrtAllocator* allocator,
                       char** value) noexcept {
  return guard([&] {
    const std::string& found = handle(metadata, "model_metadata").info.*text;
    OrtAllocator& a = need(allocator, "allocator");
    need(value, "value");
    *value = allocate_text(a, found);
  });
}

/// What a compiled model says of the provider that it was compiled for; null when it says nothing.
template <typename Read>
OrtStatusPtr give_compatibility(const char* ep_type, OrtAllocator* allocator, char** info, Read read) noexcept {
  return guard([&] {
    const std::string_view provider = need_text(ep_type, "ep_type");
    require(!provider.empty(), ErrorCode::invalid_argument, "the provider has no name");
    OrtAllocator& a = need(allocator, "allocator");
    need(info, "compatibility_info");
    const std::shared_ptr<Model> model = read();
    const std::string key = cat("ep_compatibility_info.{}", provider);
    const auto found = std::find_if(model->metadata.begin(), model->metadata.end(),
                                    [&](const auto& entry) { return entry.first == key; });
    *info = found == model->metadata.end() ? nullptr : allocate_text(a, found->second);
  });
}

}  // namespace

OrtStatusPtr ORT_API_CALL GetCompatibilityInfoFromModel(const char* model_path, const char* ep_type,
                                                        OrtAllocator* allocator, char** compatibility_info) noexcept {
  return give_compatibility(ep_type, allocator, compatibility_info,
                            [&] { return load_model(need_text(model_path, "model_path")); });
}

OrtStatusPtr ORT_API_CALL GetCompatibilityInfoFromModelBytes(const void* model_data, size_t model_data_length,
                                                             const char* ep_type, OrtAllocator* allocator,
                                                             char** compatibility_info) noexcept {
  return give_compatibility(ep_type, allocator, compatibility_info, [&] {
    const auto* bytes = &need(static_cast<const std::byte*>(model_data), "model_data");
    require(model_data_length > 0, ErrorCode::invalid_argument, "the model has no bytes");
    return load_model(std::span(bytes, model_data_length));
  });
}

OrtStatusPtr ORT_API_CALL SessionGetModelMetadata(const OrtSession* session, OrtModelMetadata** out) noexcept {
  return guard([&] {
    auto metadata = std::make_unique<OrtModelMetadata>();
    metadata->info = info_of(session);
    give(out, "out", std::move(metadata));
  });
}

void ORT_API_CALL ReleaseModelMetadata(OrtModelMetadata* input) noexcept { release(input); }

OrtStatusPtr ORT_API_CALL ModelMetadataGetProducerName(const OrtModelMetadata* model_metadata, OrtAllocator* allocator,
                                                       char** value) noexcept {
  return give_text(model_metadata, &ModelInfo::producer_name, allocator, value);
}

OrtStatusPtr ORT_API_CALL ModelMetadataGetGraphName(const OrtModelMetadata* model_metadata, OrtAllocator* allocator,
                                                    char** value) noexcept {
  return give_text(model_metadata, &ModelInfo::graph_name, allocator, value);
}

OrtStatusPtr ORT_API_CALL ModelMetadataGetDomain(const OrtModelMetadata* model_metadata, OrtAllocator* allocator,
                                                 char** value) noexcept {
  return give_text(model_metadata, &ModelInfo::domain, allocator, value);
}

OrtStatusPtr ORT_API_CALL ModelMetadataGetDescription(const OrtModelMetadata* model_metadata, OrtAllocator* allocator,
                                                      char** value) noexcept {
  return give_text(model_metadata, &ModelInfo::description, allocator, value);
}

OrtStatusPtr ORT_API_CALL ModelMetadataGetGraphDescription(const OrtModelMetadata* model_metadata,
                                                           OrtAllocator* allocator, char** value) noexcept {
  return give_text(model_metadata, &ModelInfo::graph_description, allocator, value);
}

OrtStatusPtr ORT_API_CALL ModelMetadataGetVersion(const OrtModelMetadata* model_metadata, int64_t* value) noexcept {
  return guard([&] { need(value, "value") = handle(model_metadata, "model_metadata").info.version; });
}

// A key that is not there gives null, not an error.
OrtStatusPtr ORT_API_CALL ModelMetadataLookupCustomMetadataMap(const OrtModelMetadata* model_metadata,
                                                               OrtAllocator* allocator, const char* key,
                                                               char** value) noexcept {
  return guard([&] {
    const auto& entries = handle(model_metadata, "model_metadata").info.metadata;
    OrtAllocator& a = need(allocator, "allocator");
    const std::string_view wanted = need_text(key, "key");
    need(value, "value");
    char* found = nullptr;
    for (const auto& [name, text] : entries) {
      if (name != wanted) continue;
      found = allocate_text(a, text);
      break;
    }
    *value = found;
  });
}

OrtStatusPtr ORT_API_CALL ModelMetadataGetCustomMetadataMapKeys(const OrtModelMetadata* model_metadata,
                                                                OrtAllocator* allocator, char*** keys,
                                                                int64_t* num_keys) noexcept {
  return guard([&] {
    const auto& entries = handle(model_metadata, "model_metadata").info.metadata;
    OrtAllocator& a = need(allocator, "allocator");
    need(keys, "keys");
    need(num_keys, "num_keys");
    std::vector<decltype(held(a, static_cast<char*>(nullptr)))> texts;
    for (const auto& [key, text] : entries) texts.push_back(held(a, allocate_text(a, key)));
    auto** names = texts.empty() ? nullptr : static_cast<char**>(allocate(a, texts.size() * sizeof(char*)));
    for (size_t i = 0; i < texts.size(); ++i) names[i] = texts[i].release();
    *keys = names;
    *num_keys = int64_t(entries.size());
  });
}

OrtStatusPtr ORT_API_CALL SessionGetProfilingStartTimeNs(const OrtSession* session, uint64_t* out) noexcept {
  return guard([&] {
    const Profiler* profiler = session_of(session)->profiler();
    need(out, "out") = profiler ? profiler->start_time_ns() : 0;
  });
}

OrtStatusPtr ORT_API_CALL SessionEndProfiling(OrtSession* session, OrtAllocator* allocator, char** out) noexcept {
  return guard([&] {
    Session& s = *session_of(session);
    OrtAllocator& a = need(allocator, "allocator");
    need(out, "out");
    *out = allocate_text(a, s.end_profiling());
  });
}

}  // namespace retort::abi
