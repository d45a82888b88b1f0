// Model packages: folders made on the spot, also by people with bad intentions.
#include <filesystem>
#include <map>

#include "models.h"

using scenes::Scene;
namespace fs = std::filesystem;

namespace {

constexpr const char* kAsset = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const std::string kCpu = R"("ep": "CPUExecutionProvider")";
const std::string kDense = R"("executor_info": {"ort": {"model_file": "dense.onnx"}})";

/// A folder of its own in the temporary folder, gone with the object.
class Package {
 public:
  explicit Package(const std::string& manifest = "") {
    std::string path = (fs::temp_directory_path() / "package-XXXXXX").string();
    root_ = fs::canonical(mkdtemp(path.data())).string();
    if (!manifest.empty()) write("manifest.json", manifest);
  }
  ~Package() {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }
  Package(const Package&) = delete;

  const std::string& root() const { return root_; }
  Package& write(const std::string& name, const std::string& text) {
    fs::create_directories(fs::path(root_ + "/" + name).parent_path());
    std::ofstream(root_ + "/" + name, std::ios::binary) << text;
    return *this;
  }
  Package& model(const std::string& name) { return write(name, scenes::model_bytes("dense")); }
  Package& link(const std::string& name, const std::string& to) {
    fs::create_symlink(to, root_ + "/" + name);
    return *this;
  }
  /// A path without what differs from run to run.
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
std::string manifest(const std::string& variants, const std::string& more = "") {
  return R"({"schema_version": "1.0", )" + more + R"("components": {"main": {"variants": {)" + variants + "}}}}";
}
std::string cpu_variant(const std::string& more = kDense) { return "\"cpu\": {" + kCpu + ", " + more + "}"; }

const OrtModelPackageApi& package_api(Scene& s) { return *s.api.GetModelPackageApi(); }

OrtModelPackageContext* open(Scene& s, const std::string& root) {
  OrtModelPackageContext* context = nullptr;
  s.call("CreateModelPackageContext", package_api(s).CreateModelPackageContext(root.c_str(), &context));
  return context;
}

std::string listed(const char* const* names, size_t count) {
  std::string text = std::to_string(count) + ":";
  for (size_t i = 0; i < count; ++i) text += " '" + std::string(names[i]) + "'";
  return text;
}

/// Everything that a package tells of itself.
void note_contents(Scene& s, const OrtModelPackageContext* context) {
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

OrtModelPackageOptions* package_options(Scene& s, const OrtSessionOptions* from = nullptr) {
  OrtModelPackageOptions* options = nullptr;
  s.call("options",
         package_api(s).CreateModelPackageOptionsFromSessionOptions(s.env(), from ? from : s.options(), &options));
  return options;
}

OrtModelPackageComponentContext* select(Scene& s, const Package& package, const OrtModelPackageContext* context,
                                        const char* component = "main", const OrtSessionOptions* options = nullptr) {
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

void run(Scene& s, OrtModelPackageComponentContext* selected, const OrtSessionOptions* options = nullptr) {
  OrtSession* session = nullptr;
  s.call("CreateSession", package_api(s).CreateSession(s.env(), selected, options, &session));
  s.note("session", session);
  size_t inputs = 0;
  if (session) s.call("inputs", s.api.SessionGetInputCount(session, &inputs));
  s.note("inputs", inputs);
  s.api.ReleaseSession(session);
}

/// Opens, selects for the CPU and makes a session.
void tell(Scene& s, const Package& package, const char* component = "main") {
  OrtModelPackageContext* context = open(s, package.root());
  s.note("context", context);
  if (!context) return;
  note_contents(s, context);
  if (auto* selected = select(s, package, context, component)) {
    run(s, selected);
    package_api(s).ReleaseModelPackageComponentContext(selected);
  }
  package_api(s).ReleaseModelPackageContext(context);
}

/// Whether a manifest of that text opens.
void note_opens(Scene& s, const std::string& text) {
  Package package(text);
  package.model("cpu/dense.onnx");
  s.note("manifest", std::string_view(text).substr(0, 200));
  OrtModelPackageContext* context = open(s, package.root());
  package_api(s).ReleaseModelPackageContext(context);
}

void note_resolved(Scene& s, const Package& package, const OrtModelPackageContext* context, const char* base,
                   const std::string& name) {
  for (int must_exist : {0, 1}) {
    const char* path = "untouched";
    s.call(name, package_api(s).ModelPackage_ResolveStringRef(context, base, name.c_str(), must_exist, &path));
    s.note("path", package.inside(path));
  }
}

}  // namespace

SCENE(package, inline_component) { tell(s, Package(manifest(cpu_variant())).model("cpu/dense.onnx")); }

SCENE(package, component_in_a_folder) {
  const std::string body = R"({"component_name": "other", "variants": {)" + cpu_variant() + "}}";
  const std::string text = R"({"schema_version": 1, "package_name": "n", "package_version": "4", "description": "d",
      "additional_metadata": [{}], "components": {"main": "sub", "again": "sub/component.json"}})";
  tell(s, Package(text).write("sub/component.json", body).model("sub/cpu/dense.onnx"));
  tell(s, Package(text).write("sub/component.json", body).model("sub/cpu/dense.onnx"), "again");
}

SCENE(package, setup_in_a_file) {
  const std::string variant = R"("variant_directory": "./files/", "executor_info": {"other": {}, "ort": "ort.json"})";
  tell(s, Package(manifest(cpu_variant(variant)))
              .model("files/dense.onnx")
              .write("files/ort.json", R"({"model_file": "./dense.onnx", "unknown": 1})"));
}

SCENE(package, the_first_that_fits) {
  const std::string folder = R"("variant_directory": "cpu", )" + kDense;
  for (const std::string& variants : std::initializer_list<std::string>{
           "\"gpu\": {\"ep\": \"CUDAExecutionProvider\", \"device\": \"gpu\", " + folder + "}, \"b\": {" + kCpu + ", " +
               folder + "}, \"a\": {" + kCpu + ", " + folder + "}",
           "\"named\": {" + kCpu + ", \"device\": \"cpu\", " + folder + "}",
           "\"named\": {" + kCpu + ", \"device\": \"cpu\", " + folder + "}, \"any\": {" + kCpu +
               ", \"device\": \"\", " + folder + "}",
           "\"compiled\": {" + kCpu + ", \"compatibility_string\": \"x\", " + folder + "}",
           "\"nobody\": {" + folder + "}", "\"case\": {\"ep\": \"cpuexecutionprovider\", " + folder + "}",
           "\"short\": {\"ep\": \"CPU\", " + folder + "}", ""})
    tell(s, Package(manifest(variants)).model("cpu/dense.onnx"));
}

SCENE(package, names_in_order) {
  std::string variants;
  for (const char* name : {"delta", "alpha", "Charlie", "b\\u00e4r", ""})
    variants += std::string(variants.empty() ? "" : ", ") + "\"" + name + "\": {" + kCpu + "}";
  tell(s, Package(R"({"schema_version": "1.9", "components": {"z": {"variants": {}}, "main": {"variants": {)" +
                  variants + R"(}}, "a": {"variants": {"v": {}}}}})"));
}

SCENE(package, duplicate_names) {
  const std::string wrong = R"("cpu": {"ep": "X", "executor_info": 5})";
  tell(s, Package(manifest(cpu_variant(R"("variant_directory": "nowhere")") + ", \"b\": {}, " + cpu_variant()))
              .model("cpu/dense.onnx"));
  tell(s, Package(R"({"schema_version": "2.0", "schema_version": "1.0", "components": {"a": {"variants": {}},
      "main": {"variants": {}}, "a": {"variants": {"v": {}}}}})"));
  note_opens(s, manifest(cpu_variant() + ", " + wrong));
}

