// Part of onnxruntime_cxx_api.h: models that providers compile ahead of time.
#pragma once
#include "session.h"

namespace Ort {

// Every setter returns the object, so that calls can follow one another.
struct ModelCompilationOptions : detail::Base<OrtModelCompilationOptions> {
  using Base = detail::Base<OrtModelCompilationOptions>;
  using Base::Base;

  explicit ModelCompilationOptions(std::nullptr_t) {}
  ModelCompilationOptions(const Env& env, const SessionOptions& session_options)
      : ModelCompilationOptions(env, session_options.GetConst()) {}
  ModelCompilationOptions(const Env& env, ConstSessionOptions session_options) {
    ThrowOnError(GetCompileApi().CreateModelCompilationOptionsFromSessionOptions(env, session_options, &p_));
  }

  // The model: one of a file, of memory, or of the model editor, which must stay until it is compiled.
  ModelCompilationOptions& SetInputModelPath(const ORTCHAR_T* input_model_path) {
    return Set(GetCompileApi().ModelCompilationOptions_SetInputModelPath, input_model_path);
  }
  ModelCompilationOptions& SetInputModelFromBuffer(const void* input_model_data, size_t input_model_data_size) {
    return Set(GetCompileApi().ModelCompilationOptions_SetInputModelFromBuffer, input_model_data,
               input_model_data_size);
  }
  ModelCompilationOptions& SetInputModel(const OrtModel* model) {
    return Set(GetCompileApi().ModelCompilationOptions_SetInputModel, model);
  }

  // Where the compiled model goes: to a file, into memory that the caller frees with `allocator`, or to a function.
  ModelCompilationOptions& SetOutputModelPath(const ORTCHAR_T* output_model_path) {
    return Set(GetCompileApi().ModelCompilationOptions_SetOutputModelPath, output_model_path);
  }
  ModelCompilationOptions& SetOutputModelBuffer(OrtAllocator* allocator, void** output_model_buffer_ptr,
                                                size_t* output_model_buffer_size_ptr) {
    return Set(GetCompileApi().ModelCompilationOptions_SetOutputModelBuffer, allocator, output_model_buffer_ptr,
               output_model_buffer_size_ptr);
  }
  ModelCompilationOptions& SetOutputModelWriteFunc(OrtWriteBufferFunc write_func, void* state) {
    return Set(GetCompileApi().ModelCompilationOptions_SetOutputModelWriteFunc, write_func, state);
  }

  // Where its weights go.
  ModelCompilationOptions& SetOutputModelExternalInitializersFile(const ORTCHAR_T* file_path,
                                                                  size_t initializer_size_threshold) {
    return Set(GetCompileApi().ModelCompilationOptions_SetOutputModelExternalInitializersFile, file_path,
               initializer_size_threshold);
  }
  ModelCompilationOptions& SetOutputModelGetInitializerLocationFunc(
      OrtGetInitializerLocationFunc get_initializer_location_func, void* state) {
    return Set(GetCompileApi().ModelCompilationOptions_SetOutputModelGetInitializerLocationFunc,
               get_initializer_location_func, state);
  }
  ModelCompilationOptions& SetOutputModelExternalInitializersBuffer(const ORTCHAR_T* logical_file_name,
                                                                    size_t initializer_size_threshold,
                                                                    OrtAllocator* allocator, void** output_buffer,
                                                                    size_t* output_buffer_size) {
    return Set(GetCompileApi().ModelCompilationOptions_SetOutputModelExternalInitializersBuffer, logical_file_name,
               initializer_size_threshold, allocator, output_buffer, output_buffer_size);
  }
  ModelCompilationOptions& SetOutputModelExternalInitializersAlignment(size_t alignment, size_t minimum_size) {
    return Set(GetCompileApi().ModelCompilationOptions_SetOutputModelExternalInitializersAlignment, alignment,
               minimum_size);
  }

  // What the provider compiled: inside the model, or in files of this folder and name, or to a function.
  ModelCompilationOptions& SetEpContextEmbedMode(bool embed_ep_context_in_model) {
    return Set(GetCompileApi().ModelCompilationOptions_SetEpContextEmbedMode, embed_ep_context_in_model);
  }
  ModelCompilationOptions& SetEpContextBinaryInformation(const ORTCHAR_T* output_directory,
                                                         const ORTCHAR_T* model_name) {
    return Set(GetCompileApi().ModelCompilationOptions_SetEpContextBinaryInformation, output_directory, model_name);
  }
  ModelCompilationOptions& SetEpContextDataWriteFunc(OrtWriteNamedBufferFunc write_func, void* state) {
    return Set(GetCompileApi().ModelCompilationOptions_SetEpContextDataWriteFunc, write_func, state);
  }

  // Bits of OrtCompileApiFlags.
  ModelCompilationOptions& SetFlags(uint32_t flags) {
    return Set(GetCompileApi().ModelCompilationOptions_SetFlags, flags);
  }
  ModelCompilationOptions& SetGraphOptimizationLevel(GraphOptimizationLevel graph_optimization_level) {
    return Set(GetCompileApi().ModelCompilationOptions_SetGraphOptimizationLevel, graph_optimization_level);
  }
  ModelCompilationOptions& SetWeightlessEnabled(bool use_weightless) {
    return Set(GetCompileApi().ModelCompilationOptions_SetWeightlessEnabled, use_weightless);
  }
  ModelCompilationOptions& SetWeightlessMode(OrtWeightlessSupport weightless_mode) {
    return Set(GetCompileApi().ModelCompilationOptions_SetWeightlessMode, weightless_mode);
  }

 private:
  template <typename Function, typename... Arguments>
  ModelCompilationOptions& Set(Function* function, Arguments... arguments) {
    ThrowOnError(function(p_, arguments...));
    return *this;
  }
};

inline Status CompileModel(const Env& env, const ModelCompilationOptions& model_compilation_options) {
  return Status(GetCompileApi().CompileModel(env, model_compilation_options));
}

}  // namespace Ort
