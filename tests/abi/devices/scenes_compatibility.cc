// Devices: whether they can use what was compiled for others.
#include <string>

#include "models.h"

using scenes::Scene;

SCENE(devices, compatibility) {
  const OrtEpDevice* cpu = s.device("CPUExecutionProvider");
  const OrtEpDevice* twice[] = {cpu, cpu};
  for (const char* info : {"", "anything"}) {
    OrtCompiledModelCompatibility answer = OrtCompiledModelCompatibility(77);
    CALL(GetModelCompatibilityForEpDevices, &cpu, 1, info, &answer);
    s.note("answer", answer);
    CALL(GetModelCompatibilityForEpDevices, twice, 2, info, &answer);
    s.note("answer", answer);
    CALL(GetModelCompatibilityForEpDevices, &cpu, 0, info, &answer);
    CALL(GetModelCompatibilityForEpDevices, nullptr, 0, info, &answer);
  }
  OrtCompiledModelCompatibility answer = OrtCompiledModelCompatibility(77);
  CALL(GetModelCompatibilityForEpDevices, &cpu, 1, nullptr, &answer);
  CALL(GetModelCompatibilityForEpDevices, &cpu, 1, "x", nullptr);
}

namespace {

/// A bytes field of a protocol buffer, shorter than 128 bytes.
std::string field(int number, const std::string& bytes) {
  return std::string{char(number << 3 | 2), char(bytes.size())} + bytes;
}

}  // namespace

SCENE(devices, compatibility_info_of_a_model) {
  const std::string key = "ep_compatibility_info.CPUExecutionProvider";
  const std::string plain = scenes::model_bytes("dense"), noted = plain + field(14, field(1, key) + field(2, "fits"));
  for (const char* provider : {"CPUExecutionProvider", "NoSuchProvider", ""}) {
    char* info = nullptr;
    CALL(GetCompatibilityInfoFromModel, scenes::model_path("dense").c_str(), provider, s.allocator(), &info);
    s.note("info", info);
    for (const std::string& bytes : {plain, noted}) {
      CALL(GetCompatibilityInfoFromModelBytes, bytes.data(), bytes.size(), provider, s.allocator(), &info);
      s.note("info", info);
    }
    CALL(GetCompatibilityInfoFromModelBytes, plain.data(), 0, provider, s.allocator(), &info);
    CALL(GetCompatibilityInfoFromModelBytes, "garbage", 7, provider, s.allocator(), &info);
    CALL(GetCompatibilityInfoFromModel, "/does/not/exist.onnx", provider, s.allocator(), &info);
  }
}