SCENE(package, schema_versions) {
  for (const char* version : {"1",
                              "\"1\"",
                              "\"01.0\"",
                              "\"1.\"",
                              "\"1.0.0\"",
                              "\"2.0\"",
                              "\"0.9\"",
                              "\"-1.0\"",
                              "\"+1.0\"",
                              "\" 1.0\"",
                              "\"99999999999999999999.0\"",
                              "\"1.99999999999999999999\"",
                              "1.5",
                              "2",
                              "-1",
                              "-0",
                              "18446744073709551615",
                              "18446744073709551617",
                              "1e300",
                              "true",
                              "null",
                              "[1]",
                              "\"\"",
                              "\"a.b\""})
    note_opens(s, R"({"components": {}, "schema_version": )" + std::string(version) + "}");
  note_opens(s, R"({"components": {}})");
}

SCENE(package, broken_json) {
  const std::string good = manifest(cpu_variant());
  const std::string open_end = good.substr(0, good.size() - 1);
  for (const std::string& text :
       std::initializer_list<std::string>{"",
                                          "{",
                                          "null",
                                          "[]",
                                          "5",
                                          "\"x\"",
                                          good + "x",
                                          good + " \n",
                                          open_end + ",}",
                                          "/* */" + good,
                                          "// x\n" + good,
                                          "\xef\xbb\xbf" + good,
                                          open_end + R"(, "description": "\u0041\ud83d\ude00\/\b"})",
                                          open_end + R"(, "description": "\ud800"})",
                                          open_end + R"(, "description": "\x"})",
                                          open_end + R"(, "description": "\u00g0"})",
                                          open_end + ", \"description\": \"\xff\xfe\"}",
                                          open_end + ", \"description\": \"\xc0\xaf\"}",
                                          open_end + ", \"description\": \"\xed\xa0\x80\"}",
                                          open_end + ", \"description\": \"\xf4\x90\x80\x80\"}",
                                          open_end + ", \"description\": \"\xf0\x9f\x98\x80\"}",
                                          open_end + ", \"description\": \"a\x01\"}",
                                          open_end + R"(, "description": "a)",
                                          open_end + R"(, "description" "a"})",
                                          open_end + R"(, description: "a"})"})
    note_opens(s, text);
}

