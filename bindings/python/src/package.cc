// Model packages: folders with a model's variants for several providers. Reading only; writing them is Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>

#include "rooms.h"
#include "session.h"

namespace nb = nanobind;

namespace retort::python {
namespace {

const OrtModelPackageApi& package_api() {
  needs(31, "model packages");
  return *api().GetModelPackageApi();
}

struct Free {
  void operator()(OrtModelPackageOptions* p) const noexcept { package_api().ReleaseModelPackageOptions(p); }
  void operator()(OrtModelPackageContext* p) const noexcept { package_api().ReleaseModelPackageContext(p); }
  void operator()(OrtModelPackageComponentContext* p) const noexcept {
    package_api().ReleaseModelPackageComponentContext(p);
  }
};
template <class T>
using Held = std::unique_ptr<T, Free>;

// C.ModelPackageOptions
struct PackageOptions {
  explicit PackageOptions(const SessionOptions& session_options) : options(session_options) {
    OrtModelPackageOptions* made = nullptr;
    check(package_api().CreateModelPackageOptionsFromSessionOptions(&env(), options.build().get(), &made));
    handle.reset(made);
  }

  SessionOptions options;
  Held<OrtModelPackageOptions> handle;
};

// C.ModelPackageComponentContext
struct Component {
  Held<OrtModelPackageComponentContext> handle;
  nb::object package;  // must outlive the handle
  SessionOptions options;

  std::string variant() const {
    const char* name = nullptr;
    check(package_api().ModelPackageComponent_GetSelectedVariantName(handle.get(), &name));
    return name ? name : "";
  }

  std::string folder() const {
    const char* path = nullptr;
    check(package_api().ModelPackageComponent_GetSelectedVariantFolderPath(handle.get(), &path));
    return path ? path : "";
  }

  // Null: the options of the package and of the selection.
  std::unique_ptr<Session> session(const SessionOptions* given) const {
    const Owned<OrtSessionOptions> built = given ? given->build() : nullptr;
    OrtEnv& environment = env();
    OrtSession* made = nullptr;
    OrtStatus* status = nullptr;
    {
      const nb::gil_scoped_release release;
      status = package_api().CreateSession(&environment, handle.get(), built.get(), &made);
    }
    check(status);
    return std::make_unique<Session>(Owned<OrtSession>(made), given ? *given : options);
  }
};

// C.ModelPackageContext
class Package {
 public:
  explicit Package(const std::string& root) {
    OrtModelPackageContext* made = nullptr;
    check(package_api().CreateModelPackageContext(root.c_str(), &made));
    handle_.reset(made);
  }

  OrtModelPackageContext* get() const noexcept { return handle_.get(); }

  int64_t schema_version() const {
    int64_t version = 0;
    check(package_api().ModelPackage_GetSchemaVersion(get(), &version));
    return version;
  }

  std::vector<std::string> components() const {
    const char* const* names = nullptr;
    size_t count = 0;
    check(package_api().ModelPackage_GetComponentNames(get(), &names, &count));
    return {names, names + count};
  }

  std::vector<std::string> variants(const std::string& component) const {
    const char* const* names = nullptr;
    size_t count = 0;
    check(package_api().ModelPackage_GetVariantNames(get(), component.c_str(), &names, &count));
    return {names, names + count};
  }

  std::optional<std::string> provider(const std::string& component, const std::string& variant) const {
    const char* name = nullptr;
    check(package_api().ModelPackage_GetVariantEpName(get(), component.c_str(), variant.c_str(), &name));
    return name ? std::optional<std::string>(name) : std::nullopt;
  }

  std::string resolve(const std::string& reference, const std::optional<std::string>& folder, bool must_exist) const {
    const char* path = nullptr;
    check(package_api().ModelPackage_ResolveStringRef(get(), folder ? folder->c_str() : nullptr, reference.c_str(),
                                                      must_exist, &path));
    return path ? path : "";
  }

 private:
  Held<OrtModelPackageContext> handle_;
};

Component* select(nb::object self, const std::string& name, const PackageOptions& options) {
  OrtModelPackageComponentContext* made = nullptr;
  check(package_api().SelectComponent(nb::cast<Package&>(self).get(), name.c_str(), options.handle.get(), &made));
  return new Component{Held<OrtModelPackageComponentContext>(made), std::move(self), options.options};
}

}  // namespace

void bind_package(nb::module_& m) {
  nb::class_<PackageOptions>(m, "ModelPackageOptions", "Providers for which a variant is selected.")
      .def(nb::init<const SessionOptions&>(), nb::arg("sess_options"));
  nb::class_<Component>(m, "ModelPackageComponentContext", nb::dynamic_attr(), "The selected variant of a component.")
      .def("get_selected_variant_name", &Component::variant, "The name of the variant.")
      .def("get_selected_variant_folder_path", &Component::folder, "The folder of the variant.")
      .def("_create_session",
           [](const Component& c, const SessionOptions* options) { return c.session(options).release(); },
           nb::arg("sess_options").none() = nb::none(), nb::rv_policy::take_ownership,
           "A session of the variant; without options, with those of the package and of the selection.");
  nb::class_<Package>(m, "ModelPackageContext", nb::is_weak_referenceable(), "An opened model package.")
      .def(nb::init<const std::string&>(), nb::arg("package_root"))
      .def("get_schema_version", &Package::schema_version, "Version of the package's format.")
      .def("get_component_count", [](const Package& p) { return p.components().size(); }, "How many components it has.")
      .def("get_component_names", &Package::components, "The names of the components.")
      .def("get_variant_count",
           [](const Package& p, const std::string& name) { return p.variants(name).size(); },
           nb::arg("component_name"), "How many variants a component has.")
      .def("get_variant_names", &Package::variants, nb::arg("component_name"), "The names of a component's variants.")
      .def("get_variant_ep_name", &Package::provider, nb::arg("component_name"), nb::arg("variant_name"),
           "The provider that a variant is for; None if it is for any.")
      .def("resolve_string_ref", &Package::resolve, nb::arg("string_ref"), nb::arg("base_dir") = nb::none(),
           nb::arg("must_exist") = false, "The path that a text of the package refers to.")
      .def("select_component", &select, nb::arg("component_name"), nb::arg("options"), nb::rv_policy::take_ownership,
           "Selects the variant of a component that fits best.");
}

}  // namespace retort::python
