// Model packages: folders with variants of models, one per provider; part of retort.hpp.
#pragma once
#include <string>
#include <vector>

#include "session.hpp"

namespace retort::api {

/// The function table for packages; since 1.31.
inline const OrtModelPackageApi& package_api() {
  Library::need(31, "a model package");
  return *api().GetModelPackageApi();
}

struct PackageRelease {
  void operator()(OrtModelPackageOptions* p) const { package_api().ReleaseModelPackageOptions(p); }
  void operator()(OrtModelPackageContext* p) const { package_api().ReleaseModelPackageContext(p); }
  void operator()(OrtModelPackageComponentContext* p) const { package_api().ReleaseModelPackageComponentContext(p); }
};

class PackageSelection;

/// An opened folder. Used by one thread at a time.
class ModelPackage {
 public:
  explicit ModelPackage(const std::filesystem::path& folder) {
    OrtModelPackageContext* made = nullptr;
    check(package_api().CreateModelPackageContext(folder.c_str(), &made));
    context_.reset(made);
  }
  int64_t schema_version() const {
    int64_t version = 0;
    check(package_api().ModelPackage_GetSchemaVersion(context_.get(), &version));
    return version;
  }
  std::vector<std::string> components() const {
    const char* const* names = nullptr;
    size_t n = 0;
    check(package_api().ModelPackage_GetComponentNames(context_.get(), &names, &n));
    return {names, names + n};
  }
  std::vector<std::string> variants(const char* component) const {
    const char* const* names = nullptr;
    size_t n = 0;
    check(package_api().ModelPackage_GetVariantNames(context_.get(), component, &names, &n));
    return {names, names + n};
  }
  /// The provider that a variant is made for; empty if it runs on any.
  std::string provider(const char* component, const char* variant) const {
    const char* name = nullptr;
    check(package_api().ModelPackage_GetVariantEpName(context_.get(), component, variant, &name));
    return name ? name : "";
  }
  /// Selects the variant of a component that fits the providers of the options.
  PackageSelection select(const Env& env, const char* component, const SessionOptions& options = {}) const;

 private:
  std::unique_ptr<OrtModelPackageContext, PackageRelease> context_;
};

/// A component with the variant that was selected for this machine. The package must outlive it.
class PackageSelection {
 public:
  std::string variant() const {
    const char* name = nullptr;
    check(package_api().ModelPackageComponent_GetSelectedVariantName(context_.get(), &name));
    return name;
  }
  std::filesystem::path folder() const {
    const char* path = nullptr;
    check(package_api().ModelPackageComponent_GetSelectedVariantFolderPath(context_.get(), &path));
    return path;
  }
  /// Creates a session of the selected variant; without options, it uses those of the package and of the selection.
  Session open(const Env& env, const OrtSessionOptions* options = nullptr) const {
    OrtSession* made = nullptr;
    check(package_api().CreateSession(env, context_.get(), options, &made));
    return Session(made);
  }

 private:
  friend class ModelPackage;
  explicit PackageSelection(OrtModelPackageComponentContext* context) noexcept : context_(context) {}
  std::unique_ptr<OrtModelPackageComponentContext, PackageRelease> context_;
};

inline PackageSelection ModelPackage::select(const Env& env, const char* component,
                                             const SessionOptions& options) const {
  OrtModelPackageOptions* made = nullptr;
  check(package_api().CreateModelPackageOptionsFromSessionOptions(env, options, &made));
  const std::unique_ptr<OrtModelPackageOptions, PackageRelease> held(made);
  OrtModelPackageComponentContext* selected = nullptr;
  check(package_api().SelectComponent(context_.get(), component, made, &selected));
  return PackageSelection(selected);
}

}  // namespace retort::api