SCENE(package, numbers) {
  for (const std::string& number : std::initializer_list<std::string>{"0",
                                                                      "-0.5e-3",
                                                                      "1E+9",
                                                                      "01",
                                                                      "1.",
                                                                      "-",
                                                                      "1e",
                                                                      ".5",
                                                                      "+1",
                                                                      "0x1",
                                                                      "NaN",
                                                                      "Infinity",
                                                                      "1e999",
                                                                      "-1e999",
                                                                      "1e-999",
                                                                      std::string(500, '9'),
                                                                      std::string(30, '9'),
                                                                      "[1, 2,]",
                                                                      "[1 2]",
                                                                      "[true, false, null]",
                                                                      "tru"})
    note_opens(s, R"({"schema_version": "1.0", "components": {}, "additional_metadata": )" + number + "}");
}

SCENE(package, deep_nesting) {
  for (size_t depth : {100, 100000}) {
    note_opens(s, R"({"schema_version": "1.0", "components": {}, "additional_metadata": )" + std::string(depth, '[') +
                      std::string(depth, ']') + "}");
  }
}

SCENE(package, types_of_members) {
  for (const char* value : {"5", "null", "[]", "{}", "\"x\""}) {
    for (const char* key : {"package_name", "package_version", "description", "layout", "shared_assets", "components",
                            "additional_metadata", "unknown"}) {
      const bool components = std::string_view(key) == "components";
      note_opens(s, std::string(R"({"schema_version": "1.0", )") + (components ? "" : R"("components": {}, )") + "\"" +
                        key + "\": " + value + "}");
    }
    note_opens(s, std::string(R"({"schema_version": "1.0", "components": {"main": )") + value + "}}");
    for (const char* key : {"component_name", "variants", "additional_metadata", "unknown"})
      note_opens(s, std::string(R"({"schema_version": "1.0", "components": {"main": {"variants": {}, ")") + key +
                        "\": " + value + "}}}");
    note_opens(s, manifest(std::string("\"cpu\": ") + value));
    for (const char* key : {"ep", "device", "compatibility_string", "variant_directory", "executor_info",
                            "additional_metadata", "unknown"})
      note_opens(s, manifest(std::string("\"cpu\": {\"") + key + "\": " + value + "}"));
  }
}

SCENE(package, types_in_the_setup) {
  for (const char* value :
       {"5", "null", "[]", "{}", "\"x\"", "{\"a\": 1}", "{\"a\": null}", "{\"a\": \"b\"}", "{\"a\\u0000b\": \"c\"}"}) {
    const std::string text = value;
    note_opens(s, manifest(cpu_variant(R"("executor_info": {"other": )" + text + "}")));
    note_opens(s, manifest(cpu_variant(R"("executor_info": {"ort": )" + text + "}")));
    for (const char* key : {"model_file", "session_options", "provider_options", "unknown"})
      note_opens(s, manifest(cpu_variant(std::string(R"("executor_info": {"ort": {")") + key + "\": " + text + "}}")));
  }
}

