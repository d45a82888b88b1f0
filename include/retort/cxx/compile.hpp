// Models compiled ahead of time for the providers of a session's options; part of retort.hpp.
#pragma once
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "session.hpp"

namespace retort::api {

/// The function table for compiling; since 1.22.
inline const OrtCompileApi& compile_api() {
  Library::need(22, "compiling a model");
  return *api().GetCompileApi();
}

/// Compiles a model ahead of time: set one input and one output, then call run(), which may be called again. Arguments
/// that are passed by reference must outlive the call of run(). Used by one thread at a time.
class Compilation {
 public:
  /// Compiles for the providers of `options`, which are copied.
  explicit Compilation(const Env& env, const SessionOptions& options = {}) : env_(env) {
    OrtModelCompilationOptions* made = nullptr;
    check(compile_api().CreateModelCompilationOptionsFromSessionOptions(env, options, &made));
    options_.reset(made);
  }

  Compilation& from(const std::filesystem::path& model) {
    check(compile_api().ModelCompilationOptions_SetInputModelPath(options_.get(), model.c_str()));
    return *this;
  }
  /// The model as bytes, which are not copied.
  Compilation& from(std::span<const std::byte> model) {
    check(compile_api().ModelCompilationOptions_SetInputModelFromBuffer(options_.get(), model.data(), model.size()));
    return *this;
  }
  Compilation& to(const std::filesystem::path& model) {
    check(compile_api().ModelCompilationOptions_SetOutputModelPath(options_.get(), model.c_str()));
    return *this;
  }
  /// `write` is called with the model's bytes, piece by piece; if it throws, run() throws Error. Since 1.23.
  Compilation& to(std::function<void(std::span<const std::byte> piece)> write) {
    Library::need(23, "writing a compiled model by a function");
    write_ = std::make_unique<std::function<void(std::span<const std::byte>)>>(std::move(write));
    check(compile_api().ModelCompilationOptions_SetOutputModelWriteFunc(options_.get(), call_write, write_.get()));
    return *this;
  }
  /// Weights of at least `threshold` bytes are written to a file of that name beside the model.
  Compilation& weights_to(const std::filesystem::path& file, size_t threshold) {
    check(compile_api().ModelCompilationOptions_SetOutputModelExternalInitializersFile(options_.get(), file.c_str(),
                                                                                       threshold));
    return *this;
  }
  /// Whether the providers' compiled parts are stored inside the model, or in files beside it.
  Compilation& embed(bool inside) {
    check(compile_api().ModelCompilationOptions_SetEpContextEmbedMode(options_.get(), inside));
    return *this;
  }
  /// A combination of OrtCompileApiFlags. Since 1.23.
  Compilation& flags(uint32_t flags) {
    Library::need(23, "flags of compiling");
    check(compile_api().ModelCompilationOptions_SetFlags(options_.get(), flags));
    return *this;
  }
  /// Since 1.23.
  Compilation& optimization(GraphOptimizationLevel level) {
    Library::need(23, "the level of compiling");
    check(compile_api().ModelCompilationOptions_SetGraphOptimizationLevel(options_.get(), level));
    return *this;
  }

  /// Which weights the providers' compiled parts do not contain. Since 1.32.
  Compilation& weightless(OrtWeightlessSupport mode) {
    Library::need(32, "the mode of models without weights");
    check(compile_api().ModelCompilationOptions_SetWeightlessMode(options_.get(), mode));
    return *this;
  }

  void run() const { check(compile_api().CompileModel(env_, options_.get())); }

 private:
  struct Release {
    void operator()(OrtModelCompilationOptions* p) const { compile_api().ReleaseModelCompilationOptions(p); }
  };
  static OrtStatus* ORT_API_CALL call_write(void* state, const void* data, size_t bytes) {
    try {
      (*static_cast<std::function<void(std::span<const std::byte>)>*>(state))(
          {static_cast<const std::byte*>(data), bytes});
      return nullptr;
    } catch (const std::exception& e) {
      return api().CreateStatus(ORT_FAIL, e.what());
    } catch (...) {
      return api().CreateStatus(ORT_FAIL, "the function that writes the model threw an exception of an unknown type");
    }
  }

  const Env& env_;
  std::unique_ptr<OrtModelCompilationOptions, Release> options_;
  std::unique_ptr<std::function<void(std::span<const std::byte>)>> write_;
};

}  // namespace retort::api
