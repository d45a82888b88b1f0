#include "ort_format/adapter.h"

#include <cstring>
#include <set>

#include "adapter_generated.h"
#include "base/checked.h"
#include "base/error.h"
#include "onnx/read_context.h"
#include "onnx/weight_file.h"

namespace retort {
namespace {

constexpr int kFormat = 1;

Shape shape_of_parameter(const fbs::Parameter& p) {
  std::vector<int64_t> dims;
  for (size_t i = 0; p.dims() && i < p.dims()->size(); ++i) {
    dims.push_back(p.dims()->Get(flatbuffers::uoffset_t(i)));
    require(dims.back() >= 0, ErrorCode::fail, "extent {} of axis {} is negative", dims.back(), i);
  }
  return Shape(dims);
}

Tensor tensor_of_parameter(const fbs::Parameter& p) {
  const DType type = onnx::read_dtype(p.data_type());
  require(type != DType::string, ErrorCode::fail, "strings cannot be in an adapter");
  const Shape shape = shape_of_parameter(p);
  const size_t bytes = dtype_bytes(type, element_count(shape)), given = p.raw_data() ? p.raw_data()->size() : 0;
  require(bytes == given, ErrorCode::fail, "{} bytes of data for {}{}, which needs {}", given, dtype_name(type),
          to_string(shape), bytes);
  Tensor tensor(type, shape);
  if (bytes > 0) std::memcpy(tensor.mutable_data(), p.raw_data()->data(), bytes);
  return tensor;
}

// `bytes` must begin at a multiple of 8.
Adapter read_aligned(std::span<const std::byte> bytes) {
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  constexpr size_t kHead = 8;  // offset of the root, identifier
  const bool has_size = bytes.size() > kHead && bytes.size() < FLATBUFFERS_MAX_BUFFER_SIZE;
  require(has_size && flatbuffers::Verifier(data, bytes.size()).VerifyBuffer<fbs::Adapter>(fbs::AdapterIdentifier()),
          ErrorCode::fail, "this is not an adapter, or it is broken; write it with onnxruntime.AdapterFormat");
  const fbs::Adapter& root = *fbs::GetAdapter(data);
  require(root.format_version() == kFormat, ErrorCode::fail,
          "version {} of the adapter format is not supported, only {} is", root.format_version(), kFormat);
  Adapter adapter{.version = root.adapter_version(), .model_version = root.model_version(), .parameters = {}};
  std::set<std::string> names;
  size_t total = 0;
  for (size_t i = 0; root.parameters() && i < root.parameters()->size(); ++i) {
    const fbs::Parameter& p = *root.parameters()->Get(flatbuffers::uoffset_t(i));
    std::string name = p.name() ? p.name()->str() : "";
    try {
      require(!name.empty() && names.insert(name).second, ErrorCode::fail, "its name is empty or occurs twice");
      // Parameters that share their data are rejected: a small file must not need much memory.
      total += p.raw_data() ? p.raw_data()->size() : 0;
      require(total <= bytes.size(), ErrorCode::fail, "it shares its data with another");
      adapter.parameters.push_back({name, tensor_of_parameter(p)});
    } catch (const Error& e) {
      fail(ErrorCode::fail, "parameter {} '{}' of an adapter: {}", i, name, e.what());
    }
  }
  return adapter;
}

}  // namespace

Adapter read_adapter(std::span<const std::byte> bytes) {
  const std::shared_ptr<void> copy = allocate_host(bytes.size());
  if (!bytes.empty()) std::memcpy(copy.get(), bytes.data(), bytes.size());
  return read_aligned({static_cast<const std::byte*>(copy.get()), bytes.size()});
}

Adapter read_adapter(const std::string& path) try {
  const onnx::File file = onnx::File::open(path);
  const std::shared_ptr<void> bytes = file.size() ? file.read(0, file.size()) : nullptr;
  return read_aligned({static_cast<const std::byte*>(bytes.get()), file.size()});
} catch (const Error& e) {
  const ErrorCode code = e.code() == ErrorCode::no_such_file ? ErrorCode::invalid_argument : e.code();
  fail(code == ErrorCode::invalid_argument ? code : ErrorCode::fail, "adapter '{}': {}", path, e.what());
}

}  // namespace retort
