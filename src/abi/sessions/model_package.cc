// OrtModelPackageApi: reads a model package, selects the variant for a provider, and opens it.
#include <strings.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <set>

#include "abi/devices/devices.h"
#include "abi/host/plugin.h"
#include "abi/listing.h"
#include "abi/sessions/environment.h"
#include "abi/sessions/option_entries.h"
#include "abi/slots.h"
#include "package/package.h"

struct OrtModelPackageOptions : retort::abi::Handle<retort::abi::tag_of("mpop")> {
  std::string provider;  ///< variants are selected for this one
  std::shared_ptr<const retort::abi::EpDevices> owner;
  std::vector<const OrtEpDevice*> devices;  ///< the provider's devices, if it drives any; owned by the options' owner
};

struct OrtModelPackageContext : retort::abi::Handle<retort::abi::tag_of("mpcx")> {
  explicit OrtModelPackageContext(const std::string& root)
      : package(std::make_shared<const retort::ModelPackage>(root)) {
    for (const auto& component : package->components()) {
      component_names.push_back(component.name.c_str());
      auto& names = variant_names[&component];
      for (const auto& variant : component.variants) names.push_back(variant.name.c_str());
    }
  }

  std::shared_ptr<const retort::ModelPackage> package;
  std::vector<const char*> component_names;
  std::map<const retort::PackageComponent*, std::vector<const char*>> variant_names;
  mutable std::mutex mutex;
  mutable std::set<std::string> resolved;  ///< paths that callers received, valid as long as this object; guarded
};

struct OrtModelPackageComponentContext : retort::abi::Handle<retort::abi::tag_of("mpcc")> {
  std::shared_ptr<const retort::ModelPackage> package;
  const retort::PackageComponent* component;
  const retort::PackageVariant* variant;
  std::string provider;
  bool has_devices = false;  ///< whether the options that it was selected with name devices
};

