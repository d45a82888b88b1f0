// The inputs and outputs of a session as the file of the model declares them: their names and types, whether a value
// fits them, and in which memory the session reads or makes them. Reads the model while it is constructed, and no plan;
// what the file does not say of outputs comes from the graph that the first plan was made of.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ep/devices.h"
#include "ir/graph.h"
#include "tensor/tensor.h"

namespace retort {

/// An input or output of the model as the file declares it.
struct Port {
  std::string name;
  ValueType type;
};

/// The descriptive fields of a model file.
struct ModelInfo {
  std::string producer_name, graph_name, domain, description, graph_description;
  int64_t version = 0;
  std::vector<std::pair<std::string, std::string>> metadata;
};

/// What a model shows to its callers. Later rewrites of the graph do not change it.
struct ModelInterface {
  ModelInfo info;
  std::vector<Port> inputs, outputs;
  std::vector<Port> overridable;  ///< inputs that have a value in the model already
};
ModelInterface interface_of(const Model& model);

/// The memories of a session's inputs and outputs, and the providers that read and make them.
struct PortSpaces {
  std::vector<std::vector<MemorySpace>>
      inputs;                        ///< by input index: all memories that the input is read in; at least one
  std::vector<MemorySpace> outputs;  ///< by output index: the memory that the output is made in
  /// By input and output index; nothing: no node reads the input or makes the output.
  std::vector<std::optional<std::string>> readers, makers;
};

/// Thread-safe, but for set_spaces() and learn_outputs(). Inputs have indices: the required ones come first, then the overridable ones.
class Ports {
 public:
  /// `dims` has the names of the model's extents. `devices` tells which memories the engine can copy from.
  Ports(const Model& model, std::unique_ptr<DimTable> dims, std::shared_ptr<const Devices> devices);
  Ports(const Ports&) = delete;

  /// Required inputs.
  const std::vector<Port>& inputs() const { return shown_.inputs; }
  const std::vector<Port>& outputs() const { return shown_.outputs; }
  /// Inputs that have a value in the model already.
  const std::vector<Port>& overridable() const { return shown_.overridable; }
  const ModelInfo& info() const { return shown_.info; }
  const DimTable& dims() const { return *dims_; }
  size_t input_count() const { return shown_.inputs.size() + shown_.overridable.size(); }
  const Port& input(size_t index) const {
    return is_overridable(index) ? shown_.overridable[index - shown_.inputs.size()] : shown_.inputs[index];
  }
  bool is_overridable(size_t index) const { return index >= shown_.inputs.size(); }
  /// Whether a node reads the input, or the model has it as an output. For required inputs only.
  bool is_read(size_t index) const { return is_read_[index]; }
  /// The index of the input that is number `position` in the model's graph.
  uint32_t index_in_model(size_t position) const { return index_in_model_[position]; }

  /// The index of the input or output with that name; -1: there is no such name.
  int input_index(std::string_view name) const;
  int output_index(std::string_view name) const;
  /// The text of an error about an unknown name: "the model has no input 'imgae'; use 'image'".
  std::string no_input(std::string_view name) const;
  std::string no_output(std::string_view name) const;

  /// Throws invalid_argument if the element type, the rank or a known extent of `value` does not fit input `index`.
  void check_input(size_t index, const Value& value) const;
  /// Throws invalid_argument if output `index` is another kind of value. The run checks whether a tensor fits.
  void check_output(size_t index, const Value& value) const;
  /// Throws fail if the tensor of an input or output lies in memory that cannot be copied from. `what`: "input" or
  /// "output".
  void check_memory(std::string_view what, std::string_view name, const Value& value) const;

  /// All memories that input `index` is read in, and the memory that output `index` is made in. On the host before
  /// set_spaces().
  std::span<const MemorySpace> input_spaces(size_t index) const { return spaces_.inputs[index]; }
  const MemorySpace& output_space(size_t index) const { return spaces_.outputs[index]; }
  /// The provider that reads input `index` or makes output `index`; nothing: no node does.
  const std::optional<std::string>& reader(size_t index) const { return spaces_.readers[index]; }
  const std::optional<std::string>& maker(size_t index) const { return spaces_.makers[index]; }
  /// Called once, when the first plan is made and before any run.
  void set_spaces(PortSpaces spaces) { spaces_ = std::move(spaces); }
  /// Completes the types of outputs that the file declares without a type, a shape or an extent by those of the lowered
  /// graph. Called once, before any run.
  void learn_outputs(const Graph& lowered);

 private:
  void learn_shape(const Graph& lowered, const Shape& found, ValueType& shown);

  ModelInterface shown_;
  std::unique_ptr<DimTable> dims_;
  std::shared_ptr<const Devices> devices_;
  std::vector<uint32_t> index_in_model_;  ///< by position among the inputs of the model's graph
  std::vector<bool> is_read_;             ///< by required input
  std::unordered_map<std::string_view, int> input_by_name_, output_by_name_;
  PortSpaces spaces_;
};

}  // namespace retort
