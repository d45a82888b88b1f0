// OrtKeyValuePairs: strings by name, with arrays of pointers for callers.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "abi/handle.h"

struct OrtKeyValuePairs : retort::abi::Handle<retort::abi::tag_of("kvps")> {
  OrtKeyValuePairs() = default;
  explicit OrtKeyValuePairs(std::map<std::string, std::string> entries) : entries_(std::move(entries)) { list(); }
  OrtKeyValuePairs(const OrtKeyValuePairs& other) : OrtKeyValuePairs(other.entries_) {}

  const std::map<std::string, std::string>& entries() const { return entries_; }
  const std::vector<const char*>& keys() const { return keys_; }
  const std::vector<const char*>& values() const { return values_; }
  void set(const std::string& key, const std::string& value);
  void remove(const std::string& key);

 private:
  void list();
  std::map<std::string, std::string> entries_;
  std::vector<const char*> keys_, values_;
};
