#include "dnn_graph.h"

#include <algorithm>

namespace providers::cuda::dnn {

namespace {

std::vector<int> notes_of(const Descriptor& engine, Attributes name, AttributeTypes type) {
  const auto& t = table();
  int64_t count = 0;
  check(t.get(engine.raw(), name, type, 0, &count, nullptr), "number of an engine's notes");
  std::vector<int> notes(size_t(std::max<int64_t>(count, 0)));
  if (notes.empty()) return notes;
  check(t.get(engine.raw(), name, type, int64_t(notes.size()), &count, notes.data()), "notes of an engine");
  notes.resize(std::min(notes.size(), size_t(std::max<int64_t>(count, 0))));
  return notes;
}

}  // namespace

size_t GraphMaker::keep(Descriptor d) {
  d.finalize();
  made_.parts.push_back(std::move(d));
  return made_.parts.size() - 1;
}

size_t GraphMaker::tensor(const TensorFacts& t) {
  Descriptor d(kTensor, text("tensor ", t.id));
  d.set_enum(kTensorType, kDataType, t.type);
  d.set_numbers(kTensorDims, t.dims);
  d.set_numbers(kTensorStrides, t.strides);
  d.set_number(kTensorId, t.id);
  d.set_number(kTensorAlignment, 16);
  d.set_bool(kTensorVirtual, t.within);
  if (t.by_value) d.set_bool(kTensorByValue, true);
  return keep(std::move(d));
}

void GraphMaker::pointwise(const PointwiseFacts& p) {
  Descriptor d(kPointwise, text("pointwise mode ", p.mode));
  d.set_enum(kPointwiseModeOf, kPointwiseMode, p.mode);
  d.set_enum(kPointwisePrecision, kDataType, p.precision);
  if (p.axis) d.set_number(kPointwiseAxis, *p.axis);
  const size_t kept = keep(std::move(d));
  Descriptor o(kPointwiseOperation, text("pointwise operation of mode ", p.mode));
  o.set_descriptor(kPointwiseDescriptorOf, part(kept));
  o.set_descriptor(kPointwiseX, part(p.x));
  if (p.b) o.set_descriptor(kPointwiseB, part(*p.b));
  if (p.t) o.set_descriptor(kPointwiseT, part(*p.t));
  o.set_descriptor(kPointwiseY, part(p.y));
  operation(std::move(o));
}

void GraphMaker::finish(Handle handle) {
  std::vector<Raw> raw;
  for (const size_t i : operations_) raw.push_back(part(i).raw());
  Descriptor graph(kOperationGraph, "operation graph");
  graph.set_handle(kGraphHandle, handle);
  graph.set(kGraphOperations, kDescriptor, int64_t(raw.size()), raw.data());
  keep(std::move(graph));
}

std::vector<Descriptor> configurations(const Graph& graph, int mode, std::string& reasons) {
  std::vector<Descriptor> found;
  try {
    Descriptor h(kEngineHeuristics, text("heuristics of mode ", mode));
    h.set_descriptor(kHeuristicsGraph, graph.graph());
    h.set_enum(kHeuristicsModeOf, kHeuristicsMode, mode);
    h.finalize();
    const auto& t = table();
    int64_t count = 0;
    check(t.get(h.raw(), kHeuristicsResults, kDescriptor, 0, &count, nullptr), "number of engines");
    std::vector<Raw> raw;
    for (int64_t i = 0; i < count; ++i) {
      found.emplace_back(kEngineConfiguration, "engine configuration");
      raw.push_back(found.back().raw());
    }
    int64_t filled = 0;
    if (count > 0)
      check(t.get(h.raw(), kHeuristicsResults, kDescriptor, count, &filled, raw.data()), "engine configurations");
    found.erase(found.begin() + std::min(filled, count), found.end());
  } catch (const Error& e) {
    reasons += text(e.what(), "\n");
    found.clear();
  }
  return found;
}

bool EngineFacts::has(int note) const { return std::find(notes.begin(), notes.end(), note) != notes.end(); }

std::string EngineFacts::text() const {
  std::string s = "engine " + std::to_string(index);
  for (const int note : notes) s += " n" + std::to_string(note);
  if (compiled) s += " compiled";
  return s;
}

EngineFacts facts_of(const Descriptor& configuration) {
  EngineFacts facts;
  const auto& t = table();
  const Descriptor engine(kEngine, "engine");
  Raw raw = engine.raw();
  int64_t count = 0;
  check(t.get(configuration.raw(), kConfigurationEngine, kDescriptor, 1, &count, &raw), "engine of a configuration");
  check(t.get(engine.raw(), kEngineIndex, kInt64, 1, &count, &facts.index), "number of an engine");
  facts.notes = notes_of(engine, kEngineNotes, kNumericalNote);
  const auto behaviors = notes_of(engine, kEngineBehaviors, kBehaviorNote);
  facts.compiled = std::find(behaviors.begin(), behaviors.end(), kNoteCompiled) != behaviors.end();
  return facts;
}

int data_type(Type type) {
  switch (type) {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16:
      return kTypeHalf;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16:
      return kTypeBfloat;
    default:
      return kTypeFloat;
  }
}

}  // namespace providers::cuda::dnn
