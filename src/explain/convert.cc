#include "explain/convert.h"

#include "onnx/reader.h"
#include "onnx/writer.h"

namespace retort {

void convert_model(const std::string& from, const std::string& to, const std::string& external, size_t threshold) {
  const auto model = read_model(from);
  write_model(*model, to, {.external_file = external, .external_threshold = threshold});
}

}  // namespace retort
