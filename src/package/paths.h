// Where the names of a package lead to. What a package says comes from strangers: in the portable layout no name, and no
// symbolic link behind one, leads out of the package.
#pragma once
#include <filesystem>
#include <map>
#include <string>

#include "base/error.h"

namespace retort {

/// Not changed once the package is open, so thread-safe then. Everything here throws ErrorCode::fail.
class PackagePaths {
 public:
  /// The root must be a folder.
  explicit PackagePaths(const std::string& root);

  const std::filesystem::path& root() const { return root_; }
  /// The installed layout may name files anywhere.
  void set_installed() { installed_ = true; }
  /// `path`: of the shared asset that is called "sha256:<64 hexadecimal digits>"; the first path of a name stays.
  void add_asset(const std::string& name, std::filesystem::path path) { assets_.emplace(name, std::move(path)); }
  /// Adds the folders of <root>/shared_assets that are called as assets are.
  void find_assets();

  enum class Must { exist, be_allowed };
  /// The canonical path of `name` beside `base`. Of what does not exist, the part that does is canonical.
  std::filesystem::path resolve(const std::filesystem::path& base, const std::string& name, Must must) const;
  /// Likewise; "sha256:…" is a shared asset, "sha256:…/some/file" something inside one.
  std::filesystem::path resolve_reference(const std::filesystem::path& base, const std::string& name, Must must) const;

 private:
  std::filesystem::path root_;
  bool installed_ = false;
  std::map<std::string, std::filesystem::path> assets_;
};

/// Whether a text is "sha256:" and 64 hexadecimal digits, in lower case.
bool is_asset_name(std::string_view text);

}  // namespace retort
