// A model package: a folder with components, of each of which there are variants, one per provider or device that can
// run it. manifest.json in the folder says which.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "package/paths.h"

namespace retort {

struct PackageVariant {
  std::string name;
  std::optional<std::string> provider;                  ///< that runs it
  std::string device;                                   ///< "cpu", "gpu", "npu"; empty: any of that provider
  std::string compatibility;                            ///< what it was compiled for; empty: nothing special
  std::string folder;                                   ///< empty: it has none
  std::optional<std::string> model;                     ///< absolute path; the file need not be there
  std::map<std::string, std::string> session_options;   ///< configuration entries for a session without options
  std::map<std::string, std::string> provider_options;  ///< for the provider, likewise
};

struct PackageComponent {
  std::string name;
  std::vector<PackageVariant> variants;  ///< in the order of the text, as everything here
};

/// Read once, not changed afterwards, so thread-safe.
class ModelPackage {
 public:
  /// Reads the description; models are left alone. Throws ErrorCode::fail naming file, component and variant for what is
  /// missing, of another type, unknown, or leads out of the package.
  explicit ModelPackage(const std::string& root);

  int64_t schema_version() const { return 1; }  ///< the only one there is
  const std::vector<PackageComponent>& components() const { return components_; }
  /// Throws invalid_argument naming those that there are.
  const PackageComponent& component(const std::string& name) const;
  /// What a name in a description stands for: a path beside `base` (null or empty: the package), or a shared asset.
  /// Throws ErrorCode::fail.
  std::string resolve(const char* base, const std::string& name, bool must_exist) const;

 private:
  PackagePaths paths_;
  std::vector<PackageComponent> components_;
};

/// How well a variant suits its provider; negative: it does not.
using VariantRank = FunctionRef<int(const PackageVariant&)>;
/// As in the official library a variant that names a device is for providers of plug-in libraries, which drive devices; the
/// CPU's does not.
int rank_for_cpu(const PackageVariant& variant);
/// The variant for that provider that suits it best, the first of several. Throws ErrorCode::fail with those that there are.
const PackageVariant& select_variant(const PackageComponent& component, const std::string& provider, VariantRank rank);

}  // namespace retort
