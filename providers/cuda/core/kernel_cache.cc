#include "kernel_cache.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "common/api.h"

namespace providers::cuda {
namespace {

namespace fs = std::filesystem;
constexpr const char* kSuffix = ".kernel";
constexpr const char* kMagic = "retort cuda kernel 1\n";

/// FNV-1a of 64 bits; `start` makes independent ones.
uint64_t hash(const std::string& data, uint64_t start) {
  uint64_t h = 14695981039346656037ull ^ start;
  for (const char c : data) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  return h;
}

std::string hex(uint64_t value) {
  char buffer[17];
  std::snprintf(buffer, sizeof buffer, "%016llx", static_cast<unsigned long long>(value));
  return buffer;
}

/// What stands before the image: a file of another key, or one that was cut, does not begin like this.
std::string head(const std::string& key, const std::string& image) {
  return text(kMagic, hex(hash(key, 2)), " ", key.size(), " ", hex(hash(image, 0)), " ", image.size(), "\n");
}

struct Stored {
  fs::file_time_type used;
  uint64_t bytes;
  fs::path path;
};

/// The files of the cache, and those that writers left behind.
std::vector<Stored> stored_in(const std::string& folder) {
  std::vector<Stored> all;
  std::error_code failed;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    std::error_code gone;
    const fs::path path = at->path();
    if (path.filename().string().find(kSuffix) == std::string::npos) continue;
    const uint64_t bytes = at->file_size(gone);
    const auto used = at->last_write_time(gone);
    if (!gone) all.push_back({used, bytes, path});
  }
  return all;
}

}  // namespace

KernelCache::KernelCache(std::string folder, uint64_t most_bytes)
    : folder_(std::move(folder)), most_bytes_(most_bytes) {
  if (folder_.empty()) return;
  std::error_code failed;
  // Who can write there decides what runs on the device.
  if (fs::create_directories(folder_, failed)) fs::permissions(folder_, fs::perms::owner_all, failed);
  if (access(folder_.c_str(), W_OK | X_OK) == 0 && fs::is_directory(folder_, failed)) return;
  problem_ = text("kernels are not kept between processes, since nothing can be written to the folder ", folder_, " (",
                  failed ? failed.message() : std::strerror(errno), ")");
}

std::string KernelCache::file_of(const std::string& key) const {
  return folder_ + "/" + hex(hash(key, 0)) + hex(hash(key, 1)) + kSuffix;
}

std::optional<std::string> KernelCache::find(const std::string& key) const {
  if (folder_.empty()) return std::nullopt;
  std::ifstream file(file_of(key), std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  size_t line = all.find('\n');
  if (line != std::string::npos) line = all.find('\n', line + 1);
  if (line == std::string::npos) return std::nullopt;
  std::string image = all.substr(line + 1);
  if (all.compare(0, line + 1, head(key, image)) != 0) return std::nullopt;
  std::error_code ignored;
  fs::last_write_time(file_of(key), fs::file_time_type::clock::now(), ignored);
  return image;
}

void KernelCache::store(const std::string& key, const std::string& image) {
  if (folder_.empty() || !problem_.empty()) return;
  static std::atomic<int> number{0};
  // Written under a name that no other process or thread uses: readers only see whole files.
  const std::string file = file_of(key), other = text(file, ".", getpid(), ".", ++number);
  const std::string begin = head(key, image);
  bool written = false;
  {
    std::ofstream out(other, std::ios::binary);
    out << begin << image;
    out.close();
    written = out.good();
  }
  if (!written || std::rename(other.c_str(), file.c_str()) != 0)
    std::remove(other.c_str());
  else
    account(begin.size() + image.size());
}

void KernelCache::account(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  bytes_ += bytes;
  if (counted_ && bytes_ <= most_bytes_) return;
  std::vector<Stored> all = stored_in(folder_);
  bytes_ = 0;
  for (const Stored& one : all) bytes_ += one.bytes;
  counted_ = true;
  if (bytes_ <= most_bytes_) return;
  std::sort(all.begin(), all.end(), [](const Stored& a, const Stored& b) { return a.used < b.used; });
  // A quarter less than the limit, so that the folder is not read again for each file.
  for (const Stored& one : all) {
    if (bytes_ <= most_bytes_ / 4 * 3) break;
    std::error_code ignored;
    fs::remove(one.path, ignored);
    bytes_ -= one.bytes;
  }
}

}  // namespace providers::cuda