SCENE(package, setup_files_that_are_wrong) {
  const std::string variant = R"("executor_info": {"ort": "ort.json"})";
  for (const char* text : {"", "[1]", "\"dense.onnx\"", "{", "{}", "{/**/}", R"({"model_file": 1})"})
    tell(s, Package(manifest(cpu_variant(variant))).write("cpu/ort.json", text));
  tell(s, Package(manifest(cpu_variant(variant))).write("ort.json", "{}"));
  tell(s, Package(manifest(cpu_variant(R"("executor_info": {"other": "nowhere.json"})"))).model("cpu/dense.onnx"));
}

SCENE(package, files_that_are_missing) {
  tell(s, Package());
  tell(s, Package().write("manifest.json/file", ""));
  tell(s, Package(R"({"schema_version": "1.0", "components": {"main": "nowhere"}})"));
  tell(s, Package(R"({"schema_version": "1.0", "components": {"main": "sub"}})").write("sub/other.json", "{}"));
  tell(s, Package(R"({"schema_version": "1.0", "components": {"main": "sub"}})").write("sub/component.json", "["));
  tell(s, Package(R"({"schema_version": "1.0", "components": {"main": "sub"}})").write("sub/component.json/x", ""));
  tell(s, Package(manifest(cpu_variant(R"("variant_directory": "nowhere")"))));
  tell(s, Package(manifest(cpu_variant())).write("cpu/other", ""));
  tell(s, Package(manifest(cpu_variant())));  // no folder: beside the manifest
  tell(s, Package(manifest(cpu_variant())).model("dense.onnx"));
  tell(s, Package(manifest(cpu_variant(R"("executor_info": {})"))).model("cpu/dense.onnx"));
  tell(s, Package(manifest(cpu_variant(R"("executor_info": {"ort": {}})"))).model("cpu/dense.onnx"));
}

SCENE(package, roots_that_are_none) {
  for (const char* root : {"", "/nowhere/at/all", "/etc/passwd", "/dev/null"}) {
    s.note("root", root);
    open(s, root);
  }
  OrtModelPackageContext* context = nullptr;
  s.call("null root", package_api(s).CreateModelPackageContext(nullptr, &context));
  Package package(manifest(cpu_variant()));
  s.call("null out", package_api(s).CreateModelPackageContext(package.root().c_str(), nullptr));
}

SCENE(package, cycles) {
  // A component that is the manifest, one that names components, links that lead to themselves.
  tell(s, Package(R"({"schema_version": "1.0", "components": {"main": "manifest.json"}})"));
  tell(s, Package(R"({"schema_version": "1.0", "components": {"main": "."}})")
              .write("component.json", R"({"components": {"main": "."}, "variants": {}})"));
  tell(s, Package(manifest(cpu_variant(R"("variant_directory": "loop")"))).link("loop", "loop"));
  tell(s, Package(manifest(cpu_variant(R"("variant_directory": "a/a/a/cpu", )" + kDense)))
              .model("cpu/dense.onnx")
              .link("a", "."));
  tell(s, Package(R"({"schema_version": "1.0", "components": {"main": "loop"}})").link("loop", "manifest.json"));
}

SCENE(package, paths_that_leave) {
  for (const char* layout : {"portable", "installed"}) {
    const std::string more = std::string(R"("layout": ")") + layout + "\", ";
    for (const std::string& path :
         std::initializer_list<std::string>{"..", "../cpu", "cpu/../cpu", "cpu/..", "cpu/../../..", "/", "/tmp",
                                            "/etc/passwd", "", ".", "cpu/.", "cpu//", "a..b"}) {
      s.note("path", std::string_view(path).substr(0, 40));
      Package variant(manifest(cpu_variant(R"("variant_directory": ")" + path + "\""), more));
      open(s, variant.model("cpu/dense.onnx").root());
      Package model(manifest(cpu_variant(R"("executor_info": {"ort": {"model_file": ")" + path + "\"}}"), more));
      open(s, model.model("cpu/dense.onnx").root());
      Package component(R"({"schema_version": "1.0", )" + more + R"("components": {"main": ")" + path + "\"}}");
      open(s, component.model("cpu/dense.onnx").root());
      Package setup(manifest(cpu_variant(R"("executor_info": {"ort": ")" + path + "\"}"), more));
      open(s, setup.model("cpu/dense.onnx").root());
      Package asset(manifest(cpu_variant(), more + R"("shared_assets": {")" + kAsset + "\": \"" + path + "\"}, "));
      open(s, asset.model("cpu/dense.onnx").root());
    }
    // The name of a variant is a path, too, where no other is given.
    for (const char* name : {"/etc", "..", "../x", "a/b"}) {
      Package package(manifest(std::string("\"") + name + "\": {" + kCpu + "}", more));
      tell(s, package.write("a/b/file", ""));
    }
  }
}

