// Session options that bring data: initializers, files in memory, sources of compiled models.
#include "abi/sessions/options.h"
#include "abi/slots.h"
#include "abi/values/value.h"

namespace retort::abi {
namespace {

/// The tensor of a value that stays where it is.
const Tensor& need_tensor(const OrtValue* value, const char* what) {
  const Tensor* tensor = handle(value, what).value.tensor();
  require(tensor, ErrorCode::invalid_argument, "argument '{}' is not a tensor", what);
  return on_host(*tensor, what);
}

template <typename T>
void add_new(std::map<std::string, T>& all, const char* name, T item) {
  const bool is_new = all.emplace(need_text(name, "name"), std::move(item)).second;
  require(is_new, ErrorCode::invalid_argument, "'{}' was added before", name);
}

}  // namespace

OrtStatusPtr ORT_API_CALL AddInitializer(OrtSessionOptions* options, const char* name, const OrtValue* val) noexcept {
  return guard([&] {
    const Tensor& tensor = need_tensor(val, "val");
    require(!tensor.owner(), ErrorCode::invalid_argument, "initializer '{}' must lie in memory of the caller",
            need_text(name, "name"));
    add_new(handle(options, "options").options.initializers, name, tensor);
  });
}

OrtStatusPtr ORT_API_CALL AddExternalInitializers(OrtSessionOptions* options, const char* const* initializer_names,
                                                  const OrtValue* const* initializers,
                                                  size_t num_initializers) noexcept {
  return guard([&] {
    auto& all = handle(options, "options").options.external_initializers;
    for (size_t i = 0; i < num_initializers; ++i) {
      add_new(all, (&need(initializer_names, "initializer_names"))[i],
              need_tensor((&need(initializers, "initializers"))[i], "initializers"));
    }
  });
}

OrtStatusPtr ORT_API_CALL AddExternalInitializersFromFilesInMemory(OrtSessionOptions* options,
                                                                   const char* const* external_initializer_file_names,
                                                                   char* const* external_initializer_file_buffer_array,
                                                                   const size_t* external_initializer_file_lengths,
                                                                   size_t num_external_initializer_files) noexcept {
  return guard([&] {
    auto& all = handle(options, "options").options.external_files;
    for (size_t i = 0; i < num_external_initializer_files; ++i) {
      const char* bytes = (&need(external_initializer_file_buffer_array, "external_initializer_file_buffer_array"))[i];
      const size_t size = (&need(external_initializer_file_lengths, "external_initializer_file_lengths"))[i];
      add_new(all, (&need(external_initializer_file_names, "external_initializer_file_names"))[i],
              SessionOptions::MemoryFile{{bytes, size}, nullptr});
    }
  });
}

OrtStatusPtr ORT_API_CALL SessionOptionsSetWeightlessSourceModelBuffer(OrtSessionOptions* options,
                                                                       const void* source_model_data,
                                                                       size_t source_model_data_length) noexcept {
  return guard([&] {
    OrtSessionOptions& o = handle(options, "options");
    need(static_cast<const char*>(source_model_data), "source_model_data");
    require(source_model_data_length > 0, ErrorCode::invalid_argument, "the source model has no bytes");
    o.weightless_source = source_model_data;
    o.weightless_source_size = source_model_data_length;
  });
}

OrtStatusPtr ORT_API_CALL SessionOptionsSetEpContextDataReadFunc(OrtSessionOptions* options,
                                                                 OrtReadNamedBufferFunc read_func,
                                                                 void* state) noexcept {
  return guard([&] {
    OrtSessionOptions& o = handle(options, "options");
    o.ep_context.read = read_func;
    o.ep_context.read_state = read_func ? state : nullptr;
  });
}

namespace ep_api {

OrtStatusPtr ORT_API_CALL SessionOptionsGetWeightlessSourceModelBuffer(const OrtSessionOptions* session_options,
                                                                       const void** source_model_data,
                                                                       size_t* source_model_data_length) noexcept {
  return guard([&] {
    const OrtSessionOptions& o = handle(session_options, "session_options");
    need(source_model_data, "source_model_data");
    need(source_model_data_length, "source_model_data_length") = o.weightless_source_size;
    *source_model_data = o.weightless_source;
  });
}

OrtStatusPtr ORT_API_CALL SessionOptionsGetEpContextConfig(const OrtSessionOptions* session_options,
                                                           OrtEpContextConfig** config) noexcept {
  return guard([&] {
    give(config, "config", std::make_unique<OrtEpContextConfig>(handle(session_options, "session_options").ep_context));
  });
}

void ORT_API_CALL ReleaseEpContextConfig(OrtEpContextConfig* input) noexcept { release(input); }

OrtStatusPtr ORT_API_CALL EpContextConfigGetEpContextDataReadFunc(const OrtEpContextConfig* config,
                                                                  OrtReadNamedBufferFunc* read_func,
                                                                  void** state) noexcept {
  return guard([&] {
    const OrtEpContextConfig& c = handle(config, "config");
    need(read_func, "read_func");
    need(state, "state") = c.read_state;
    *read_func = c.read;
  });
}

OrtStatusPtr ORT_API_CALL EpContextConfigGetEpContextDataWriteFunc(const OrtEpContextConfig* config,
                                                                   OrtWriteNamedBufferFunc* write_func,
                                                                   void** state) noexcept {
  return guard([&] {
    const OrtEpContextConfig& c = handle(config, "config");
    need(write_func, "write_func");
    need(state, "state") = c.write_state;
    *write_func = c.write;
  });
}

}  // namespace ep_api
}  // namespace retort::abi
