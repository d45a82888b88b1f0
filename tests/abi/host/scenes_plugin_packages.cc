// Model packages whose variants a plug-in chooses from.
#include "host/telling.h"
#include "package.h"
#include "retort/onnxruntime_ep_c_api.h"

using namespace scenes;

namespace {

std::string variant(const std::string& name, const std::string& more) {
  return "\"" + name + "\": {\"ep\": \"telling\", \"variant_directory\": \"cpu\"" + more + ", " + kDense + "}";
}
std::string fits(const std::string& text) { return R"(, "compatibility_string": ")" + text + "\""; }
std::string on(const std::string& device) { return R"(, "device": ")" + device + "\""; }

void choose(Scene& s, const std::string& variants) {
  Package package(manifest(variants));
  OrtModelPackageContext* context = open_package(s, package.model("cpu/dense.onnx").root());
  if (!context) return;
  select(s, package, context, "main", with_provider(s));
  note_story(s, {"Validate", "Select", "candidate"});
  package_api(s).ReleaseModelPackageContext(context);
}

}  // namespace

SCENE(plugin_packages, one_variant) {
  loaded(s);
  choose(s, variant("a", ""));
  choose(s, variant("a", fits("fits device 7")));
  choose(s, variant("a", fits("recompile")));
  choose(s, variant("a", fits("other")));
  choose(s, variant("a", fits("unknown")));
  choose(s, variant("a", fits("broken")));
  choose(s, variant("a", fits("")));
}

SCENE(plugin_packages, devices) {
  loaded(s);
  for (const char* device : {"cpu", "CPU", "gpu", "npu", ""}) choose(s, variant("a", on(device)));
  choose(s, variant("a", on("gpu")) + ", " + variant("b", on("cpu")) + ", " + variant("c", ""));
}

SCENE(plugin_packages, several) {
  loaded(s);
  choose(s, variant("a", "") + ", " + variant("b", ""));
  choose(s, variant("a", fits("recompile")) + ", " + variant("b", fits("fits device 7")));
  choose(s, variant("a", fits("fits device 7")) + ", " + variant("b", fits("recompile")) + ", " + variant("c", ""));
  choose(s, variant("a", fits("best")) + ", " + variant("b", fits("fits device 7")) + ", " +
                variant("c", fits("fits device 7")));
  choose(s, variant("a", "") + ", " + variant("b", on("cpu")) + ", \"cpu\": {" + kCpu + ", " + kDense + "}");
}

SCENE(plugin_packages, ranks) {
  loaded(s);
  const std::string notes[] = {"", fits("fits device 7"), fits("recompile"), fits("unknown"), fits("")};
  for (const std::string& first : notes) {
    for (const std::string& second : notes) choose(s, variant("a", first) + ", " + variant("b", second));
  }
}
