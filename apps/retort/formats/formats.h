// One function per kind of file; all throw Failure without the file's name, which read_tensor_file() adds.
#pragma once
#include "formats/tensors.h"

namespace retort::cli {

/// Any order of axes and bytes; text becomes UTF-8.
HostTensor parse_npy(const std::string& bytes);
/// Throws Failure for element types that numpy does not have.
std::string npy_bytes(const HostTensor& tensor);
bool numpy_has(ONNXTensorElementDataType type);

std::map<std::string, HostTensor> read_npz(const std::string& path);
void write_npz(const std::string& path, const std::map<std::string, HostTensor>& tensors);

/// A TensorProto, or a SequenceProto or MapProto where the kind is that.
HostValue parse_pb(const std::string& bytes, ONNXType kind);
/// The number that TensorProto.DataType has for it.
int32_t pb_type_number(ONNXTensorElementDataType type);
/// A TensorProto, SequenceProto or MapProto; an OptionalProto for no value.
std::string pb_bytes(const HostValue& value, const std::string& name);

/// PNG or JPEG, told apart by their first bytes.
HostTensor parse_image(const std::string& bytes, const PortInfo& port, const MediaOptions& media);
/// RIFF WAVE with samples of 8, 16, 24 or 32 bits or floats. Channels are averaged; samples lie in [-1, 1).
HostTensor parse_wav(const std::string& bytes, const PortInfo& port, const MediaOptions& media);

}  // namespace retort::cli
