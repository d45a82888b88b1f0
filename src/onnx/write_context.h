// What the parts of the writer share while one model is written.
#pragma once
#include <string>
#include <vector>

#include "onnx/names.h"
#include "onnx/schema.h"
#include "onnx/wire_writer.h"
#include "onnx/writer.h"

namespace retort::onnx {

/// Constants of this size and more are placed with care.
inline constexpr size_t kAlignFrom = 256;
inline constexpr size_t kWeightAlignment = 64;
/// Constants of the file of external data that are not aligned to more.
inline constexpr size_t kExternalElement = 8;

/// TensorProto without data that must lie somewhere: inline, copied when small.
MessageWriter write_tensor(const Tensor& tensor, const std::string& name);
/// TensorProto as field `field` of `to`; `position` is where the next byte of `to` will lie in the file. Large data
/// lies at a multiple of kWeightAlignment.
void write_aligned_tensor(MessageWriter& to, uint32_t field, size_t position, const Tensor& tensor,
                          const std::string& name);
/// TensorProto whose data goes to the external file of the model.
MessageWriter write_external_tensor(const Tensor& tensor, const std::string& name, const WriteOptions& options,
                                    WrittenModel& to);
/// TensorProto of a constant that the options have located elsewhere; nullopt: it stays.
std::optional<MessageWriter> write_located_tensor(const Tensor& tensor, const std::string& name,
                                                  const WriteOptions& options);
/// TypeProto; symbols become dim_params, other unknown extents stay open.
MessageWriter write_type(const DimTable& dims, const ValueType& type);
/// AttributeProto
MessageWriter write_attribute(const DimTable& dims, const std::string& name, const Attribute& value);
MessageWriter write_entry(const std::string& key, const std::string& value);
/// GraphProto with all of its constants. `captured` as for Names.
MessageWriter write_body(const Graph& graph, const Names* outer, const std::vector<std::string>& captured,
                         const WriteOptions& options);
/// GraphProto without the constants of the main graph.
MessageWriter write_graph_head(const Graph& graph, const Names& names, const WriteOptions& options);
/// NodeProtos in the order of execution.
void write_nodes(MessageWriter& to, uint32_t field, const Graph& graph, const Names& names,
                 const WriteOptions& options);
/// ValueInfoProto
MessageWriter write_value_info(const Graph& graph, const Names& names, ValueId id);
/// ValueInfoProtos of values that nodes make, graph outputs left out.
void write_value_infos(MessageWriter& to, uint32_t field, const Graph& graph, const Names& names);
/// Calls f(ValueId, const Tensor&) for the constants that something uses, and for the defaults of inputs.
void for_each_constant(const Graph& graph, const std::function<void(ValueId, const Tensor&)>& f);

}  // namespace retort::onnx
