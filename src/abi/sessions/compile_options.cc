// Options of compilations: each setter checks and stores.
#include <filesystem>

#include "abi/sessions/compile.h"
#include "abi/sessions/environment.h"
#include "abi/slots.h"

namespace retort::abi {
namespace {

OrtModelCompilationOptions& compilation(OrtModelCompilationOptions* options) {
  return handle(options, "model_compile_options");
}

std::string need_name(const char* text, const char* what) {
  std::string name = need_text(text, what);
  require(!name.empty(), ErrorCode::invalid_argument, "{} is empty", what);
  return name;
}

void set_config(OrtModelCompilationOptions* options, const char* key, bool value) {
  compilation(options).session.options.config[key] = value ? "1" : "0";
}

BufferOutput need_buffer(OrtAllocator* allocator, void** data, size_t* size) {
  need(allocator, "allocator");
  need(data, "output_buffer");
  need(size, "output_buffer_size");
  return {allocator, data, size};
}

}  // namespace

namespace compile_api {

void ORT_API_CALL ReleaseModelCompilationOptions(OrtModelCompilationOptions* input) noexcept { release(input); }

OrtStatusPtr ORT_API_CALL CreateModelCompilationOptionsFromSessionOptions(const OrtEnv* env,
                                                                          const OrtSessionOptions* session_options,
                                                                          OrtModelCompilationOptions** out) noexcept {
  return guard([&] {
    handle(env, "env");
    auto made = std::make_unique<OrtModelCompilationOptions>();
    made->session = handle(session_options, "session_options");
    made->session.options.optimization = OptimizationLevel::none;
    give(out, "out", std::move(made));
  });
}

OrtStatusPtr ORT_API_CALL ModelCompilationOptions_SetInputModelPath(OrtModelCompilationOptions* model_compile_options,
                                                                    const char* input_model_path) noexcept {
  return guard([&] { compilation(model_compile_options).input = need_name(input_model_path, "input_model_path"); });
}

OrtStatusPtr ORT_API_CALL
ModelCompilationOptions_SetInputModelFromBuffer(OrtModelCompilationOptions* model_compile_options,
                                                const void* input_model_data, size_t input_model_data_size) noexcept {
  return guard([&] {
    auto& o = compilation(model_compile_options);
    const auto* bytes = &need(static_cast<const std::byte*>(input_model_data), "input_model_data");
    require(input_model_data_size > 0, ErrorCode::invalid_argument, "the input model has no bytes");
    o.input = std::span(bytes, input_model_data_size);
  });
}

OrtStatusPtr ORT_API_CALL ModelCompilationOptions_SetInputModel(OrtModelCompilationOptions* model_compile_options,
                                                                const OrtModel* model) noexcept {
  return guard([&] { compilation(model_compile_options).input = &std::as_const(handle(model, "model")); });
}

OrtStatusPtr ORT_API_CALL ModelCompilationOptions_SetOutputModelPath(OrtModelCompilationOptions* model_compile_options,
                                                                     const char* output_model_path) noexcept {
  return guard([&] { compilation(model_compile_options).output = need_name(output_model_path, "output_model_path"); });
}

OrtStatusPtr ORT_API_CALL ModelCompilationOptions_SetOutputModelBuffer(
    OrtModelCompilationOptions* model_compile_options, OrtAllocator* allocator, void** output_model_buffer_ptr,
    size_t* output_model_buffer_size_ptr) noexcept {
  return guard([&] {
    compilation(model_compile_options).output =
        need_buffer(allocator, output_model_buffer_ptr, output_model_buffer_size_ptr);
  });
}

OrtStatusPtr ORT_API_CALL ModelCompilationOptions_SetOutputModelWriteFunc(
    OrtModelCompilationOptions* model_compile_options, OrtWriteBufferFunc write_func, void* state) noexcept {
  return guard([&] {
    auto& o = compilation(model_compile_options);
    require(write_func != nullptr, ErrorCode::invalid_argument, "write_func is null");
    o.output = FunctionOutput{write_func, state};
  });
}

OrtStatusPtr ORT_API_CALL ModelCompilationOptions_SetOutputModelExternalInitializersFile(
    OrtModelCompilationOptions* model_compile_options, const char* external_initializers_file_path,
    size_t external_initializers_size_threshold) noexcept {
  return guard([&] {
    auto& o = compilation(model_compile_options);
    o.weights = WeightsFile{need_name(external_initializers_file_path, "external_initializers_file_path"),
                            external_initializers_size_threshold,
                            {}};
  });
}

OrtStatusPtr ORT_API_CALL ModelCompilationOptions_SetOutputModelExternalInitializersBuffer(
    OrtModelCompilationOptions* model_compile_options, const char* logical_file_name, size_t initializer_size_threshold,
    OrtAllocator* allocator, void** output_buffer, size_t* output_buffer_size) noexcept {
  return guard([&] {
    auto& o = compilation(model_compile_options);
    const std::string name = need_name(logical_file_name, "logical_file_name");
    require(std::filesystem::path(name).is_relative(), ErrorCode::invalid_argument,
            "logical_file_name is '{}'; give a name relative to the folder of the model", name);
    o.weights =
        WeightsFile{name, initializer_size_threshold, need_buffer(allocator, output_buffer, output_buffer_size)};
  });
}

OrtStatusPtr ORT_API_CALL ModelCompilationOptions_SetOutputModelExternalInitializersAlignment(
    OrtModelCompilationOptions* model_compile_options, size_t alignment, size_t minimum_size) noexcept {
  return guard([&] {
    auto& o = compilation(model_compile_options);
    require((alignment & (alignment - 1)) == 0 && alignment <= size_t(INT64_MAX), ErrorCode::invalid_argument,
            "the alignment {} of external initializers is neither 0 nor a power of two up to 2^62; give one of these",
            alignment);
    o.alignment = alignment;
    o.aligned_from = minimum_size;
  });
}

OrtStatusPtr ORT_API_CALL ModelCompilationOptions_SetOutputModelGetInitializerLocationFunc(
    OrtModelCompilationOptions* model_compile_options, OrtGetInitializerLocationFunc get_initializer_location_func,
    void* state) noexcept {
  return guard([&] {
    auto& o = compilation(model_compile_options);
    require(get_initializer_location_func != nullptr, ErrorCode::invalid_argument,
            "get_initializer_location_func is null");
    o.weights = WeightsFunction{get_initializer_location_func, state};
  });
}

OrtStatusPtr ORT_API_CALL ModelCompilationOptions_SetFlags(OrtModelCompilationOptions* model_compile_options,
                                                           uint32_t flags) noexcept {
  return guard([&] { compilation(model_compile_options).flags = flags; });
}

OrtStatusPtr ORT_API_CALL ModelCompilationOptions_SetGraphOptimizationLevel(
    OrtModelCompilationOptions* model_compile_options, GraphOptimizationLevel graph_optimization_level) noexcept {
  return guard([&] {
    throw_status(
        SetSessionGraphOptimizationLevel(&compilation(model_compile_options).session, graph_optimization_level));
  });
}

// The options below are for providers that compile nodes.

OrtStatusPtr ORT_API_CALL ModelCompilationOptions_SetEpContextEmbedMode(
    OrtModelCompilationOptions* model_compile_options, bool embed_ep_context_in_model) noexcept {
  return guard([&] { set_config(model_compile_options, "ep.context_embed_mode", embed_ep_context_in_model); });
}

OrtStatusPtr ORT_API_CALL ModelCompilationOptions_SetWeightlessEnabled(
    OrtModelCompilationOptions* model_compile_options, bool use_weightless) noexcept {
  return guard([&] { set_config(model_compile_options, "ep.enable_weightless", use_weightless); });
}

OrtStatusPtr ORT_API_CALL ModelCompilationOptions_SetWeightlessMode(OrtModelCompilationOptions* model_compile_options,
                                                                    OrtWeightlessSupport weightless_mode) noexcept {
  return guard([&] {
    auto& o = compilation(model_compile_options);
    require(weightless_mode >= OrtWeightlessSupport_NONE && weightless_mode <= OrtWeightlessSupport_ALL,
            ErrorCode::invalid_argument, "weightless_mode is {}; give NONE (0), EXTERNAL_ONLY (1) or ALL (2)",
            int(weightless_mode));
    o.session.options.config["ep.enable_weightless_mode"] = std::to_string(int(weightless_mode));
  });
}

OrtStatusPtr ORT_API_CALL ModelCompilationOptions_SetEpContextBinaryInformation(
    OrtModelCompilationOptions* model_compile_options, const char* output_directory, const char* model_name) noexcept {
  return guard([&] {
    compilation(model_compile_options);
    const std::string folder = need_name(output_directory, "output_directory");
    need_name(model_name, "model_name");
    std::error_code missing;
    require(std::filesystem::is_directory(folder, missing), ErrorCode::invalid_argument,
            "output_directory '{}' is not a folder", folder);
  });
}

OrtStatusPtr ORT_API_CALL ModelCompilationOptions_SetEpContextDataWriteFunc(
    OrtModelCompilationOptions* model_compile_options, OrtWriteNamedBufferFunc write_func, void* state) noexcept {
  return guard([&] {
    OrtEpContextConfig& context = compilation(model_compile_options).session.ep_context;
    context.write = write_func;
    context.write_state = write_func ? state : nullptr;
  });
}

}  // namespace compile_api
}  // namespace retort::abi
