// Model packages for scenes: folders that a scene makes, and their descriptions.
#pragma once
#include <cstdlib>
#include <filesystem>

#include "models.h"

namespace scenes {

inline constexpr const char* kAsset = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
inline const std::string kCpu = R"("ep": "CPUExecutionProvider")";
inline const std::string kDense = R"("executor_info": {"ort": {"model_file": "dense.onnx"}})";

/// A folder below the temporary folder; the destructor removes it.
class Package {
 public:
  explicit Package(const std::string& manifest = "") {
    std::string path = (std::filesystem::temp_directory_path() / "package-XXXXXX").string();
    root_ = std::filesystem::canonical(mkdtemp(path.data())).string();
    if (!manifest.empty()) write("manifest.json", manifest);
  }
  ~Package() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  Package(const Package&) = delete;

  const std::string& root() const { return root_; }
  Package& write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + "/" + name).parent_path());
    std::ofstream(root_ + "/" + name, std::ios::binary) << text;
    return *this;
  }
  Package& model(const std::string& name) { return write(name, scenes::model_bytes("dense")); }
  Package& link(const std::string& name, const std::string& to) {
    std::filesystem::create_symlink(to, root_ + "/" + name);
    return *this;
  }
  /// A path without the part that changes from run to run.
  std::string inside(const char* path) const {
    if (!path) return "null";
    std::string text = path;
    if (text.rfind(root_, 0) == 0) text.replace(0, root_.size(), "<package>");
    return text;
  }

 private:
  std::string root_;
};

/// A manifest whose component "main" has these variants.
inline std::string manifest(const std::string& variants, const std::string& more = "") {
  return R"({"schema_version": "1.0", )" + more + R"("components": {"main": {"variants": {)" + variants + "}}}}";
}
inline std::string cpu_variant(const std::string& more = kDense) { return "\"cpu\": {" + kCpu + ", " + more + "}"; }

inline const OrtModelPackageApi& package_api(Scene& s) { return *s.api.GetModelPackageApi(); }

inline OrtModelPackageContext* open_package(Scene& s, const std::string& root) {
  OrtModelPackageContext* context = nullptr;
  s.call("CreateModelPackageContext", package_api(s).CreateModelPackageContext(root.c_str(), &context));
  return context;
}

inline std::string listed(const char* const* names, size_t count) {
  std::string text = std::to_string(count) + ":";
  for (size_t i = 0; i < count; ++i) text += " '" + std::string(names[i]) + "'";
  return text;
}

/// Notes everything that the interface returns about a package.
inline void note_contents(Scene& s, const OrtModelPackageContext* context) {
  const OrtModelPackageApi& p = package_api(s);
  int64_t version = -7;
  s.call("version", p.ModelPackage_GetSchemaVersion(context, &version));
  s.note("version", version);
  const char* const* names = nullptr;
  size_t count = 77, components = 77;
  s.call("count", p.ModelPackage_GetComponentCount(context, &count));
  s.call("names", p.ModelPackage_GetComponentNames(context, &names, &components));
  s.note("components", listed(names, components) + " of " + std::to_string(count));
  for (size_t i = 0; i < components; ++i) {
    const char* const* variants = nullptr;
    size_t n = 77;
    s.call("variant count", p.ModelPackage_GetVariantCount(context, names[i], &count));
    s.call("variant names", p.ModelPackage_GetVariantNames(context, names[i], &variants, &n));
    s.note("variants", listed(variants, n) + " of " + std::to_string(count));
    for (size_t k = 0; k < n; ++k) {
      const char* ep = "untouched";
      s.call("ep", p.ModelPackage_GetVariantEpName(context, names[i], variants[k], &ep));
      s.note("ep", ep);
    }
  }
}

inline OrtModelPackageOptions* package_options(Scene& s, const OrtSessionOptions* from = nullptr) {
  OrtModelPackageOptions* options = nullptr;
  s.call("options",
         package_api(s).CreateModelPackageOptionsFromSessionOptions(s.env(), from ? from : s.options(), &options));
  return options;
}

inline OrtModelPackageComponentContext* select(Scene& s, const Package& package, const OrtModelPackageContext* context,
                                               const char* component = "main",
                                               const OrtSessionOptions* options = nullptr) {
  const OrtModelPackageApi& p = package_api(s);
  OrtModelPackageComponentContext* selected = nullptr;
  OrtModelPackageOptions* wishes = package_options(s, options);
  if (!wishes) return nullptr;
  s.call("SelectComponent", p.SelectComponent(context, component, wishes, &selected));
  p.ReleaseModelPackageOptions(wishes);
  if (!selected) return nullptr;
  const char *name = nullptr, *folder = nullptr;
  s.call("name", p.ModelPackageComponent_GetSelectedVariantName(selected, &name));
  s.call("folder", p.ModelPackageComponent_GetSelectedVariantFolderPath(selected, &folder));
  s.note("selected", name);
  s.note("folder", package.inside(folder));
  return selected;
}

inline void run_selected(Scene& s, OrtModelPackageComponentContext* selected,
                         const OrtSessionOptions* options = nullptr) {
  OrtSession* session = nullptr;
  s.call("CreateSession", package_api(s).CreateSession(s.env(), selected, options, &session));
  s.note("session", session);
  size_t inputs = 0;
  if (session) s.call("inputs", s.api.SessionGetInputCount(session, &inputs));
  s.note("inputs", inputs);
  s.api.ReleaseSession(session);
}

/// Opens a package, selects for the CPU and makes a session.
inline void tell_package(Scene& s, const Package& package, const char* component = "main") {
  OrtModelPackageContext* context = open_package(s, package.root());
  s.note("context", context);
  if (!context) return;
  note_contents(s, context);
  if (auto* selected = select(s, package, context, component)) {
    run_selected(s, selected);
    package_api(s).ReleaseModelPackageComponentContext(selected);
  }
  package_api(s).ReleaseModelPackageContext(context);
}

/// Notes whether a manifest of that text opens.
inline void note_opens(Scene& s, const std::string& text) {
  Package package(text);
  package.model("cpu/dense.onnx");
  s.note("manifest", std::string_view(text).substr(0, 200));
  OrtModelPackageContext* context = open_package(s, package.root());
  package_api(s).ReleaseModelPackageContext(context);
}

}  // namespace scenes
