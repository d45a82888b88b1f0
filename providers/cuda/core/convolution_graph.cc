#include "convolution_graph.h"

#include <algorithm>

namespace providers::cuda {
namespace {

using dnn::Descriptor;

int dnn_type(Type type) {
  switch (type) {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16:
      return dnn::kTypeHalf;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16:
      return dnn::kTypeBfloat;
    default:
      return dnn::kTypeFloat;
  }
}

/// Strides of a packed tensor: {batch, channels, spatial...}.
Dims packed_strides(const Dims& dims, bool channels_last) {
  Dims strides(dims.size());
  int64_t step = 1;
  if (channels_last) {
    strides[1] = 1;
    step = dims[1];
  }
  for (size_t i = dims.size(); i-- > 0;)
    if (i != 1 || !channels_last) {
      strides[i] = step;
      step *= dims[i];
    }
  return strides;
}

/// Builds the descriptors of a problem, one after the other. Descriptors are known by their place in `made.parts`.
class GraphMaker {
 public:
  GraphMaker(const ConvProblem& problem, ConvGraph& made) : p_(problem), made_(made) {}

  void make(dnn::Handle handle) {
    made_.parts.reserve(24);  // no descriptor moves
    const bool bare = p_.epilogue.empty();
    const size_t x = tensor(kX, p_.x), w = tensor(kW, p_.w);
    size_t y = bare ? tensor(kY, p_.y) : between();
    operations_.push_back(convolution(x, w, y));
    if (!bare) add_epilogue(y);
    std::vector<dnn::Raw> raw;
    for (const size_t i : operations_) raw.push_back(made_.parts[i].raw());
    Descriptor graph(dnn::kOperationGraph, "operation graph");
    graph.set_handle(dnn::kGraphHandle, handle);
    graph.set(dnn::kGraphOperations, dnn::kDescriptor, int64_t(raw.size()), raw.data());
    keep(std::move(graph));
  }

 private:
  size_t keep(Descriptor d) {
    d.finalize();
    made_.parts.push_back(std::move(d));
    return made_.parts.size() - 1;
  }

  size_t tensor(int64_t id, const Dims& dims) {
    const bool within = id >= kBetween;
    Descriptor d(dnn::kTensor, text("tensor ", id));
    d.set_enum(dnn::kTensorType, dnn::kDataType, within ? dnn::kTypeFloat : dnn_type(p_.type));
    d.set_numbers(dnn::kTensorDims, dims);
    d.set_numbers(dnn::kTensorStrides, packed_strides(dims, p_.channels_last));
    d.set_number(dnn::kTensorId, id);
    d.set_number(dnn::kTensorAlignment, 16);
    d.set_bool(dnn::kTensorVirtual, within);
    return keep(std::move(d));
  }
  size_t between() { return tensor(next_++, p_.y); }

  size_t convolution(size_t x, size_t w, size_t y) {
    Descriptor c(dnn::kConvolution, "convolution");
    c.set_enum(dnn::kConvolutionPrecision, dnn::kDataType, dnn::kTypeFloat);
    c.set_enum(dnn::kConvolutionModeOf, dnn::kConvolutionMode, dnn::kCrossCorrelation);
    c.set_number(dnn::kConvolutionAxes, int64_t(p_.strides.size()));
    c.set_numbers(dnn::kConvolutionBegins, p_.begins);
    c.set_numbers(dnn::kConvolutionEnds, p_.ends);
    c.set_numbers(dnn::kConvolutionDilations, p_.dilations);
    c.set_numbers(dnn::kConvolutionStrides, p_.strides);
    const size_t kept = keep(std::move(c));
    const bool back = p_.transposed;
    Descriptor o(back ? dnn::kBackwardDataOperation : dnn::kForwardOperation,
                 back ? "backward data operation" : "forward operation");
    o.set_descriptor(back ? dnn::kBackwardConvolution : dnn::kForwardConvolution, made_.parts[kept]);
    o.set_descriptor(back ? dnn::kBackwardDy : dnn::kForwardX, made_.parts[x]);
    o.set_descriptor(back ? dnn::kBackwardW : dnn::kForwardW, made_.parts[w]);
    o.set_descriptor(back ? dnn::kBackwardDx : dnn::kForwardY, made_.parts[y]);
    o.set_float(back ? dnn::kBackwardAlpha : dnn::kForwardAlpha, 1);
    o.set_float(back ? dnn::kBackwardBeta : dnn::kForwardBeta, 0);
    return keep(std::move(o));
  }