SCENE(package, links_that_leave) {
  Package elsewhere;
  elsewhere.model("dense.onnx");
  for (const char* layout : {"portable", "installed"}) {
    const std::string text = manifest(cpu_variant(), std::string(R"("layout": ")") + layout + "\", ");
    for (auto [name, to] : {std::pair<std::string, std::string>{"cpu", elsewhere.root()},
                            {"cpu", "."},
                            {"dense.onnx", elsewhere.root() + "/dense.onnx"}}) {
      Package package(text);
      if (name == "cpu") package.model("dense.onnx");
      OrtModelPackageContext* context = open(s, package.link(name, to).root());
      s.note("opens", context);
      if (!context) continue;
      OrtModelPackageComponentContext* selected = nullptr;
      OrtModelPackageOptions* options = package_options(s);
      s.call("SelectComponent", package_api(s).SelectComponent(context, "main", options, &selected));
      if (selected) run(s, selected);
    }
  }
}

SCENE(package, shared_assets) {
  const std::string folder = "shared_assets/sha256-" + std::string(kAsset).substr(7);
  const std::string setup = std::string(R"("executor_info": {"ort": {"model_file": ")") + kAsset + "/dense.onnx\"}}";
  tell(s, Package(manifest(cpu_variant(setup))).model(folder + "/dense.onnx"));
  tell(s, Package(manifest(cpu_variant(setup))).write("shared_assets/" + std::string(kAsset) + "/x", ""));
  tell(s, Package(manifest(cpu_variant(setup))).write(folder, "a file"));
  tell(s, Package(manifest(cpu_variant(setup), std::string(R"("shared_assets": {")") + kAsset + "\": \"cpu\"}, "))
              .model("cpu/dense.onnx")
              .model(folder + "/other.onnx"));
  for (const char* entry : {R"("x": "y")", R"("sha256:aa": "cpu")",
                            R"("sha256:0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef": "cpu")",
                            R"("sha256:g123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef": "cpu")"})
    note_opens(s, manifest(cpu_variant(), std::string(R"("shared_assets": {)") + entry + "}, "));
  // Only the resolver and the model know them.
  tell(s, Package(manifest(cpu_variant(std::string(R"("variant_directory": ")") + kAsset + "\"")))
              .model(folder + "/dense.onnx"));
}

SCENE(package, resolve) {
  const std::string folder = "shared_assets/sha256-" + std::string(kAsset).substr(7);
  for (const char* layout : {"portable", "installed"}) {
    Package package(manifest(cpu_variant(), std::string(R"("layout": ")") + layout + "\", "));
    package.model("cpu/dense.onnx").write(folder + "/tok.json", "{}").link("out", "/tmp").link("in", "cpu");
    package.link(folder + "/up", "/tmp");
    OrtModelPackageContext* context = open(s, package.root());
    const std::string asset = kAsset, cpu = package.root() + "/cpu";
    for (const std::string& name : std::initializer_list<std::string>{"cpu",
                                                                      "nowhere",
                                                                      "../nowhere",
                                                                      "/etc",
                                                                      "",
                                                                      "cpu//dense.onnx",
                                                                      "./cpu/",
                                                                      "..",
                                                                      "a\\\\b",
                                                                      "C:\\\\x",
                                                                      "C:/x",
                                                                      "out",
                                                                      "out/nowhere",
                                                                      "in",
                                                                      "in/dense.onnx",
                                                                      asset,
                                                                      asset + "/",
                                                                      asset + "/tok.json",
                                                                      asset + "/nowhere",
                                                                      asset + "/../x",
                                                                      asset + "//etc",
                                                                      asset + "/up",
                                                                      asset + "/up/nowhere",
                                                                      "sha256:xyz",
                                                                      "SHA256:" + asset,
                                                                      "sha256:" + std::string(64, 'f'),
                                                                      "sha256:" + std::string(63, 'f'),
                                                                      "sha256:" + std::string(64, 'F')})
      note_resolved(s, package, context, nullptr, name);
    for (const std::string& base : {std::string(), cpu, cpu + "/", cpu + "/..", package.root() + "/..",
                                    std::string("/tmp"), std::string("/nowhere/at/all")})
      note_resolved(s, package, context, base.c_str(), "dense.onnx");
    const char* path = "untouched";
    s.call("null input", package_api(s).ModelPackage_ResolveStringRef(context, nullptr, nullptr, 0, &path));
    s.call("null out", package_api(s).ModelPackage_ResolveStringRef(context, nullptr, "cpu", 0, nullptr));
    s.note("path", path);
  }
}

