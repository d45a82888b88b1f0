// Sessions with the plug-in provider of plugin.cc, which checks the graph that it is asked about.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "client.h"

void plugged() {
  const char* library = std::getenv("CLIENT_PLUGIN");
  expect(library != nullptr, "CLIENT_PLUGIN names the plug-in");
  env().RegisterExecutionProviderLibrary("written_in_cpp", library);
  std::vector<Ort::ConstEpDevice> devices;
  for (const Ort::ConstEpDevice& device : env().GetEpDevices()) {
    if (std::string(device.EpName()) == "written_in_cpp") devices.push_back(device);
  }
  expect(devices.size() == 1, "a device of the plug-in");
  Floats w{1, -1, 2, 0.5f, 0, 3};
  const Ort::Value weight = tensor(w, {3, 2});
  std::string profile;
  {
    Ort::PrepackedWeightsContainer container;
    Ort::SessionOptions options;
    options.AppendExecutionProvider_V2(env(), devices, Ort::KeyValuePairs()).AddInitializer("w", weight);
    options.SetGraphOptimizationLevel(ORT_DISABLE_ALL).EnableProfiling("plugged_one");
    Ort::Session one(env(), model("dense.onnx").c_str(), options, container);
    // The name of a profile has the time: in official ONNX Runtime two of one millisecond are one file.
    options.EnableProfiling("plugged_two");
    Ort::Session two(env(), model("dense.onnx").c_str(), options, container);
    for (Ort::Session* session : {&one, &two}) {
      Floats x{1, 2, 3};
      const Ort::Value in = tensor(x, {1, 3});
      const char *input = "x", *output = "y";
      const auto out = session->Run(Ort::RunOptions(), &input, &in, 1, &output, 1);
      expect(elements<float>(out[0]) == Floats({5.5f, 8}), "x w + b");
    }
    profile = one.EndProfilingAllocated(Ort::AllocatorWithDefaultOptions()).get();
    std::remove(two.EndProfilingAllocated(Ort::AllocatorWithDefaultOptions()).get());
  }
  std::ifstream file(profile);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::remove(profile.c_str());
  expect(text.find("event of the plug-in") != std::string::npos, "its event is in the profile");
  void* plugin = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
  const auto did = reinterpret_cast<bool (*)(int, int)>(dlsym(plugin, "plugin_did"));
  expect(did(2, 2), "the plug-in ran both sessions, which share weights");
  dlclose(plugin);
  env().UnregisterExecutionProviderLibrary("written_in_cpp");
}
