#include "package/paths.h"

#include <algorithm>

namespace retort {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kScheme = "sha256:";
constexpr size_t kAssetName = 7 + 64;

void check_portable(const std::string& name) {
  const fs::path path(name);
  require(!path.is_absolute(), ErrorCode::fail,
          "'{}' is an absolute path, which the portable layout forbids; write it relative to its folder", name);
  require(std::none_of(path.begin(), path.end(), [](const fs::path& part) { return part == ".."; }), ErrorCode::fail,
          "'{}' contains '..', which the portable layout forbids; write it relative to its folder", name);
}

void check_inside(const fs::path& found, const fs::path& root) {
  require(std::mismatch(root.begin(), root.end(), found.begin(), found.end()).first == root.end(), ErrorCode::fail,
          "'{}' is outside of '{}'; copy it into that folder", found.string(), root.string());
}

fs::path canonical_path(const fs::path& path) {
  std::error_code error;
  fs::path found = fs::weakly_canonical(fs::absolute(path, error), error);
  require(!error, ErrorCode::fail, "'{}' cannot be looked up: {}; check the path", path.string(), error.message());
  if (!found.has_filename() && found.has_relative_path()) found = found.parent_path();  // "folder/"
  return found;
}

/// The canonical path of `name` in `base`; if `confined`, it must lie in the canonical folder `root`.
fs::path resolve_within(const fs::path& base, const std::string& name, PackagePaths::Must must, bool confined,
                        const fs::path& root) {
  require(!name.empty(), ErrorCode::fail, "a path is empty; leave it out, or name a file or folder");
  require(name.find('\0') == std::string::npos, ErrorCode::fail, "a path has a zero inside; leave it out");
  if (confined) check_portable(name);
  std::error_code error;
  const fs::path path = base / name;
  require(must == PackagePaths::Must::be_allowed || fs::exists(path, error), ErrorCode::fail,
          "'{}' does not exist; add it to the package", path.string());
  fs::path found = canonical_path(path);
  if (confined) check_inside(found, root);
  return found;
}

}  // namespace

bool is_asset_name(std::string_view text) {
  return text.size() == kAssetName && text.starts_with(kScheme) &&
         text.find_first_not_of("0123456789abcdef", kScheme.size()) == std::string_view::npos;
}

PackagePaths::PackagePaths(const std::string& root) {
  std::error_code error;
  require(fs::is_directory(root, error), ErrorCode::fail, "'{}' is not a folder; give one with a manifest.json", root);
  root_ = canonical_path(root);
}

void PackagePaths::find_assets() {
  std::error_code error;
  const fs::path folder = root_ / "shared_assets";
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::string name = at->path().filename().string();
    if (name.size() != kAssetName) continue;
    name[kScheme.size() - 1] = name[kScheme.size() - 1] == '-' ? ':' : '-';  // files have names like sha256-…
    std::error_code unreadable;
    if (is_asset_name(name) && fs::is_directory(at->path(), unreadable)) add_asset(name, at->path());
  }
}

fs::path PackagePaths::resolve(const fs::path& base, const std::string& name, Must must) const {
  return resolve_within(base, name, must, !installed_, root_);
}

fs::path PackagePaths::resolve_reference(const fs::path& base, const std::string& name, Must must) const {
  const std::string asset = name.substr(0, name.find('/'));
  if (!is_asset_name(asset)) return resolve(base, name, must);
  const auto at = assets_.find(asset);
  require(at != assets_.end(), ErrorCode::fail,
          "the package has no shared asset '{}'; put it into shared_assets/sha256-…, or name its path in the manifest",
          asset);
  const fs::path folder = canonical_path(at->second);
  if (!installed_) check_inside(folder, root_);  // a link in place of the folder must not lead out either
  const std::string inside = name.size() > asset.size() ? name.substr(asset.size() + 1) : "";
  if (inside.empty()) return at->second;
  return resolve_within(folder, inside, must, true, folder);
}

}  // namespace retort
