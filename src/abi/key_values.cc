#include "abi/key_values.h"

#include "abi/slots.h"

void OrtKeyValuePairs::list() {
  keys_.clear();
  values_.clear();
  for (const auto& [key, value] : entries_) {
    keys_.push_back(key.c_str());
    values_.push_back(value.c_str());
  }
}

// As in the official library, new keys are listed in the order of the calls until a value is replaced.
void OrtKeyValuePairs::set(const std::string& key, const std::string& value) {
  const auto [at, is_new] = entries_.insert_or_assign(key, value);
  if (!is_new) return list();
  keys_.push_back(at->first.c_str());
  values_.push_back(at->second.c_str());
}

void OrtKeyValuePairs::remove(const std::string& key) {
  const auto at = entries_.find(key);
  if (at == entries_.end()) return;
  std::erase(keys_, at->first.c_str());
  std::erase(values_, at->second.c_str());
  entries_.erase(at);
}

namespace retort::abi {

void ORT_API_CALL CreateKeyValuePairs(OrtKeyValuePairs** out) noexcept {
  ReleaseStatus(guard([&] { give(out, "out", std::make_unique<OrtKeyValuePairs>()); }));
}

void ORT_API_CALL AddKeyValuePair(OrtKeyValuePairs* kvps, const char* key, const char* value) noexcept {
  // Pairs with an empty or null key, or a null value, are ignored; this function cannot report an error.
  if (!key || !*key || !value) return;
  ReleaseStatus(guard([&] { handle(kvps, "kvps").set(key, value); }));
}

const char* ORT_API_CALL GetKeyValue(const OrtKeyValuePairs* kvps, const char* key) noexcept {
  const char* found = nullptr;
  ReleaseStatus(guard([&] {
    const auto& entries = handle(kvps, "kvps").entries();
    const auto at = entries.find(need_text(key, "key"));
    if (at != entries.end()) found = at->second.c_str();
  }));
  return found;
}

void ORT_API_CALL GetKeyValuePairs(const OrtKeyValuePairs* kvps, const char* const** keys, const char* const** values,
                                   size_t* num_entries) noexcept {
  if (!keys || !values || !num_entries) return;
  *keys = *values = nullptr;
  *num_entries = 0;
  if (!kvps || kvps->tag != OrtKeyValuePairs::kTag) return;
  *keys = kvps->keys().data();
  *values = kvps->values().data();
  *num_entries = kvps->keys().size();
}

void ORT_API_CALL RemoveKeyValuePair(OrtKeyValuePairs* kvps, const char* key) noexcept {
  ReleaseStatus(guard([&] { handle(kvps, "kvps").remove(need_text(key, "key")); }));
}

void ORT_API_CALL ReleaseKeyValuePairs(OrtKeyValuePairs* input) noexcept { release(input); }

}  // namespace retort::abi
