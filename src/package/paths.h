// Resolves the paths in a package. Packages are untrusted: in the portable layout no path, and no symbolic link behind
// one, may lead out of the package.
#pragma once
#include <filesystem>
#include <map>
#include <string>

#include "base/error.h"

namespace retort {

/// Not changed once the package is open, so thread-safe then. All functions throw ErrorCode::fail.
class PackagePaths {
 public:
  /// The root must be a folder.
  explicit PackagePaths(const std::string& root);

  const std::filesystem::path& root() const { return root_; }
  /// The installed layout may refer to files anywhere.
  void set_installed() { installed_ = true; }
  bool installed() const { return installed_; }
  /// `path`: of the shared asset "sha256:<64 hexadecimal digits>"; the first path for a name counts.
  void add_asset(const std::string& name, std::filesystem::path path) { assets_.emplace(name, std::move(path)); }
  /// Adds the folders of <root>/shared_assets whose names are those of assets.
  void find_assets();

  enum class Must { exist, be_allowed };
  /// The canonical path of `name` relative to `base`. If it does not exist, the existing part is canonical.
  std::filesystem::path resolve(const std::filesystem::path& base, const std::string& name, Must must) const;
  /// The same; "sha256:…" is a shared asset, "sha256:…/some/file" a file inside one.
  std::filesystem::path resolve_reference(const std::filesystem::path& base, const std::string& name, Must must) const;

 private:
  std::filesystem::path root_;
  bool installed_ = false;
  std::map<std::string, std::filesystem::path> assets_;
};

/// Whether a text is "sha256:" and 64 lower-case hexadecimal digits.
bool is_asset_name(std::string_view text);

}  // namespace retort
