#include "explain/convert.h"

#include "lift/infer_types.h"
#include "onnx/functions.h"

namespace retort {
namespace {

bool is_unknown(const GraphValue& v) { return v.type.kind == ValueType::Kind::unknown && !v.is_constant(); }

bool lacks_types(const Graph& graph) {
  for (const NodeId id : graph.order()) {
    const Node& n = graph.node(id);
    for (const ValueId out : n.outputs) {
      if (out != ValueId::none && is_unknown(graph.value(out))) return true;
    }
    for (const Body& b : n.bodies) {
      if (lacks_types(*b.graph)) return true;
    }
  }
  return false;
}

/// ORT format has neither functions nor Constant nodes, and needs the type of every value: types are inferred on a copy
/// in the core dialect, and the model keeps its own dialect.
void prepare_for_ort(Model& model) {
  inline_functions(model);
  lift_constants(*model.graph);
  if (!lacks_types(*model.graph)) return;
  if (const auto stopped = infer_types(*model.graph)) throw *stopped;
}

}  // namespace

void convert_model(const std::string& from, const std::string& to, ModelFormat format, const WriteOptions& options) {
  const bool ort = format == ModelFormat::ort;
  require(!ort || options.external_file.empty(), ErrorCode::invalid_argument,
          "weights of ORT format are always inside the file, not in '{}'; leave it out, or write ONNX",
          options.external_file);
  const auto model = load_model(from);
  if (ort) prepare_for_ort(*model);
  save_model(*model, to, format, options);
}

}  // namespace retort
