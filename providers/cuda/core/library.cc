#include "library.h"

#include <dlfcn.h>
#include <glob.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "common/api.h"

namespace providers::cuda {
namespace {

constexpr const char* kFolders = "RETORT_CUDA_LIBRARIES";

std::vector<std::string> split(const char* list) {
  std::vector<std::string> parts;
  std::istringstream in(list ? list : "");
  for (std::string part; std::getline(in, part, ':');)
    if (!part.empty()) parts.push_back(part);
  return parts;
}

std::vector<std::string> matches(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> paths;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return paths;
}

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

std::string own_folder() {
  Dl_info info{};
  static const char here = 0;
  return dladdr(&here, &info) && info.dli_fname ? folder_of(info.dli_fname) : std::string();
}

/// Adds the folder up to "site-packages" or "dist-packages" of a path that has one.
void add_packages(const std::string& path, std::vector<std::string>& folders) {
  for (const std::string name : {"/site-packages", "/dist-packages"}) {
    const size_t at = path.find(name + "/");
    if (at == std::string::npos) continue;
    const std::string folder = path.substr(0, at + name.size());
    if (std::find(folders.begin(), folders.end(), folder) == folders.end()) folders.push_back(folder);
  }
}

/// Folders of Python packages that this process uses: those of its environment, and those from which it has opened
/// libraries (numpy, onnxruntime).
std::vector<std::string> package_folders() {
  std::vector<std::string> folders;
  add_packages(own_folder() + "/", folders);
  for (const std::string& path : split(std::getenv("PYTHONPATH"))) folders.push_back(path);
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const char* root = std::getenv(name);
    if (!root) continue;
    for (const std::string& path : matches(std::string(root) + "/lib/python3*/site-packages")) folders.push_back(path);
  }
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const size_t slash = line.find('/');
    if (slash != std::string::npos) add_packages(line.substr(slash), folders);
  }
  return folders;
}

void* open_in(const std::vector<std::string>& folders, const std::vector<std::string>& files, std::string& path,
              std::string& reason) {
  for (const std::string& folder : folders) {
    for (const std::string& file : files) {
      const std::string candidate = folder + "/" + file;
      if (access(candidate.c_str(), R_OK) != 0) continue;
      if (void* handle = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL)) {
        path = candidate;
        return handle;
      }
      reason = dlerror();
    }
  }
  return nullptr;
}

void* open_by_loader(const std::vector<std::string>& files, std::string& path, std::string& reason) {
  for (const std::string& file : files) {
    if (void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      path = file;
      return handle;
    }
    const std::string said = dlerror();
    // A file that exists but cannot be used explains more than a name that does not exist.
    if (said.find("No such file") == std::string::npos) reason = said;
  }
  return nullptr;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string all;
  for (const std::string& part : parts) all += (all.empty() ? "" : ", ") + part;
  return all;
}

}  // namespace

std::vector<std::string> library_folders() {
  std::vector<std::string> folders;
  if (const std::string own = own_folder(); !own.empty()) folders.push_back(own);
  for (const std::string& packages : package_folders())
    for (const std::string& folder : matches(packages + "/nvidia/*/lib")) folders.push_back(folder);
  if (const char* root = std::getenv("CONDA_PREFIX")) folders.push_back(std::string(root) + "/lib");
  folders.push_back("/usr/local/cuda/lib64");
  std::vector<std::string> once;
  for (const std::string& folder : folders)
    if (std::find(once.begin(), once.end(), folder) == once.end()) once.push_back(folder);
  return once;
}

void* open_driver() {
  std::string path, reason;
  const std::vector<std::string> files{"libcuda.so.1"};
  if (void* handle = open_in(split(std::getenv(kFolders)), files, path, reason)) return handle;
  return open_by_loader(files, path, reason);
}

std::string usual_kernel_folder() {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  if (cache && cache[0] == '/') return std::string(cache) + "/retort/cuda";
  const char* const home = std::getenv("HOME");
  return home && home[0] == '/' ? std::string(home) + "/.cache/retort/cuda" : std::string();
}

Library::Library(std::string what, std::vector<std::string> files, std::string package) : what_(std::move(what)) {
  std::string reason;
  handle_ = open_in(split(std::getenv(kFolders)), files, path_, reason);
  if (!handle_) handle_ = open_by_loader(files, path_, reason);
  const std::vector<std::string> folders = handle_ ? std::vector<std::string>() : library_folders();
  if (!handle_) handle_ = open_in(folders, files, path_, reason);
  if (handle_) return;
  throw Error(text(what_, " was not found: none of ", joined(files), " is in a folder of ", kFolders,
                   ", where the loader looks, or in ", joined(folders), reason.empty() ? "" : " (" + reason + ")",
                   "; install it, for instance by 'pip install ", package, "', or set ", kFolders, " to its folder"));
}

void* Library::function(const char* name) const {
  if (void* found = dlsym(handle_, name)) return found;
  throw Error(text(what_, " (", path_, ") has no function ", name, "; install a newer version"));
}

}  // namespace providers::cuda
