#include "options.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <sstream>

#include "api.h"

namespace providers {
namespace {

constexpr int kMostThreads = 1024;

std::string listed(const std::set<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list;
}

}  // namespace

int threads_of(const char* provider, const std::string& value) {
  int n = -1;
  const auto end = std::from_chars(value.data(), value.data() + value.size(), n);
  if (end.ec != std::errc() || end.ptr != value.data() + value.size() || n < 0 || n > kMostThreads)
    throw Error(
        text(provider, ": option 'threads' is '", value, "'; give a number from 0 (all processors) to ", kMostThreads),
        ORT_INVALID_ARGUMENT);
  return n;
}

std::set<std::string> operators_of(const char* provider, const std::string& value, const std::set<std::string>& run) {
  std::set<std::string> names;
  std::istringstream list(value);
  for (std::string name; std::getline(list, name, ',');) {
    name.erase(std::remove(name.begin(), name.end(), ' '), name.end());
    if (name.empty()) continue;
    if (!run.count(name))
      throw Error(text(provider, ": option 'disable' names '", name,
                       "', which this provider does not run; give some of ", listed(run)),
                  ORT_INVALID_ARGUMENT);
    names.insert(name);
  }
  return names;
}

}  // namespace providers