  /// The order (residual, bias, activation) is that of cuDNN's engines that are compiled in advance.
  void add_epilogue(size_t at) {
    const ConvEpilogue& e = p_.epilogue;
    const bool active = e.activation != ConvActivation::none;
    if (e.residual) {
      const size_t to = e.bias || active ? between() : tensor(kY, p_.y);
      const size_t residual = tensor(kResidual, p_.y);
      pointwise(dnn::kAdd, at, &residual, to);
      at = to;
    }
    if (e.bias) {
      Dims dims(p_.y.size(), 1);
      dims[1] = p_.y[1];
      const size_t to = active ? between() : tensor(kY, p_.y);
      const size_t bias = tensor(kBias, dims);
      pointwise(dnn::kAdd, at, &bias, to);
      at = to;
    }
    if (active) pointwise(dnn::kRelu, at, nullptr, tensor(kY, p_.y));
  }

  void pointwise(int mode, size_t a, const size_t* b, size_t to) {
    Descriptor d(dnn::kPointwise, text("pointwise mode ", mode));
    d.set_enum(dnn::kPointwiseModeOf, dnn::kPointwiseMode, mode);
    d.set_enum(dnn::kPointwisePrecision, dnn::kDataType, dnn::kTypeFloat);
    operation(keep(std::move(d)), a, b, to);
  }

  void operation(size_t pointwise, size_t a, const size_t* b, size_t to) {
    Descriptor o(dnn::kPointwiseOperation, "pointwise operation");
    o.set_descriptor(dnn::kPointwiseDescriptorOf, made_.parts[pointwise]);
    o.set_descriptor(dnn::kPointwiseX, made_.parts[a]);
    if (b) o.set_descriptor(dnn::kPointwiseB, made_.parts[*b]);
    o.set_descriptor(dnn::kPointwiseY, made_.parts[to]);
    operations_.push_back(keep(std::move(o)));
  }

  const ConvProblem& p_;
  ConvGraph& made_;
  std::vector<size_t> operations_;
  int64_t next_ = kBetween;
};

}  // namespace

namespace {

std::vector<int> notes_of(const Descriptor& engine, dnn::Attributes name, dnn::AttributeTypes type) {
  const auto& t = dnn::table();
  int64_t count = 0;
  dnn::check(t.get(engine.raw(), name, type, 0, &count, nullptr), "number of an engine's notes");
  std::vector<int> notes(size_t(std::max<int64_t>(count, 0)));
  if (notes.empty()) return notes;
  dnn::check(t.get(engine.raw(), name, type, int64_t(notes.size()), &count, notes.data()), "notes of an engine");
  notes.resize(std::min(notes.size(), size_t(std::max<int64_t>(count, 0))));
  return notes;
}

}  // namespace

std::shared_ptr<const ConvGraph> make_graph(const ConvProblem& problem, dnn::Handle handle) {
  auto made = std::make_shared<ConvGraph>();
  GraphMaker(problem, *made).make(handle);
  return made;
}

std::vector<Descriptor> configurations(const ConvGraph& graph, int mode, std::string& reasons) {
  std::vector<Descriptor> found;
  try {
    Descriptor h(dnn::kEngineHeuristics, text("heuristics of mode ", mode));
    h.set_descriptor(dnn::kHeuristicsGraph, graph.graph());
    h.set_enum(dnn::kHeuristicsModeOf, dnn::kHeuristicsMode, mode);
    h.finalize();
    const auto& t = dnn::table();
    int64_t count = 0;
    dnn::check(t.get(h.raw(), dnn::kHeuristicsResults, dnn::kDescriptor, 0, &count, nullptr), "number of engines");
    std::vector<dnn::Raw> raw;
    for (int64_t i = 0; i < count; ++i) {
      found.emplace_back(dnn::kEngineConfiguration, "engine configuration");
      raw.push_back(found.back().raw());
    }
    int64_t filled = 0;
    if (count > 0)
      dnn::check(t.get(h.raw(), dnn::kHeuristicsResults, dnn::kDescriptor, count, &filled, raw.data()),
                 "engine configurations");
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
  const auto& t = dnn::table();
  const Descriptor engine(dnn::kEngine, "engine");
  dnn::Raw raw = engine.raw();
  int64_t count = 0;
  dnn::check(t.get(configuration.raw(), dnn::kConfigurationEngine, dnn::kDescriptor, 1, &count, &raw),
             "engine of a configuration");
  dnn::check(t.get(engine.raw(), dnn::kEngineIndex, dnn::kInt64, 1, &count, &facts.index), "number of an engine");
  facts.notes = notes_of(engine, dnn::kEngineNotes, dnn::kNumericalNote);
  const auto behaviors = notes_of(engine, dnn::kEngineBehaviors, dnn::kBehaviorNote);
  facts.compiled = std::find(behaviors.begin(), behaviors.end(), dnn::kNoteCompiled) != behaviors.end();
  return facts;
}

bool in_graph(const ConvEpilogue& epilogue) {
  return epilogue.bias && (epilogue.activation == ConvActivation::none || epilogue.activation == ConvActivation::relu);
}

}  // namespace providers::cuda