SCENE(package, session_options) {
  const auto with = [](const std::string& options) {
    return manifest(cpu_variant(R"("executor_info": {"ort": {"model_file": "dense.onnx", "session_options": {)" +
                                options + R"(}, "provider_options": {"use_arena": "0"}}})"));
  };
  const std::string no_fallback = R"("session.disable_cpu_ep_fallback": "1")";
  for (const std::string& options : std::initializer_list<std::string>{
           R"("session.intra_op.allow_spinning": "0", "no.such.option": "x")", no_fallback, "\"\": \"x\"",
           "\"" + std::string(1025, 'k') + "\": \"x\"", R"("session.optimized_model_filepath": "x")",
           R"("session.enable_profiling": "x")", R"("session.collect_node_memory_stats_to_file": "x")",
           R"("session.debug_layout_transformation": "1")"}) {
    tell(s, Package(with(options)).model("cpu/dense.onnx"));
  }
  // Options of the caller's are taken as they are.
  Package package(with(no_fallback));
  OrtModelPackageContext* context = open(s, package.model("cpu/dense.onnx").root());
  OrtModelPackageComponentContext* selected = select(s, package, context);
  run(s, selected);
  run(s, selected, s.options());
  OrtSessionOptions* strict = s.options();
  CALL(AddSessionConfigEntry, strict, "session.disable_cpu_ep_fallback", "1");
  run(s, selected, strict);
  // Options of which the wish was made only said which provider.
  OrtModelPackageComponentContext* again = select(s, package, context, "main", strict);
  run(s, again, s.options());
}

namespace {

OrtStatus* ORT_API_CALL first_device(const OrtEpDevice** devices, size_t count, const OrtKeyValuePairs* model,
                                     const OrtKeyValuePairs* runtime, const OrtEpDevice** selected, size_t room,
                                     size_t* selected_count, void* state) {
  Scene& s = *static_cast<Scene*>(state);
  s.note("devices", count);
  s.note("model", model);
  s.note("runtime", runtime);
  s.note("room", room);
  selected[0] = devices[0];
  *selected_count = 1;
  return nullptr;
}
OrtStatus* ORT_API_CALL no_device(const OrtEpDevice**, size_t, const OrtKeyValuePairs*, const OrtKeyValuePairs*,
                                  const OrtEpDevice**, size_t, size_t* selected_count, void*) {
  *selected_count = 0;
  return nullptr;
}
OrtStatus* ORT_API_CALL refuses(const OrtEpDevice**, size_t, const OrtKeyValuePairs*, const OrtKeyValuePairs*,
                                const OrtEpDevice**, size_t, size_t*, void* state) {
  return static_cast<Scene*>(state)->api.CreateStatus(ORT_NO_SUCHFILE, "no device today");
}

}  // namespace

SCENE(package, providers_of_the_options) {
  Package package(manifest(cpu_variant()));
  OrtModelPackageContext* context = open(s, package.model("cpu/dense.onnx").root());
  const OrtEpDevice* const* devices = nullptr;
  size_t count = 0;
  CALL(GetEpDevices, s.env(), &devices, &count);
  OrtSessionOptions *named = s.options(), *chosen = s.options(), *twice = s.options(), *both = s.options();
  CALL(SessionOptionsAppendExecutionProvider, named, "CPU", nullptr, nullptr, 0);
  CALL(SessionOptionsAppendExecutionProvider_V2, chosen, s.env(), devices, 1, nullptr, nullptr, 0);
  for (int i = 0; i < 2; ++i)
    CALL(SessionOptionsAppendExecutionProvider_V2, twice, s.env(), devices, 1, nullptr, nullptr, 0);
  const OrtEpDevice* same[] = {devices[0], devices[0]};
  CALL(SessionOptionsAppendExecutionProvider_V2, both, s.env(), same, 2, nullptr, nullptr, 0);
  for (OrtSessionOptions* options : {named, chosen, twice, both}) select(s, package, context, "main", options);
  for (auto policy : {OrtExecutionProviderDevicePolicy_PREFER_CPU, OrtExecutionProviderDevicePolicy_PREFER_GPU}) {
    OrtSessionOptions* options = s.options();
    CALL(SessionOptionsSetEpSelectionPolicy, options, policy);
    select(s, package, context, "main", options);
  }
  for (EpSelectionDelegate delegate : {&first_device, &no_device, &refuses}) {
    OrtSessionOptions* options = s.options();
    CALL(SessionOptionsSetEpSelectionPolicyDelegate, options, delegate, &s);
    select(s, package, context, "main", options);
  }
}

