// Model packages with mistakes, and of people with bad intentions.
#include "package.h"

using namespace scenes;  // NOLINT: the helpers of packages

SCENE(package, duplicate_names) {
  const std::string wrong = R"("cpu": {"ep": "X", "executor_info": 5})";
  tell_package(s, Package(manifest(cpu_variant(R"("variant_directory": "nowhere")") + ", \"b\": {}, " + cpu_variant()))
                      .model("cpu/dense.onnx"));
  tell_package(s, Package(R"({"schema_version": "2.0", "schema_version": "1.0", "components": {"a": {"variants": {}},
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
    tell_package(s, Package(manifest(cpu_variant(variant))).write("cpu/ort.json", text));
  tell_package(s, Package(manifest(cpu_variant(variant))).write("ort.json", "{}"));
  tell_package(s,
               Package(manifest(cpu_variant(R"("executor_info": {"other": "nowhere.json"})"))).model("cpu/dense.onnx"));
}

SCENE(package, files_that_are_missing) {
  tell_package(s, Package());
  tell_package(s, Package().write("manifest.json/file", ""));
  tell_package(s, Package(R"({"schema_version": "1.0", "components": {"main": "nowhere"}})"));
  tell_package(s, Package(R"({"schema_version": "1.0", "components": {"main": "sub"}})").write("sub/other.json", "{}"));
  tell_package(s,
               Package(R"({"schema_version": "1.0", "components": {"main": "sub"}})").write("sub/component.json", "["));
  tell_package(
      s, Package(R"({"schema_version": "1.0", "components": {"main": "sub"}})").write("sub/component.json/x", ""));
  tell_package(s, Package(manifest(cpu_variant(R"("variant_directory": "nowhere")"))));
  tell_package(s, Package(manifest(cpu_variant())).write("cpu/other", ""));
  tell_package(s, Package(manifest(cpu_variant())));  // no folder: beside the manifest
  tell_package(s, Package(manifest(cpu_variant())).model("dense.onnx"));
  tell_package(s, Package(manifest(cpu_variant(R"("executor_info": {})"))).model("cpu/dense.onnx"));
  tell_package(s, Package(manifest(cpu_variant(R"("executor_info": {"ort": {}})"))).model("cpu/dense.onnx"));
}

SCENE(package, roots_that_are_none) {
  for (const char* root : {"", "/nowhere/at/all", "/etc/passwd", "/dev/null"}) {
    s.note("root", root);
    open_package(s, root);
  }
  OrtModelPackageContext* context = nullptr;
  s.call("null root", package_api(s).CreateModelPackageContext(nullptr, &context));
  Package package(manifest(cpu_variant()));
  s.call("null out", package_api(s).CreateModelPackageContext(package.root().c_str(), nullptr));
}

SCENE(package, cycles) {
  // A component that is the manifest, one that names components, links that lead to themselves.
  tell_package(s, Package(R"({"schema_version": "1.0", "components": {"main": "manifest.json"}})"));
  tell_package(s, Package(R"({"schema_version": "1.0", "components": {"main": "."}})")
                      .write("component.json", R"({"components": {"main": "."}, "variants": {}})"));
  tell_package(s, Package(manifest(cpu_variant(R"("variant_directory": "loop")"))).link("loop", "loop"));
  tell_package(s, Package(manifest(cpu_variant(R"("variant_directory": "a/a/a/cpu", )" + kDense)))
                      .model("cpu/dense.onnx")
                      .link("a", "."));
  tell_package(s,
               Package(R"({"schema_version": "1.0", "components": {"main": "loop"}})").link("loop", "manifest.json"));
}

SCENE(package, paths_that_leave) {
  for (const char* layout : {"portable", "installed"}) {
    const std::string more = std::string(R"("layout": ")") + layout + "\", ";
    for (const std::string& path :
         std::initializer_list<std::string>{"..", "../cpu", "cpu/../cpu", "cpu/..", "cpu/../../..", "/", "/tmp",
                                            "/etc/passwd", "", ".", "cpu/.", "cpu//", "a..b"}) {
      s.note("path", std::string_view(path).substr(0, 40));
      Package variant(manifest(cpu_variant(R"("variant_directory": ")" + path + "\""), more));
      open_package(s, variant.model("cpu/dense.onnx").root());
      Package model(manifest(cpu_variant(R"("executor_info": {"ort": {"model_file": ")" + path + "\"}}"), more));
      open_package(s, model.model("cpu/dense.onnx").root());
      Package component(R"({"schema_version": "1.0", )" + more + R"("components": {"main": ")" + path + "\"}}");
      open_package(s, component.model("cpu/dense.onnx").root());
      Package setup(manifest(cpu_variant(R"("executor_info": {"ort": ")" + path + "\"}"), more));
      open_package(s, setup.model("cpu/dense.onnx").root());
      Package asset(manifest(cpu_variant(), more + R"("shared_assets": {")" + kAsset + "\": \"" + path + "\"}, "));
      open_package(s, asset.model("cpu/dense.onnx").root());
    }
    // The name of a variant is a path, too, where no other is given.
    for (const char* name : {"/etc", "..", "../x", "a/b"}) {
      Package package(manifest(std::string("\"") + name + "\": {" + kCpu + "}", more));
      tell_package(s, package.write("a/b/file", ""));
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
      OrtModelPackageContext* context = open_package(s, package.link(name, to).root());
      s.note("opens", context);
      if (!context) continue;
      OrtModelPackageComponentContext* selected = nullptr;
      OrtModelPackageOptions* options = package_options(s);
      s.call("SelectComponent", package_api(s).SelectComponent(context, "main", options, &selected));
      if (selected) run_selected(s, selected);
    }
  }
}
