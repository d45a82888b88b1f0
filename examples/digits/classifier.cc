#include "classifier.h"

namespace digits {

namespace api = retort::api;

Classifier::Classifier(const std::string& model_path)
    : session_(env_, model_path, api::SessionOptions().threads(1)), binding_(session_) {
  const std::array<int64_t, 4> image_shape{1, 1, kSide, kSide};
  const std::array<int64_t, 2> probabilities_shape{1, kClasses};
  binding_.input("image", api::Value::wrap(std::span<float>(image_), image_shape));
  binding_.output("probabilities", api::Value::wrap(std::span<float>(probabilities_), probabilities_shape));
  if (api::Library::version() >= 28)
    copied_bytes_ = reinterpret_cast<CopiedBytes>(api::api().GetExperimentalFunction("RetortSessionCopiedBytes"));
}

std::optional<uint64_t> Classifier::copied_bytes() const {
  if (!copied_bytes_) return std::nullopt;
  return copied_bytes_(session_);
}

std::string Classifier::engine() const {
  const std::string build = api::api().GetBuildInfoString();
  return api::Library::version_string() + " (" + build.substr(0, build.find(',')) + ")";
}

}  // namespace digits
