// Shared by the parts of the reader while one model is read.
#pragma once
#include <string>

#include "onnx/external_data.h"
#include "onnx/reader.h"
#include "onnx/schema.h"
#include "onnx/wire.h"

namespace retort::onnx {

using Opsets = std::map<std::string, int>;

/// Whether no tensor of the model belongs to the program, whose memory must not be freed on another thread.
inline bool has_only_ours(const ReadOptions& options) { return !options.given || options.given->empty(); }

struct ReadContext {
  ReadContext(Model& target, const ReadOptions& read_options, Source source)
      : model(target), options(read_options), file(std::move(source)), external(read_options, target.path) {}

  Model& model;
  const ReadOptions& options;
  Source file;
  ExternalFiles external;
  size_t nodes = 0, entries = 0, memory = 0;

  const ReadLimits& limits() const { return options.limits; }
  /// Counts, and throws if a limit is exceeded.
  void count_node();
  void count_entry(size_t name_bytes = 0);
  void charge(size_t bytes);
  /// Notes what is wrong in the model but has no effect.
  void note(std::string text) {
    if (options.notes) options.notes->push_back(std::move(text));
  }
  /// A string field; throws if it exceeds a limit.
  std::string_view text(const Message& m) const;
};

/// Runs `f`; puts `context()` before the message of an Error.
template <typename Context, typename F>
decltype(auto) in_context(const Context& context, F&& f) {
  try {
    return f();
  } catch (Error& error) {
    error.add_context(context());
    throw;
  }
}

/// "ai.onnx" is the long name of the default domain.
inline std::string_view canonical_domain(std::string_view domain) { return domain == "ai.onnx" ? "" : domain; }

/// Reads a TensorProto of any element type, inline or external; `name` receives its name. Errors name the tensor.
Tensor read_tensor(ReadContext& c, Message m, std::string_view* name = nullptr);
/// Reads a SparseTensorProto; its indices are checked against the shape.
SparseTensor read_sparse(ReadContext& c, Message m, std::string_view* name = nullptr);
/// The dense form; if indices repeat, later entries win.
Tensor densify(ReadContext& c, const SparseTensor& sparse);
/// Reads a TypeProto.
ValueType read_type(ReadContext& c, Message m);
/// The element type with this number; throws if there is none.
DType read_dtype(int64_t number);
/// An AttributeProto that is not a graph; see Scope for graphs. `reference` says whether ref_attr_name is allowed.
struct ReadAttribute {
  std::string_view name;
  AttributeKind kind = AttributeKind::undefined;
  Attribute value;
  std::optional<Message> graph;  ///< for the kind graph, in which case value is not set
};
ReadAttribute read_attribute(ReadContext& c, Message m, bool reference);
/// Reads an OperatorSetIdProto into the map.
void read_opset(ReadContext& c, Message m, Opsets& opsets);
/// Reads a FunctionProto.
Function read_function(ReadContext& c, Message m);
}  // namespace retort::onnx
