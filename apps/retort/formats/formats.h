// One function per file format; all throw Failure without the file's name, which read_value_file() adds.
#pragma once
#include "formats/tensors.h"

namespace retort::cli {

/// Reads any order of axes and bytes; text becomes UTF-8.
HostTensor parse_npy(const std::string& bytes);
/// The same for a file or pipe, whose data goes to the tensor directly.
HostTensor read_npy(const std::string& path);
/// Throws Failure for element types that numpy does not have.
std::string npy_bytes(const HostTensor& tensor);
bool numpy_has(ONNXTensorElementDataType type);

std::map<std::string, HostTensor> read_npz(const std::string& path);
void write_npz(const std::string& path, const std::map<std::string, HostTensor>& tensors);

/// Reads a TensorProto, or a SequenceProto or MapProto if `kind` is that.
HostValue parse_pb(const std::string& bytes, ONNXType kind);
/// The number of the type in TensorProto.DataType.
int32_t pb_type_number(ONNXTensorElementDataType type);
/// Writes a TensorProto, SequenceProto or MapProto; an OptionalProto for an absent value.
std::string pb_bytes(const HostValue& value, const std::string& name);

/// Reads rows of numbers or texts with commas, semicolons or tabs between them; a first row without numbers is a header
/// if the input takes numbers.
HostTensor parse_csv(const std::string& bytes, const PortInfo& port);
/// A row for each element of the first axis. Throws Failure for complex numbers.
std::string csv_text(const HostTensor& tensor);

/// Reads PNG or JPEG, which differ in their first bytes.
HostTensor parse_image(const std::string& bytes, const PortInfo& port, const MediaOptions& media);
/// Reads RIFF WAVE with samples of 8, 16, 24 or 32 bits or floats. Channels are averaged; samples lie in [-1, 1).
HostTensor parse_wav(const std::string& bytes, const PortInfo& port, const MediaOptions& media);

}  // namespace retort::cli
