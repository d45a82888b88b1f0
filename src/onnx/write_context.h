// Shared by the parts of the writer while one model is written.
#pragma once
#include <string>
#include <vector>

#include "onnx/names.h"
#include "onnx/schema.h"
#include "onnx/wire_writer.h"
#include "onnx/writer.h"

namespace retort::onnx {

/// Constants of at least this many bytes are aligned.
inline constexpr size_t kAlignFrom = 256;
inline constexpr size_t kWeightAlignment = 64;
/// The alignment in bytes of constants in the file of external data that need no larger one.
inline constexpr size_t kExternalElement = 8;

/// A TensorProto without data that has to be aligned: data is inline, and copied if it is small.
MessageWriter write_tensor(const Tensor& tensor, const std::string& name);
/// Writes a TensorProto as field `field` of `to`; `position` is the position of the next byte of `to` in the file.
/// Large data is aligned to kWeightAlignment.
void write_aligned_tensor(MessageWriter& to, uint32_t field, size_t position, const Tensor& tensor,
                          const std::string& name);
/// A TensorProto whose data is in the model's file of external data.
MessageWriter write_external_tensor(const Tensor& tensor, const std::string& name, const WriteOptions& options,
                                    WrittenModel& to);
/// A TensorProto of a constant whose data the options have placed elsewhere; nullopt if they have not.
std::optional<MessageWriter> write_located_tensor(const Tensor& tensor, const std::string& name,
                                                  const WriteOptions& options);
/// A TypeProto; symbols become dim_params, other unknown extents are left out.
MessageWriter write_type(const DimTable& dims, const ValueType& type);
/// An AttributeProto.
MessageWriter write_attribute(const DimTable& dims, const std::string& name, const Attribute& value);
MessageWriter write_entry(const std::string& key, const std::string& value);
/// A GraphProto with all of its constants. `captured` has the meaning that it has for Names.
MessageWriter write_body(const Graph& graph, const Names* outer, const std::vector<std::string>& captured,
                         const WriteOptions& options);
/// A GraphProto without the constants of the main graph.
MessageWriter write_graph_head(const Graph& graph, const Names& names, const WriteOptions& options);
/// Writes NodeProtos in the order of execution.
void write_nodes(MessageWriter& to, uint32_t field, const Graph& graph, const Names& names,
                 const WriteOptions& options);
/// A ValueInfoProto.
MessageWriter write_value_info(const Graph& graph, const Names& names, ValueId id);
/// Writes ValueInfoProtos of the outputs of nodes, except graph outputs.
void write_value_infos(MessageWriter& to, uint32_t field, const Graph& graph, const Names& names);
/// Calls f(ValueId, const Tensor&) for the constants that are used, and for the defaults of inputs.
void for_each_constant(const Graph& graph, const std::function<void(ValueId, const Tensor&)>& f);

}  // namespace retort::onnx
