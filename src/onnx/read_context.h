// What the parts of the reader share while one model is read.
#pragma once
#include <string>

#include "onnx/external_data.h"
#include "onnx/reader.h"
#include "onnx/schema.h"
#include "onnx/wire.h"

namespace retort::onnx {

using Opsets = std::map<std::string, int>;

struct ReadContext {
  ReadContext(Model& target, const ReadOptions& read_options, Source source)
      : model(target), options(read_options), file(std::move(source)), external(read_options, target.path) {}

  Model& model;
  const ReadOptions& options;
  Source file;
  ExternalFiles external;
  size_t nodes = 0, entries = 0, memory = 0;

  const ReadLimits& limits() const { return options.limits; }
  /// Counts and checks against the limits.
  void count_node();
  void count_entry(size_t name_bytes = 0);
  void charge(size_t bytes);
  /// A string field within the limits.
  std::string_view text(const Message& m) const;
};

/// Runs `f`; an Error gets what `context()` says in front.
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

/// TensorProto of every element type, inline or external; `name` receives its name. Errors name the tensor.
Tensor read_tensor(ReadContext& c, Message m, std::string_view* name = nullptr);
/// SparseTensorProto, indices checked against the shape.
SparseTensor read_sparse(ReadContext& c, Message m, std::string_view* name = nullptr);
/// The dense form; later entries win where indices repeat.
Tensor densify(ReadContext& c, const SparseTensor& sparse);
/// TypeProto.
ValueType read_type(ReadContext& c, Message m);
/// The element type with that number; throws on numbers that are none.
DType read_dtype(int64_t number);
/// AttributeProto that is no graph; see Scope for graphs. `reference`: whether ref_attr_name is allowed.
struct ReadAttribute {
  std::string_view name;
  AttributeKind kind = AttributeKind::undefined;
  Attribute value;
  std::optional<Message> graph;  ///< kind graph: value is not set
};
ReadAttribute read_attribute(ReadContext& c, Message m, bool reference);
/// OperatorSetIdProto into the map.
void read_opset(ReadContext& c, Message m, Opsets& opsets);
/// FunctionProto.
Function read_function(ReadContext& c, Message m);
}  // namespace retort::onnx
