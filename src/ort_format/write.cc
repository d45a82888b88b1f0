#include "ort_format/write.h"

#include <strings.h>

#include "base/checked.h"
#include "base/loading.h"
#include "onnx/new_file.h"
#include "ort_format/expand.h"
#include "ort_format/fill.h"

namespace retort {
namespace ort_format {
namespace {

constexpr const char* kVersion = "6";
// ONNX Runtime optimises a model in ORT format when it loads it, and fails if it inserts a node whose domain the model
// does not import.
constexpr const char* kOptimizersDomains[] = {"com.microsoft", "com.microsoft.nchwc"};
constexpr size_t kStructure = size_t(1) << 16;  ///< initial room for everything but weights; the buffer can grow

/// Bytes of the weights, so that the buffer need not grow and be copied.
size_t weight_bytes(const Graph& graph) {
  size_t bytes = 0;
  for (size_t i = 0; i < graph.value_count(); ++i) {
    const Tensor& t = graph.value(ValueId(i)).constant;
    if (t && t.dtype() != DType::string) bytes = checked_add(bytes, t.bytes() + 128, "size of the weights");
  }
  for (const NodeId id : graph.order()) {
    for (const Body& b : graph.node(id).bodies)
      bytes = checked_add(bytes, weight_bytes(*b.graph), "size of the weights");
  }
  return bytes;
}

At<fbs::Model> write_flat(Fill& fill, const Model& model, At<fbs::Graph> graph) {
  auto& b = fill.builder;
  std::vector<At<fbs::OperatorSet>> opsets;
  std::map<std::string, int> imported = model.opsets;
  for (const char* domain : kOptimizersDomains) imported.try_emplace(domain, 1);
  for (const auto& [domain, version] : imported) {
    const auto name = fill.text(domain);
    opsets.push_back(fbs::CreateOperatorSet(b, name, version));
  }
  std::vector<At<fbs::Entry>> metadata;
  for (const auto& [key, value] : model.metadata) {
    const auto first = fill.text(key), second = fill.text(value);
    metadata.push_back(fbs::CreateEntry(b, first, second));
  }
  const auto imports = fill.list(opsets);
  const auto entries = fill.list(metadata);
  const auto producer = fill.text(model.producer_name), version = fill.text(model.producer_version);
  const auto domain = fill.text(model.domain), doc = fill.text(model.doc), graph_doc = fill.text(model.graph->doc);
  // In files older than version 4 of the IR, constants are inputs as well.
  const int64_t ir_version = std::max<int64_t>(model.ir_version ? model.ir_version : 10, 4);
  return fbs::CreateModel(b, ir_version, imports, producer, version, domain, model.model_version, doc, graph, graph_doc,
                          entries);
}

}  // namespace
}  // namespace ort_format

ModelFormat saved_format(const std::string& named, const std::string& path) {
  if (named.empty()) {  // upper case is accepted, too, as in ONNX Runtime
    const std::string_view suffix = std::string_view(path).substr(path.size() - std::min<size_t>(path.size(), 4));
    return strcasecmp(std::string(suffix).c_str(), ".ort") == 0 ? ModelFormat::ort : ModelFormat::onnx;
  }
  require(named == "ONNX" || named == "ORT", ErrorCode::invalid_argument,
          "session.save_model_format is '{}', neither ONNX nor ORT; set it to one of them", named);
  return named == "ORT" ? ModelFormat::ort : ModelFormat::onnx;
}

OrtBytes write_ort(const Model& model) {
  using namespace ort_format;
  const size_t weights = weight_bytes(*model.graph);
  require(weights < FLATBUFFERS_MAX_BUFFER_SIZE, ErrorCode::invalid_argument,
          "the weights take {} bytes, more than the 2 GiB that ORT format allows; save the model as ONNX with its "
          "weights in an external file",
          weights);
  const LoadingScratch expanded(model.graph->clone());
  expand_functions(*expanded);
  const LoadingScratch names(std::make_shared<onnx::Names>(*expanded, nullptr, std::vector<std::string>()));
  const LoadingScratch scratch(std::make_shared<Fill>(weights + kStructure));
  Fill& fill = *scratch;
  GraphWriter graphs(fill, model.opsets);
  const auto graph = graphs.graph(*expanded, *names);
  const auto whole = write_flat(fill, model, graph);
  const auto kernel_types = graphs.kernel_types();
  const auto version = fill.text(kVersion);
  fbs::FinishInferenceSessionBuffer(fill.builder,
                                    fbs::CreateInferenceSession(fill.builder, version, whole, kernel_types));
  auto buffer = std::make_shared<flatbuffers::DetachedBuffer>(fill.builder.Release());
  const std::string_view bytes(reinterpret_cast<const char*>(buffer->data()), buffer->size());
  return {std::move(buffer), bytes};
}

void save_model(const Model& model, const std::string& path, ModelFormat format, const WriteOptions& options) {
  if (format != ModelFormat::ort) return write_model(model, path, options);
  const OrtBytes written = write_ort(model);
  onnx::NewFile file(path);
  file.write_at(0, written.bytes);
  file.finish();
}

}  // namespace retort