namespace retort::abi::package_api {
namespace {

constexpr size_t kMostKey = 1024;  // limit of AddSessionConfigEntry

const PackageComponent& component_of(const OrtModelPackageContext* ctx, const char* name) {
  return handle(ctx, "ctx").package->component(need_text(name, "component_name"));
}

OrtStatusPtr give_names(const std::vector<const char*>& names, const char* const** out, const char* what,
                        size_t* count) {
  const char* const*& list = need(out, what);
  need(count, "out_count") = names.size();
  list = names.data();
  return nullptr;
}

/// The devices that a session of these options would use with that provider; empty for the CPU without a device.
std::vector<const OrtEpDevice*> driven_devices(const EpDevices& all, const OrtSessionOptions& options,
                                               const std::string& provider) {
  for (const auto& added : options.devices) {
    if (added[0]->name == provider) return added;
  }
  return provider == cpu_device().name ? std::vector<const OrtEpDevice*>() : all.of(provider);
}

bool is_of_kind(const OrtEpDevice& device, const std::string& kind) {
  const char* const kNames[] = {"cpu", "gpu", "npu"};  // by OrtHardwareDeviceType
  return strcasecmp(kNames[device.hardware->type], kind.c_str()) == 0;
}

/// A variant that a plug-in cannot read was not compiled for it.
int rank_for_devices(const PackageVariant& variant, const std::vector<const OrtEpDevice*>& devices) {
  const bool fits = variant.device.empty() ||
                    std::ranges::any_of(devices, [&](const auto* d) { return is_of_kind(*d, variant.device); });
  if (!fits || variant.compatibility.empty()) return fits ? 0 : -1;
  try {
    switch (ask_compatibility(devices, variant.compatibility.c_str())) {
      case OrtCompiledModelCompatibility_EP_SUPPORTED_OPTIMAL:
        return 2;
      case OrtCompiledModelCompatibility_EP_SUPPORTED_PREFER_RECOMPILATION:
        return 1;
      case OrtCompiledModelCompatibility_EP_UNSUPPORTED:
        return -1;
      default:
        return 0;
    }
  } catch (const Error&) {
    return -1;
  }
}

/// The options that the variant asks for, for a session without options of the caller's.
OrtSessionOptions options_of(const OrtModelPackageComponentContext& selected) {
  OrtSessionOptions options;
  for (const auto& [key, value] : selected.variant->session_options) {
    require(!key.empty() && key.size() <= kMostKey, ErrorCode::invalid_argument,
            "variant '{}' of component '{}' sets a session option whose name has {} characters; use 1 to {}",
            selected.variant->name, selected.component->name, key.size(), kMostKey);
    if (!set_option(options.options, key, value)) options.options.config[key] = value;
  }
  // A session without a named provider runs on the CPU, which takes no options.
  const bool ignores = selected.provider == cpu_device().name && !selected.has_devices;
  require(!ignores || selected.variant->provider_options.empty(), ErrorCode::not_implemented,
          "variant '{}' of component '{}' has provider_options, but the CPU takes none; remove them, or create the "
          "session with options",
          selected.variant->name, selected.component->name);
  if (selected.provider != cpu_device().name)
    options.options.providers.push_back({selected.provider, selected.variant->provider_options});
  return options;
}

}  // namespace

OrtStatusPtr ORT_API_CALL CreateModelPackageOptionsFromSessionOptions(const OrtEnv* env,
                                                                      const OrtSessionOptions* session_options,
                                                                      OrtModelPackageOptions** out) noexcept {
  return guard([&] {
    handle(env, "env");
    const OrtSessionOptions& from = handle(session_options, "session_options");
    need(out, "out");
    auto options = std::make_unique<OrtModelPackageOptions>();
    try {
      options->provider = first_provider(*env->devices, from);
      options->owner = env->devices;
      options->devices = driven_devices(*env->devices, from, options->provider);
    } catch (const Error& e) {
      throw Error(ErrorCode::fail, e.message());  // the official library returns the code FAIL here
    }
    give(out, "out", std::move(options));
  });
}

void ORT_API_CALL ReleaseModelPackageOptions(OrtModelPackageOptions* input) noexcept { release(input); }

OrtStatusPtr ORT_API_CALL CreateModelPackageContext(const char* package_root, OrtModelPackageContext** out) noexcept {
  return guard([&] {
    const std::string root = need_text(package_root, "package_root");
    need(out, "out");
    give(out, "out", std::make_unique<OrtModelPackageContext>(root));
  });
}

void ORT_API_CALL ReleaseModelPackageContext(OrtModelPackageContext* input) noexcept { release(input); }

OrtStatusPtr ORT_API_CALL ModelPackage_GetSchemaVersion(const OrtModelPackageContext* ctx,
                                                        int64_t* out_version) noexcept {
  return guard([&] {
    const ModelPackage& package = *handle(ctx, "ctx").package;
    need(out_version, "out_version") = package.schema_version();
  });
}

OrtStatusPtr ORT_API_CALL ModelPackage_GetComponentCount(const OrtModelPackageContext* ctx,
                                                         size_t* out_count) noexcept {
  return guard([&] {
    const OrtModelPackageContext& context = handle(ctx, "ctx");
    need(out_count, "out_count") = context.component_names.size();
  });
}

OrtStatusPtr ORT_API_CALL ModelPackage_GetComponentNames(const OrtModelPackageContext* ctx,
                                                         const char* const** out_names, size_t* out_count) noexcept {
  return guard([&] { return give_names(handle(ctx, "ctx").component_names, out_names, "out_names", out_count); });
}

OrtStatusPtr ORT_API_CALL ModelPackage_GetVariantCount(const OrtModelPackageContext* ctx, const char* component_name,
                                                       size_t* out_count) noexcept {
  return guard([&] {
    const PackageComponent& component = component_of(ctx, component_name);
    need(out_count, "out_count") = component.variants.size();
  });
}

OrtStatusPtr ORT_API_CALL ModelPackage_GetVariantNames(const OrtModelPackageContext* ctx, const char* component_name,
                                                       const char* const** out_variant_names,
                                                       size_t* out_count) noexcept {
  return guard([&] {
    const PackageComponent& component = component_of(ctx, component_name);
    return give_names(ctx->variant_names.at(&component), out_variant_names, "out_variant_names", out_count);
  });
}

OrtStatusPtr ORT_API_CALL ModelPackage_GetVariantEpName(const OrtModelPackageContext* ctx, const char* component_name,
                                                        const char* variant_name, const char** out_ep) noexcept {
  return guard([&] {
    const PackageComponent& component = component_of(ctx, component_name);
    const std::string_view name = need_text(variant_name, "variant_name");
    const char*& out = need(out_ep, "out_ep");
    for (const PackageVariant& variant : component.variants) {
      if (variant.name != name) continue;
      out = variant.provider ? variant.provider->c_str() : nullptr;
      return;
    }
    fail(ErrorCode::invalid_argument, "component '{}' has no variant '{}'; ask for ModelPackage_GetVariantNames",
         component.name, name);
  });
}

OrtStatusPtr ORT_API_CALL ModelPackage_ResolveStringRef(const OrtModelPackageContext* ctx, const char* base_dir,
                                                        const char* input, int must_exist,
                                                        const char** out_path) noexcept {
  return guard([&] {
    const OrtModelPackageContext& context = handle(ctx, "ctx");
    const std::string name = need_text(input, "input");
    const char*& out = need(out_path, "out_path");
    std::string path;
    try {
      path = context.package->resolve(base_dir, name, must_exist != 0);
    } catch (Error& e) {
      e.add_context(cat("'{}' in the model package", name));
      throw;
    }
    const std::lock_guard lock(context.mutex);
    out = context.resolved.insert(std::move(path)).first->c_str();
  });
}

OrtStatusPtr ORT_API_CALL SelectComponent(const OrtModelPackageContext* ctx, const char* component_name,
                                          const OrtModelPackageOptions* options,
                                          OrtModelPackageComponentContext** out) noexcept {
  return guard([&] {
    const PackageComponent& component = component_of(ctx, component_name);
    const std::string& provider = handle(options, "options").provider;
    need(out, "out");
    auto selected = std::make_unique<OrtModelPackageComponentContext>();
    selected->package = ctx->package;
    selected->component = &component;
    selected->variant = &select_variant(component, provider, [&](const PackageVariant& variant) {
      return options->devices.empty() ? rank_for_cpu(variant) : rank_for_devices(variant, options->devices);
    });
    selected->provider = provider;
    selected->has_devices = !options->devices.empty();
    give(out, "out", std::move(selected));
  });
}

void ORT_API_CALL ReleaseModelPackageComponentContext(OrtModelPackageComponentContext* input) noexcept {
  release(input);
}

OrtStatusPtr ORT_API_CALL ModelPackageComponent_GetSelectedVariantName(const OrtModelPackageComponentContext* ctx,
                                                                       const char** out_name) noexcept {
  return guard([&] {
    const PackageVariant& variant = *handle(ctx, "ctx").variant;
    need(out_name, "out_name") = variant.name.c_str();
  });
}

OrtStatusPtr ORT_API_CALL ModelPackageComponent_GetSelectedVariantFolderPath(const OrtModelPackageComponentContext* ctx,
                                                                             const char** folder_path) noexcept {
  return guard([&] {
    const PackageVariant& variant = *handle(ctx, "ctx").variant;
    need(folder_path, "folder_path") = variant.folder.c_str();
  });
}

// A caller's own options are used unchanged: those of the variant are for callers without any.
OrtStatusPtr ORT_API_CALL CreateSession(const OrtEnv* env, OrtModelPackageComponentContext* ctx,
                                        const OrtSessionOptions* session_options, OrtSession** session) noexcept {
  return guard([&]() -> OrtStatusPtr {
    handle(env, "env");
    const OrtModelPackageComponentContext& selected = handle(ctx, "ctx");
    need(session, "session");
    const PackageVariant& variant = *selected.variant;
    require(variant.model.has_value(), ErrorCode::fail,
            "variant '{}' of component '{}' names no model; give 'model_file' in its executor_info[\"ort\"]",
            variant.name, selected.component->name);
    if (session_options) return abi::CreateSession(env, variant.model->c_str(), session_options, session);
    const OrtSessionOptions asked = options_of(selected);
    return abi::CreateSession(env, variant.model->c_str(), &asked, session);
  });
}

}  // namespace retort::abi::package_api
