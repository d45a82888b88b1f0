// Part of onnxruntime_cxx_api.h: model packages: folders with models for several providers. This part was written
// without an official header: its names follow those of OrtModelPackageApi.
#pragma once
#include "session.h"

namespace Ort {

// The providers of session options, by which variants are chosen.
struct ModelPackageOptions : detail::Base<OrtModelPackageOptions> {
  explicit ModelPackageOptions(std::nullptr_t) {}
  explicit ModelPackageOptions(OrtModelPackageOptions* p) : Base(p) {}
  ModelPackageOptions(const Env& env, const SessionOptions& session_options) {
    ThrowOnError(GetModelPackageApi().CreateModelPackageOptionsFromSessionOptions(env, session_options, &p_));
  }
};

// One model of a package, in the variant that was chosen.
struct ModelPackageComponentContext : detail::Base<OrtModelPackageComponentContext> {
  explicit ModelPackageComponentContext(std::nullptr_t) {}
  explicit ModelPackageComponentContext(OrtModelPackageComponentContext* p) : Base(p) {}

  std::string GetSelectedVariantName() const {
    return detail::FetchView(GetModelPackageApi().ModelPackageComponent_GetSelectedVariantName, p_);
  }
  std::basic_string<ORTCHAR_T> GetSelectedVariantFolderPath() const {
    return detail::Fetch<const ORTCHAR_T*>(GetModelPackageApi().ModelPackageComponent_GetSelectedVariantFolderPath, p_);
  }
  // With the options of the selection and of the package, or with these options alone.
  Session CreateSession(const Env& env) { return MakeSession(env, nullptr); }
  Session CreateSession(const Env& env, const SessionOptions& session_options) {
    return MakeSession(env, session_options);
  }

 private:
  Session MakeSession(const Env& env, const OrtSessionOptions* session_options) {
    return Session{detail::Fetch<OrtSession*>(GetModelPackageApi().CreateSession, env, p_, session_options)};
  }
};

// The folder of a package, as its manifest describes it.
struct ModelPackageContext : detail::Base<OrtModelPackageContext> {
  explicit ModelPackageContext(std::nullptr_t) {}
  explicit ModelPackageContext(OrtModelPackageContext* p) : Base(p) {}
  explicit ModelPackageContext(const std::basic_string<ORTCHAR_T>& package_root) {
    ThrowOnError(GetModelPackageApi().CreateModelPackageContext(package_root.c_str(), &p_));
  }

  int64_t GetSchemaVersion() const {
    return detail::Fetch<int64_t>(GetModelPackageApi().ModelPackage_GetSchemaVersion, p_);
  }
  size_t GetComponentCount() const {
    return detail::Fetch<size_t>(GetModelPackageApi().ModelPackage_GetComponentCount, p_);
  }
  std::vector<std::string> GetComponentNames() const {
    const char* const* names = nullptr;
    size_t count = 0;
    ThrowOnError(GetModelPackageApi().ModelPackage_GetComponentNames(p_, &names, &count));
    return {names, names + count};
  }
  size_t GetVariantCount(const char* component_name) const {
    return detail::Fetch<size_t>(GetModelPackageApi().ModelPackage_GetVariantCount, p_, component_name);
  }
  std::vector<std::string> GetVariantNames(const char* component_name) const {
    const char* const* names = nullptr;
    size_t count = 0;
    ThrowOnError(GetModelPackageApi().ModelPackage_GetVariantNames(p_, component_name, &names, &count));
    return {names, names + count};
  }
  // Empty if the variant names no provider.
  std::string GetVariantEpName(const char* component_name, const char* variant_name) const {
    return detail::FetchView(GetModelPackageApi().ModelPackage_GetVariantEpName, p_, component_name, variant_name);
  }
  // A path that the package names; `base_dir` null: relative to the package.
  std::string ResolveStringRef(const char* base_dir, const char* input, bool must_exist) const {
    return detail::FetchView(GetModelPackageApi().ModelPackage_ResolveStringRef, p_, base_dir, input,
                             static_cast<int>(must_exist));
  }
  ModelPackageComponentContext SelectComponent(const char* component_name, const ModelPackageOptions& options) const {
    return ModelPackageComponentContext{detail::Fetch<OrtModelPackageComponentContext*>(
        GetModelPackageApi().SelectComponent, p_, component_name, options)};
  }
};

}  // namespace Ort
