// What a kernel can ask about its node.
#include <algorithm>

#include "abi/kernels/kernels.h"
#include "abi/key_values.h"
#include "abi/sessions/session.h"
#include "abi/slots.h"
#include "abi/text.h"

namespace retort::abi {
namespace {

const OrtKernelInfo& of(const OrtKernelInfo* info) { return handle(info, "info"); }

/// The node's attribute of that name, of kind T. Like the official library, throws `fail` if it is missing or of
/// another kind.
template <typename T>
const T& attribute(const OrtKernelInfo* info, const char* name) {
  const ExternalNode& node = of(info).node;
  const Attribute* found = node.attributes.find(need_text(name, "name"));
  require(found, ErrorCode::fail, "node '{}' ({}) has no attribute '{}'", node.name, node.type, name);
  const T* value = std::get_if<T>(found);
  require(value, ErrorCode::fail, "attribute '{}' of node '{}' ({}) is of kind {}", name, node.name, node.type,
          attribute_kind(*found));
  return *value;
}

/// The two-call convention for arrays: a null buffer returns the count.
template <typename T>
void copy_array(const std::vector<T>& all, T* out, size_t* size) {
  size_t& room = need(size, "size");
  if (!out) {
    room = all.size();
    return;
  }
  const size_t given = std::exchange(room, all.size());
  require(given >= all.size(), ErrorCode::invalid_argument, "the buffer has room for {} elements; {} are needed", given,
          all.size());
  std::copy(all.begin(), all.end(), out);
}

const std::string& name_of(const std::vector<std::string>& names, size_t index, const char* what) {
  require(index < names.size(), ErrorCode::invalid_argument, "{} {} of {} does not exist", what, index, names.size());
  return names[index];
}

void give_type(const OrtKernelInfo& info, const std::vector<std::optional<ValueType>>& types, size_t index,
               const char* what, OrtTypeInfo** out) {
  require(index < types.size(), ErrorCode::invalid_argument, "{} {} of {} does not exist", what, index, types.size());
  require(types[index].has_value(), ErrorCode::invalid_argument, "{} {} is omitted in this node, so it has no type",
          what, index);
  give(out, "type_info", std::make_unique<OrtTypeInfo>(type_of(*types[index], *info.node.dims)));
}

}  // namespace

OrtStatusPtr ORT_API_CALL KernelInfoGetAttribute_float(const OrtKernelInfo* info, const char* name,
                                                       float* out) noexcept {
  return guard([&] { need(out, "out") = attribute<float>(info, name); });
}
OrtStatusPtr ORT_API_CALL KernelInfoGetAttribute_int64(const OrtKernelInfo* info, const char* name,
                                                       int64_t* out) noexcept {
  return guard([&] { need(out, "out") = attribute<int64_t>(info, name); });
}
OrtStatusPtr ORT_API_CALL KernelInfoGetAttribute_string(const OrtKernelInfo* info, const char* name, char* out,
                                                        size_t* size) noexcept {
  return guard([&] { copy_text(attribute<std::string>(info, name), out, size); });
}
OrtStatusPtr ORT_API_CALL KernelInfoGetAttributeArray_float(const OrtKernelInfo* info, const char* name, float* out,
                                                            size_t* size) noexcept {
  return guard([&] { copy_array(attribute<std::vector<float>>(info, name), out, size); });
}
OrtStatusPtr ORT_API_CALL KernelInfoGetAttributeArray_int64(const OrtKernelInfo* info, const char* name, int64_t* out,
                                                            size_t* size) noexcept {
  return guard([&] { copy_array(attribute<std::vector<int64_t>>(info, name), out, size); });
}

OrtStatusPtr ORT_API_CALL KernelInfoGetAttributeArray_string(const OrtKernelInfo* info, const char* name,
                                                             OrtAllocator* allocator, char*** out,
                                                             size_t* size) noexcept {
  return guard([&] {
    const auto& texts = attribute<std::vector<std::string>>(info, name);
    OrtAllocator& a = need(allocator, "allocator");
    need(out, "out");
    need(size, "size");
    auto array = held(a, texts.empty() ? nullptr : static_cast<char**>(allocate(a, texts.size() * sizeof(char*))));
    std::vector<decltype(held(a, static_cast<char*>(nullptr)))> copies;
    for (const std::string& text : texts) copies.push_back(held(a, allocate_text(a, text)));
    for (size_t i = 0; i < copies.size(); ++i) array.get()[i] = copies[i].release();
    *out = array.release();
    *size = texts.size();
  });
}

OrtStatusPtr ORT_API_CALL KernelInfoGetAttribute_tensor(const OrtKernelInfo* info, const char* name,
                                                        OrtAllocator* allocator, OrtValue** out) noexcept {
  return guard([&] {
    const Tensor& tensor = attribute<Tensor>(info, name);
    OrtAllocator& a = need(allocator, "allocator");
    give(out, "out", std::make_unique<OrtValue>(copy_value(a, Value(tensor))));
  });
}

OrtStatusPtr ORT_API_CALL CopyKernelInfo(const OrtKernelInfo* info, OrtKernelInfo** info_copy) noexcept {
  return guard([&] { give(info_copy, "info_copy", std::make_unique<OrtKernelInfo>(of(info))); });
}
void ORT_API_CALL ReleaseKernelInfo(OrtKernelInfo* input) noexcept { release(input); }

OrtStatusPtr ORT_API_CALL KernelInfo_GetInputCount(const OrtKernelInfo* info, size_t* out) noexcept {
  return guard([&] { need(out, "out") = of(info).node.inputs.size(); });
}
OrtStatusPtr ORT_API_CALL KernelInfo_GetOutputCount(const OrtKernelInfo* info, size_t* out) noexcept {
  return guard([&] { need(out, "out") = of(info).node.outputs.size(); });
}
OrtStatusPtr ORT_API_CALL KernelInfo_GetInputName(const OrtKernelInfo* info, size_t index, char* out,
                                                  size_t* size) noexcept {
  return guard([&] { copy_text(name_of(of(info).node.inputs, index, "input"), out, size); });
}
OrtStatusPtr ORT_API_CALL KernelInfo_GetOutputName(const OrtKernelInfo* info, size_t index, char* out,
                                                   size_t* size) noexcept {
  return guard([&] { copy_text(name_of(of(info).node.outputs, index, "output"), out, size); });
}
OrtStatusPtr ORT_API_CALL KernelInfo_GetInputTypeInfo(const OrtKernelInfo* info, size_t index,
                                                      OrtTypeInfo** type_info) noexcept {
  return guard([&] { give_type(of(info), of(info).inputs, index, "input", type_info); });
}
OrtStatusPtr ORT_API_CALL KernelInfo_GetOutputTypeInfo(const OrtKernelInfo* info, size_t index,
                                                       OrtTypeInfo** type_info) noexcept {
  return guard([&] { give_type(of(info), of(info).outputs, index, "output", type_info); });
}

OrtStatusPtr ORT_API_CALL KernelInfo_GetNodeName(const OrtKernelInfo* info, char* out, size_t* size) noexcept {
  return guard([&] { copy_text(of(info).node.name, out, size); });
}
OrtStatusPtr ORT_API_CALL KernelInfo_GetOperatorDomain(const OrtKernelInfo* info, char* out, size_t* size) noexcept {
  return guard([&] { copy_text(of(info).node.domain, out, size); });
}
OrtStatusPtr ORT_API_CALL KernelInfo_GetOperatorType(const OrtKernelInfo* info, char* out, size_t* size) noexcept {
  return guard([&] { copy_text(of(info).node.type, out, size); });
}
OrtStatusPtr ORT_API_CALL KernelInfo_GetOperatorSinceVersion(const OrtKernelInfo* info, int* since_version) noexcept {
  return guard([&] { need(since_version, "since_version") = of(info).since_version; });
}

OrtStatusPtr ORT_API_CALL KernelInfo_GetLogger(const OrtKernelInfo* info, const OrtLogger** logger) noexcept {
  return guard([&] { need(logger, "logger") = &of(info).logger; });
}
OrtStatusPtr ORT_API_CALL KernelInfo_GetConfigEntries(const OrtKernelInfo* info, OrtKeyValuePairs** out) noexcept {
  return guard([&] { give(out, "out", std::make_unique<OrtKeyValuePairs>(of(info).config)); });
}

OrtStatusPtr ORT_API_CALL KernelInfoGetConstantInput_tensor(const OrtKernelInfo* info, size_t index, int* is_constant,
                                                            const OrtValue** out) noexcept {
  return guard([&] {
    const auto& constants = of(info).constants;
    need(is_constant, "is_constant");
    need(out, "out");
    require(index < constants.size(), ErrorCode::invalid_argument, "input {} of {} does not exist", index,
            constants.size());
    *is_constant = !constants[index].value.empty();
    *out = *is_constant ? &constants[index] : nullptr;
  });
}

OrtStatusPtr ORT_API_CALL KernelInfoGetAllocator(const OrtKernelInfo* info, OrtMemType mem_type,
                                                 OrtAllocator** out) noexcept {
  return guard([&] {
    const std::shared_ptr<Allocator>& device = of(info).memory;
    need(out, "out");
    // The caller owns it and frees it with ReleaseAllocator.
    *out = device && mem_type == OrtMemTypeDefault ? static_cast<OrtAllocator*>(new DeviceAllocator(device))
                                                   : new HostAllocator;
  });
}

}  // namespace retort::abi
