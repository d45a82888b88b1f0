// A model package: a folder with components. Each component has variants for different providers or devices.
// manifest.json in the folder lists them.
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
  std::optional<std::string> provider;                  ///< the provider that runs it
  std::string device;                                   ///< "cpu", "gpu", "npu"; empty: any of that provider
  std::string compatibility;                            ///< what it was compiled for; empty: it is not specific
  std::string folder;                                   ///< empty: it has none
  std::optional<std::string> model;                     ///< absolute path; the file need not exist
  std::map<std::string, std::string> session_options;   ///< configuration entries for a session without options
  std::map<std::string, std::string> provider_options;  ///< the same for the provider
};

struct PackageComponent {
  std::string name;
  std::vector<PackageVariant> variants;  ///< in the order of the text, as all lists here
};

/// Read once and unchanged afterwards, so thread-safe.
class ModelPackage {
 public:
  /// Reads the description, but no models. Throws ErrorCode::fail naming file, component and variant for entries that
  /// are missing, unknown, of a wrong type, or lead out of the package.
  explicit ModelPackage(const std::string& root);

  int64_t schema_version() const { return 1; }  ///< the only one that is supported
  const std::vector<PackageComponent>& components() const { return components_; }
  /// Throws invalid_argument with the names of existing components.
  const PackageComponent& component(const std::string& name) const;
  /// Resolves a name in a description: a path relative to `base` (null or empty: the package), or a shared asset.
  /// Throws ErrorCode::fail.
  std::string resolve(const char* base, const std::string& name, bool must_exist) const;

 private:
  PackagePaths paths_;
  std::vector<PackageComponent> components_;
};

/// How well a variant suits its provider; negative: not at all.
using VariantRank = FunctionRef<int(const PackageVariant&)>;
/// For options that name no device: the CPU provider suits variants for the CPU, and those for no device in particular.
int rank_for_cpu(const PackageVariant& variant);
/// The variant that suits the provider best, the first of several. Throws ErrorCode::fail with a list of the variants.
const PackageVariant& select_variant(const PackageComponent& component, const std::string& provider, VariantRank rank);

}  // namespace retort
