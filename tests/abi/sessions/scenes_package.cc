// Model packages: what is in one, what is selected of it, and what runs.
#include "package.h"

using namespace scenes;  // NOLINT: the helpers of packages

namespace {

void note_resolved(Scene& s, const Package& package, const OrtModelPackageContext* context, const char* base,
                   const std::string& name) {
  for (int must_exist : {0, 1}) {
    const char* path = "untouched";
    s.call(name, package_api(s).ModelPackage_ResolveStringRef(context, base, name.c_str(), must_exist, &path));
    s.note("path", package.inside(path));
  }
}

}  // namespace

SCENE(package, inline_component) { tell_package(s, Package(manifest(cpu_variant())).model("cpu/dense.onnx")); }

SCENE(package, component_in_a_folder) {
  const std::string body = R"({"component_name": "other", "variants": {)" + cpu_variant() + "}}";
  const std::string text = R"({"schema_version": 1, "package_name": "n", "package_version": "4", "description": "d",
      "additional_metadata": [{}], "components": {"main": "sub", "again": "sub/component.json"}})";
  tell_package(s, Package(text).write("sub/component.json", body).model("sub/cpu/dense.onnx"));
  tell_package(s, Package(text).write("sub/component.json", body).model("sub/cpu/dense.onnx"), "again");
}

SCENE(package, setup_in_a_file) {
  const std::string variant = R"("variant_directory": "./files/", "executor_info": {"other": {}, "ort": "ort.json"})";
  tell_package(s, Package(manifest(cpu_variant(variant)))
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
    tell_package(s, Package(manifest(variants)).model("cpu/dense.onnx"));
}

SCENE(package, names_in_order) {
  std::string variants;
  for (const char* name : {"delta", "alpha", "Charlie", "b\\u00e4r", ""})
    variants += std::string(variants.empty() ? "" : ", ") + "\"" + name + "\": {" + kCpu + "}";
  tell_package(s, Package(R"({"schema_version": "1.9", "components": {"z": {"variants": {}}, "main": {"variants": {)" +
                          variants + R"(}}, "a": {"variants": {"v": {}}}}})"));
}

SCENE(package, shared_assets) {
  const std::string folder = "shared_assets/sha256-" + std::string(kAsset).substr(7);
  const std::string setup = std::string(R"("executor_info": {"ort": {"model_file": ")") + kAsset + "/dense.onnx\"}}";
  tell_package(s, Package(manifest(cpu_variant(setup))).model(folder + "/dense.onnx"));
  tell_package(s, Package(manifest(cpu_variant(setup))).write("shared_assets/" + std::string(kAsset) + "/x", ""));
  tell_package(s, Package(manifest(cpu_variant(setup))).write(folder, "a file"));
  tell_package(s,
               Package(manifest(cpu_variant(setup), std::string(R"("shared_assets": {")") + kAsset + "\": \"cpu\"}, "))
                   .model("cpu/dense.onnx")
                   .model(folder + "/other.onnx"));
  for (const char* entry : {R"("x": "y")", R"("sha256:aa": "cpu")",
                            R"("sha256:0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef": "cpu")",
                            R"("sha256:g123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef": "cpu")"})
    note_opens(s, manifest(cpu_variant(), std::string(R"("shared_assets": {)") + entry + "}, "));
  // Only the resolver and the model know them.
  tell_package(s, Package(manifest(cpu_variant(std::string(R"("variant_directory": ")") + kAsset + "\"")))
                      .model(folder + "/dense.onnx"));
}

SCENE(package, resolve) {
  const std::string folder = "shared_assets/sha256-" + std::string(kAsset).substr(7);
  for (const char* layout : {"portable", "installed"}) {
    Package package(manifest(cpu_variant(), std::string(R"("layout": ")") + layout + "\", "));
    package.model("cpu/dense.onnx").write(folder + "/tok.json", "{}").link("out", "/tmp").link("in", "cpu");
    package.link(folder + "/up", "/tmp");
    OrtModelPackageContext* context = open_package(s, package.root());
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
    tell_package(s, Package(with(options)).model("cpu/dense.onnx"));
  }
  // Options of the caller's are taken as they are.
  Package package(with(no_fallback));
  OrtModelPackageContext* context = open_package(s, package.model("cpu/dense.onnx").root());
  OrtModelPackageComponentContext* selected = select(s, package, context);
  run_selected(s, selected);
  run_selected(s, selected, s.options());
  OrtSessionOptions* strict = s.options();
  CALL(AddSessionConfigEntry, strict, "session.disable_cpu_ep_fallback", "1");
  run_selected(s, selected, strict);
  // Options of which the wish was made only said which provider.
  OrtModelPackageComponentContext* again = select(s, package, context, "main", strict);
  run_selected(s, again, s.options());
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
  OrtModelPackageContext* context = open_package(s, package.model("cpu/dense.onnx").root());
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
  OrtModelPackageContext* context = open_package(s, package.model("cpu/dense.onnx").root());
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
  OrtModelPackageContext* context = open_package(s, package.model("cpu/dense.onnx").root());
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
  OrtModelPackageContext* context = open_package(s, package.model("cpu/dense.onnx").root());
  OrtModelPackageComponentContext* selected = select(s, package, context);
  package_api(s).ReleaseModelPackageContext(context);
  run_selected(s, selected);
  run_selected(s, selected);
  OrtSession* session = nullptr;
  s.call("CreateSession", package_api(s).CreateSession(s.env(), selected, nullptr, &session));
  package_api(s).ReleaseModelPackageComponentContext(selected);
  size_t inputs = 0;
  CALL(SessionGetInputCount, session, &inputs);
  s.note("inputs", inputs);
}
