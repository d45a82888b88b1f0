#include "explain/convert.h"

#include "onnx/writer.h"
#include "ort_format/read.h"

namespace retort {

void convert_model(const std::string& from, const std::string& to, const std::string& external, size_t threshold) {
  require(!to.ends_with(".ort"), ErrorCode::not_implemented,
          "the name '{}' asks for ORT format, which is read but not written yet; choose a name that ends in .onnx", to);
  const auto model = load_model(from);
  write_model(*model, to, {.external_file = external, .external_threshold = threshold});
}

}  // namespace retort
