// Model packages: the folder of a model in several variants, and the choice among them.
#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gil_lock.h"
#include "options.h"
#include "rooms.h"
#include "session.h"
#include "text.h"

namespace nb = nanobind;

namespace retort::python {
namespace {

const OrtModelPackageApi& package_api() {
  needs(31, "model packages");
  return *api().GetModelPackageApi();
}

struct ReleasePackage {
  void operator()(OrtModelPackageContext* p) const noexcept { package_api().ReleaseModelPackageContext(p); }
  void operator()(OrtModelPackageOptions* p) const noexcept { package_api().ReleaseModelPackageOptions(p); }
  void operator()(OrtModelPackageComponentContext* p) const noexcept {
    package_api().ReleaseModelPackageComponentContext(p);
  }
};
template <class T>
using OwnedPackage = std::unique_ptr<T, ReleasePackage>;

// C.ModelPackageOptions: the provider that the selection is for, from session options.
class PackageOptions {
 public:
  explicit PackageOptions(const SessionOptions& options) {
    const Owned<OrtSessionOptions> built = options.build();
    OrtModelPackageOptions* made = nullptr;
    check(package_api().CreateModelPackageOptionsFromSessionOptions(&env(), built.get(), &made));
    handle_.reset(made);
  }

  const OrtModelPackageOptions* get() const noexcept { return handle_.get(); }

 private:
  OwnedPackage<OrtModelPackageOptions> handle_;
};

// C.ModelPackageComponentContext: a component, and the variant of it that was selected.
class Component {
 public:
  Component(const OrtModelPackageContext* package, const std::string& name, const PackageOptions& options) {
    OrtModelPackageComponentContext* made = nullptr;
    check(package_api().SelectComponent(package, c_text(name), options.get(), &made));
    handle_.reset(made);
  }

  std::string variant() const {
    const char* name = nullptr;
    check(package_api().ModelPackageComponent_GetSelectedVariantName(handle_.get(), &name));
    return name;
  }

  std::string folder() const {
    const char* path = nullptr;
    check(package_api().ModelPackageComponent_GetSelectedVariantFolderPath(handle_.get(), &path));
    return path;
  }

  // Null options: those of the package.
  std::unique_ptr<Session> create_session(const SessionOptions* options) const {
    const SessionOptions none;
    const Owned<OrtSessionOptions> built = options ? options->build() : Owned<OrtSessionOptions>();
    OrtEnv& environment = env();
    OrtSession* session = nullptr;
    OrtStatus* status = nullptr;
    {
      const WithoutGil release;
      status = package_api().CreateSession(&environment, handle_.get(), built.get(), &session);
    }
    check(status);
    return std::make_unique<Session>(Owned<OrtSession>(session), options ? *options : none);
  }

 private:
  OwnedPackage<OrtModelPackageComponentContext> handle_;
};

// C.ModelPackageContext: a package that is open for reading.
class Package {
 public:
  explicit Package(const std::filesystem::path& root) {
    OrtModelPackageContext* made = nullptr;
    check(package_api().CreateModelPackageContext(c_text(root.native()), &made));
    handle_.reset(made);
  }

  const OrtModelPackageContext* get() const noexcept { return handle_.get(); }

  int64_t schema_version() const {
    int64_t version = 0;
    check(package_api().ModelPackage_GetSchemaVersion(get(), &version));
    return version;
  }

  size_t component_count() const {
    size_t count = 0;
    check(package_api().ModelPackage_GetComponentCount(get(), &count));
    return count;
  }

  std::vector<std::string> components() const {
    const char* const* names = nullptr;
    size_t count = 0;
    check(package_api().ModelPackage_GetComponentNames(get(), &names, &count));
    return {names, names + count};
  }

  size_t variant_count(const std::string& component) const {
    size_t count = 0;
    check(package_api().ModelPackage_GetVariantCount(get(), c_text(component), &count));
    return count;
  }

  std::vector<std::string> variants(const std::string& component) const {
    const char* const* names = nullptr;
    size_t count = 0;
    check(package_api().ModelPackage_GetVariantNames(get(), c_text(component), &names, &count));
    return {names, names + count};
  }

  std::optional<std::string> provider_of(const std::string& component, const std::string& variant) const {
    const char* name = nullptr;
    check(package_api().ModelPackage_GetVariantEpName(get(), c_text(component), c_text(variant), &name));
    return name ? std::optional<std::string>(name) : std::nullopt;
  }

  std::string resolve(const std::string& text, const std::optional<std::string>& folder, bool must_exist) const {
    const char* path = nullptr;
    check(package_api().ModelPackage_ResolveStringRef(get(), folder ? c_text(*folder) : nullptr, c_text(text),
                                                      must_exist, &path));
    return path;
  }

 private:
  OwnedPackage<OrtModelPackageContext> handle_;
};

void bind_component(nb::module_& m) {
  nb::class_<Component>(m, "ModelPackageComponentContext",
                        "A component of a model package, and the variant of it that was selected.")
      .def("get_selected_variant_name", &Component::variant, "The name of the selected variant.")
      .def("get_selected_variant_folder_path", &Component::folder, "The folder of the selected variant.")
      .def("_create_session", &Component::create_session, nb::arg("sess_options").none() = nb::none(),
           "A native session of the selected variant.");
}

void bind_package(nb::module_& m) {
  nb::class_<Package>(m, "ModelPackageContext", "A model package that is open for reading.")
      .def(nb::init<const std::filesystem::path&>(), nb::arg("package_root"), "Opens the package in a folder.")
      .def("get_schema_version", &Package::schema_version, "The version of the package's format.")
      .def("get_component_count", &Package::component_count, "How many components there are.")
      .def("get_component_names", &Package::components, "The names of the components.")
      .def("get_variant_count", &Package::variant_count, nb::arg("component_name"),
           "How many variants a component has.")
      .def("get_variant_names", &Package::variants, nb::arg("component_name"), "The names of a component's variants.")
      .def("get_variant_ep_name", &Package::provider_of, nb::arg("component_name"), nb::arg("variant_name"),
           "The provider that a variant is for, or None.")
      .def("resolve_string_ref", &Package::resolve, nb::arg("string_ref"), nb::arg("base_dir").none() = nb::none(),
           nb::arg("must_exist") = false,
           "The path that a text of a description stands for; base_dir is the folder that relative ones begin in.")
      .def(
          "select_component",
          [](const Package& package, const std::string& name, const PackageOptions& options) {
            return std::make_unique<Component>(package.get(), name, options);
          },
          nb::arg("component_name"), nb::arg("options"), nb::keep_alive<0, 1>(), nb::keep_alive<0, 3>(),
          "Selects the variant of a component that fits the provider of the options.");
}

}  // namespace

void bind_packages(nb::module_& m) {
  nb::class_<PackageOptions>(m, "ModelPackageOptions", "The provider for which variants are selected.")
      .def(nb::init<const SessionOptions&>(), nb::arg("sess_options"), nb::keep_alive<1, 2>(),
           "Takes the first provider of session options, or the one that their policy selects.");
  bind_component(m);
  bind_package(m);
}

}  // namespace retort::python
