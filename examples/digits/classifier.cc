#include "classifier.h"

namespace digits {

namespace api = retort::api;

Classifier::Classifier(const std::string& model_path)
    : session_(env_, model_path, api::SessionOptions().threads(1)), binding_(session_) {
  binding_.input("image", api::Value::wrap(image_, {1, 1, kSide, kSide}));
  binding_.output("probabilities", api::Value::wrap(probabilities_, {1, kClasses}));
}

std::string Classifier::engine() const {
  const std::string build = api::api().GetBuildInfoString();
  return build.substr(0, build.find(',')) + " (interface of ONNX Runtime " + api::Library::version_string() + ")";
}

}  // namespace digits
