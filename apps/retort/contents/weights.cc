#include "contents/model_file.h"
#include "diff/mark.h"
#include "diff/proto.h"
#include "formats/formats.h"
#include "measure/stats.h"

namespace retort::cli {
namespace {

nlohmann::json weight_json(const std::string& bytes) {
  const HostTensor t = parse_pb(bytes, ONNX_TYPE_TENSOR).tensor;
  nlohmann::json told = {
      {"name", text(bytes, kTensorName)}, {"type", type_name(t.type)}, {"shape", t.shape}, {"bytes", t.size()}};
  if (is_real(t.type) && t.count() > 0) told.update(statistics_json(statistics(t)));
  return told;
}

}  // namespace

std::string whole_model(const ToolsLibrary& tools, const std::string& path) {
  const TemporaryFile file;
  tools.convert(path, file.path, "onnx", "", 0);
  return read_model_file(file.path);
}

nlohmann::json list_weights(const std::string& model) {
  nlohmann::json all = nlohmann::json::array();
  for (const data_view weight : fields(find_graph(model), kGraphInitializer))
    all.push_back(weight_json(weight.to_string()));
  return all;
}

}  // namespace retort::cli
