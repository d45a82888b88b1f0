#include "session/ports.h"

#include <algorithm>

#include "base/advice.h"
#include "base/error.h"

namespace retort {
namespace {

int index_of(const std::unordered_map<std::string_view, int>& by_name, std::string_view name) {
  const auto found = by_name.find(name);
  return found == by_name.end() ? -1 : found->second;
}

}  // namespace

ModelInterface interface_of(const Model& model) {
  const Graph& g = *model.graph;
  ModelInterface shown{.info = {.producer_name = model.producer_name,
                                .graph_name = g.name,
                                .domain = model.domain,
                                .description = model.doc,
                                .graph_description = g.doc,
                                .version = model.model_version,
                                .metadata = model.metadata}};
  for (const ValueId id : g.inputs) {
    const GraphValue& v = g.value(id);
    (g.defaults.contains(id) ? shown.overridable : shown.inputs).push_back({v.name, v.type});
  }
  for (const ValueId out : g.outputs) shown.outputs.push_back({g.value(out).name, g.value(out).type});
  return shown;
}

Ports::Ports(const Model& model, std::unique_ptr<DimTable> dims, std::shared_ptr<const Devices> devices)
    : shown_(interface_of(model)), dims_(std::move(dims)), devices_(std::move(devices)) {
  const Graph& g = *model.graph;
  uint32_t required = 0, overridable = uint32_t(inputs().size());
  for (const ValueId id : g.inputs) {
    const bool has_default = g.defaults.contains(id);
    index_in_model_.push_back(has_default ? overridable++ : required++);
    if (!has_default) is_read_.push_back(g.use_count(id) > 0);
  }
  for (size_t i = 0; i < input_count(); ++i) input_by_name_.emplace(input(i).name, int(i));
  for (size_t i = 0; i < outputs().size(); ++i) output_by_name_.emplace(outputs()[i].name, int(i));
  spaces_.inputs.assign(input_count(), {MemorySpace()});
  spaces_.outputs.assign(outputs().size(), {});
  spaces_.readers.resize(input_count());
  spaces_.makers.resize(outputs().size());
}

// Extents of the lowered graph are numbers, names, or expressions; the last are as unknown to callers as extents without
// a name.
void Ports::learn_shape(const Graph& lowered, const Shape& found, ValueType& shown) {
  const bool ranked = shown.ranked;
  if (ranked && shown.shape.rank() != found.rank()) return;
  Shape shape = found;
  for (size_t d = 0; d < found.rank(); ++d) {
    const bool declared = ranked && (is_known(shown.shape[d]) || !dims_->symbol_name(shown.shape[d]).empty());
    if (declared) shape[d] = shown.shape[d];
    if (declared || is_known(found[d])) continue;
    const std::string name = lowered.dims().symbol_name(found[d]);
    shape[d] = name.empty() ? (ranked ? shown.shape[d] : dims_->fresh_extent()) : dims_->symbol(name);
  }
  shown.shape = std::move(shape);
  shown.ranked = true;
}

void Ports::learn_outputs(const Graph& lowered) {
  for (size_t i = 0; i < std::min(shown_.outputs.size(), lowered.outputs.size()); ++i) {
    const ValueType& found = lowered.value(lowered.outputs[i]).type;
    ValueType& shown = shown_.outputs[i].type;
    if (!found.is_tensor() || found.dtype == DType::undefined) continue;
    if (shown.kind == ValueType::Kind::unknown) shown = ValueType::tensor(found.dtype);
    if (shown.is_tensor() && found.ranked) learn_shape(lowered, found.shape, shown);
  }
}

int Ports::input_index(std::string_view name) const { return index_of(input_by_name_, name); }

int Ports::output_index(std::string_view name) const { return index_of(output_by_name_, name); }

std::string Ports::no_input(std::string_view name) const {
  std::vector<std::string_view> names;
  for (size_t i = 0; i < input_count(); ++i) names.push_back(input(i).name);
  return cat("the model has no input '{}'; {}", name, names.empty() ? "give it none" : use_one_of(name, names));
}

std::string Ports::no_output(std::string_view name) const {
  std::vector<std::string_view> names;
  for (const Port& port : outputs()) names.push_back(port.name);
  return cat("the model has no output '{}'; {}", name, names.empty() ? "ask for none" : use_one_of(name, names));
}

// The host cannot follow an address of a device's memory.
void Ports::check_memory(std::string_view what, std::string_view name, const Value& value) const {
  const Tensor* t = value.tensor();
  if (!t || t->space().host_readable() || devices_->can_copy(t->space(), {})) return;
  fail(ErrorCode::fail,
       "{} '{}': no provider copies from or to {}; give a tensor in memory of the CPU, or add the provider whose "
       "memory it is",
       what, name, to_string(t->space()));
}

void Ports::check_input(size_t index, const Value& value) const {
  const Port& port = input(index);
  check_memory("input", port.name, value);
  const Tensor* t = value.tensor();
  if (!port.type.is_tensor()) {
    if (!admits(port.type, value)) {
      fail(ErrorCode::invalid_argument, "input '{}' must be {}, {} was given; give a value of that type", port.name,
           kind_text(port.type), kind_text(value));
    }
    return;  // the tensors in it may have any extents
  }
  const std::string_view type = dtype_name(port.type.dtype);
  require(t, ErrorCode::invalid_argument,
          "input '{}' must be a tensor({}), another kind of value was given; give a tensor", port.name, type);
  require(t->dtype() == port.type.dtype, ErrorCode::invalid_argument,
          "input '{}' must be a tensor({}), a tensor({}) was given; convert it to {}", port.name, type,
          dtype_name(t->dtype()), type);
  if (!port.type.ranked) return;
  const Shape& want = port.type.shape;
  // Programs give other shapes for an input that is declared a scalar, and ONNX Runtime accepts all of them.
  if (want.rank() == 0 || extents_fit(port.type, value)) return;
  const bool same_rank = want.rank() == t->shape().rank();
  fail(ErrorCode::invalid_argument, "input '{}' must have shape {}, {} was given; {}", port.name, dims_->text(want),
       to_string(t->shape()), same_rank ? "give it these extents" : cat("reshape it to rank {}", want.rank()));
}

void Ports::check_output(size_t index, const Value& value) const {
  const Port& port = outputs()[index];
  check_memory("output", port.name, value);
  if (port.type.is_tensor() ? value.tensor() != nullptr : admits(port.type, value)) return;
  fail(ErrorCode::invalid_argument, "output '{}' is {}, {} was given for it; give a value of that type or none",
       port.name, kind_text(port.type), kind_text(value));
}

}  // namespace retort