SCENE(package, names_that_are_not_there) {
  const OrtModelPackageApi& p = package_api(s);
  Package package(manifest(cpu_variant()));
  OrtModelPackageContext* context = open(s, package.model("cpu/dense.onnx").root());
  size_t count = 77;
  const char* const* names = nullptr;
  const char* ep = "untouched";
  for (const char* component : {"nobody", "", "Main", static_cast<const char*>(nullptr)}) {
    s.call("count", p.ModelPackage_GetVariantCount(context, component, &count));
    s.call("names", p.ModelPackage_GetVariantNames(context, component, &names, &count));
    s.call("ep", p.ModelPackage_GetVariantEpName(context, component, "cpu", &ep));
    OrtModelPackageComponentContext* selected = nullptr;
    s.call("select", p.SelectComponent(context, component, package_options(s), &selected));
    s.note("selected", selected);
  }
  for (const char* variant : {"nobody", "", static_cast<const char*>(nullptr)})
    s.call("ep", p.ModelPackage_GetVariantEpName(context, "main", variant, &ep));
  s.note("ep", ep);
  s.note("count", count);
  s.note("names", static_cast<const void*>(names));
}

SCENE(package, null_arguments) {
  const OrtModelPackageApi& p = package_api(s);
  Package package(manifest(cpu_variant()));
  OrtModelPackageContext* context = open(s, package.model("cpu/dense.onnx").root());
  const char* const* names = nullptr;
  size_t count = 77;
  s.call("version", p.ModelPackage_GetSchemaVersion(context, nullptr));
  s.call("count", p.ModelPackage_GetComponentCount(context, nullptr));
  s.call("names", p.ModelPackage_GetComponentNames(context, nullptr, &count));
  s.call("names", p.ModelPackage_GetComponentNames(context, &names, nullptr));
  s.call("variants", p.ModelPackage_GetVariantCount(context, "main", nullptr));
  s.call("variants", p.ModelPackage_GetVariantNames(context, "main", nullptr, &count));
  s.call("variants", p.ModelPackage_GetVariantNames(context, "main", &names, nullptr));
  s.call("ep", p.ModelPackage_GetVariantEpName(context, "main", "cpu", nullptr));
  OrtModelPackageOptions* options = package_options(s);
  OrtModelPackageComponentContext* selected = nullptr;
  s.call("select", p.SelectComponent(context, "main", nullptr, &selected));
  s.call("select", p.SelectComponent(context, "main", options, nullptr));
  s.call("select", p.SelectComponent(nullptr, "main", options, &selected));
  s.call("select", p.SelectComponent(context, "main", options, &selected));
  s.call("name", p.ModelPackageComponent_GetSelectedVariantName(selected, nullptr));
  s.call("folder", p.ModelPackageComponent_GetSelectedVariantFolderPath(selected, nullptr));
  OrtSession* session = nullptr;
  s.call("session", p.CreateSession(nullptr, selected, nullptr, &session));
  s.call("session", p.CreateSession(s.env(), nullptr, nullptr, &session));
  s.call("session", p.CreateSession(s.env(), selected, nullptr, nullptr));
  s.note("count", count);
}

SCENE(package, what_outlives_what) {
  Package package(manifest(cpu_variant()));
  OrtModelPackageContext* context = open(s, package.model("cpu/dense.onnx").root());
  OrtModelPackageComponentContext* selected = select(s, package, context);
  package_api(s).ReleaseModelPackageContext(context);
  run(s, selected);
  run(s, selected);
  OrtSession* session = nullptr;
  s.call("CreateSession", package_api(s).CreateSession(s.env(), selected, nullptr, &session));
  package_api(s).ReleaseModelPackageComponentContext(selected);
  size_t inputs = 0;
  CALL(SessionGetInputCount, session, &inputs);
  s.note("inputs", inputs);
}
