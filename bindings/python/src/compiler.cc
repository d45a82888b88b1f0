// The class ModelCompiler: models with the compiled parts of their providers.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <memory>

#include "callback.h"
#include "enums.h"
#include "gil_lock.h"
#include "interrupt.h"
#include "options.h"
#include "provider_choice.h"
#include "rooms.h"
#include "text.h"
#include "value.h"

namespace nb = nanobind;

namespace retort::python {
namespace {

const OrtCompileApi& compile_api() { return *api().GetCompileApi(); }

struct FreeOptions {
  void operator()(OrtModelCompilationOptions* o) const noexcept { compile_api().ReleaseModelCompilationOptions(o); }
};

// C.OrtExternalInitializerInfo: where a file has the data of an initializer.
struct InitializerInfo {
  std::string path;
  int64_t offset = 0;
  size_t size = 0;
};

OrtStatus* write_model(void* state, const void* data, size_t size) noexcept {
  return with_python("the function that writes the model",
                     [&] { static_cast<Callback*>(state)->function(nb::bytes(static_cast<const char*>(data), size)); });
}

nb::object info_of(const OrtExternalInitializerInfo* info) {
  if (!info) {
    return nb::none();
  }
  return nb::cast(InitializerInfo{api().ExternalInitializerInfo_GetFilePath(info),
                                  api().ExternalInitializerInfo_GetFileOffset(info),
                                  api().ExternalInitializerInfo_GetByteSize(info)});
}

// A value of the caller's own, with the elements of one that lives during a call only.
Owned<OrtValue> copy_of(const OrtValue* value) {
  const TensorForm form = form_of(value);
  Owned<OrtValue> copy = new_tensor(default_allocator(), form.element, form.shape.data(), form.shape.size());
  const void* from = nullptr;
  void* to = nullptr;
  check(api().GetTensorData(value, &from));
  check(api().GetTensorMutableData(copy.get(), &to));
  size_t size = 0;
  check(api().GetTensorSizeInBytes(value, &size));
  std::copy_n(static_cast<const char*>(from), size, static_cast<char*>(to));
  return copy;
}

OrtStatus* locate_initializer(void* state, const char* name, const OrtValue* value,
                              const OrtExternalInitializerInfo* external, OrtExternalInitializerInfo** out) noexcept {
  return with_python("the function that places initializers", [&] {
    nb::object place = static_cast<Callback*>(state)->function(name, wrap(copy_of(value)), info_of(external));
    *out = nullptr;
    if (!place.is_none()) {
      const InitializerInfo& info = nb::cast<InitializerInfo&>(place);
      check(api().CreateExternalInitializerInfo(c_text(info.path), info.offset, info.size, out));
    }
  });
}

class ModelCompiler {
 public:
  struct Settings {
    bool embed = false;
    std::string weights_file;
    size_t weights_threshold = 0;
    uint32_t flags = 0;
    GraphOptimizationLevel level = ORT_DISABLE_ALL;
  };

  ModelCompiler(const SessionOptions& options, nb::object model, bool is_path, const Settings& settings,
                nb::object locate)
      : options_(options), model_(std::move(model)), is_path_(is_path) {
    const Owned<OrtSessionOptions> handle = options_.build();
    OrtModelCompilationOptions* made = nullptr;
    check(compile_api().CreateModelCompilationOptionsFromSessionOptions(&env(), handle.get(), &made));
    handle_.reset(made);
    set_input();
    const OrtCompileApi& a = compile_api();
    check(a.ModelCompilationOptions_SetEpContextEmbedMode(made, settings.embed));
    if (!settings.weights_file.empty()) {
      check(a.ModelCompilationOptions_SetOutputModelExternalInitializersFile(made, c_text(settings.weights_file),
                                                                             settings.weights_threshold));
    }
    if (settings.flags) {
      check(a.ModelCompilationOptions_SetFlags(made, settings.flags));
    }
    check(a.ModelCompilationOptions_SetGraphOptimizationLevel(made, settings.level));
    if (!locate.is_none()) {
      locate_ = std::make_unique<Callback>(std::move(locate));
      check(
          a.ModelCompilationOptions_SetOutputModelGetInitializerLocationFunc(made, locate_initializer, locate_.get()));
    }
  }

  // None: beside the input, named by the engine.
  void to_file(nb::object path) {
    const std::string text = path.is_none() ? "" : nb::cast<std::string>(path);
    if (!text.empty()) {
      check(compile_api().ModelCompilationOptions_SetOutputModelPath(handle_.get(), c_text(text)));
    }
    compile();
  }

  nb::bytes to_bytes() {
    OrtAllocator* allocator = default_allocator();
    void* data = nullptr;
    size_t size = 0;
    check(compile_api().ModelCompilationOptions_SetOutputModelBuffer(handle_.get(), allocator, &data, &size));
    compile();
    nb::bytes result(data, size);
    allocator->Free(allocator, data);
    return result;
  }

  void to_stream(nb::object write) {
    if (!PyCallable_Check(write.ptr())) {
      throw nb::type_error("compile_to_stream(): the argument must be callable");
    }
    Callback callback(std::move(write));
    check(compile_api().ModelCompilationOptions_SetOutputModelWriteFunc(handle_.get(), write_model, &callback));
    compile();
  }

  void set_context_writer(nb::object write) {
    needs(31, "set_ep_context_data_write_func()");
    if (!PyCallable_Check(write.ptr())) {
      throw nb::type_error("set_ep_context_data_write_func(): write_func must be callable");
    }
    auto callback = std::make_unique<Callback>(std::move(write));
    check(compile_api().ModelCompilationOptions_SetEpContextDataWriteFunc(handle_.get(), write_ep_context,
                                                                          callback.get()));
    write_context_ = std::move(callback);
  }

  void clear_context_writer() {
    needs(31, "clear_ep_context_data_write_func()");
    check(compile_api().ModelCompilationOptions_SetEpContextDataWriteFunc(handle_.get(), nullptr, nullptr));
    write_context_.reset();
  }

  void set_binary_information(const std::string& folder, const std::string& name) {
    check(compile_api().ModelCompilationOptions_SetEpContextBinaryInformation(handle_.get(), c_text(folder),
                                                                              c_text(name)));
  }

 private:
  void set_input() {
    if (is_path_) {
      const std::string path = nb::cast<std::string>(model_);
      check(compile_api().ModelCompilationOptions_SetInputModelPath(handle_.get(), c_text(path)));
    } else {
      const nb::bytes bytes = nb::cast<nb::bytes>(model_);
      check(compile_api().ModelCompilationOptions_SetInputModelFromBuffer(handle_.get(), bytes.c_str(), bytes.size()));
    }
  }

  void compile() {
    OrtEnv& environment = env();
    OrtStatus* status = nullptr;
    {
      const WithoutGil release;
      status = compile_api().CompileModel(&environment, handle_.get());
    }
    if (status && PyErr_CheckSignals() != 0) {
      api().ReleaseStatus(status);
      throw nb::python_error();
    }
    check(status);
  }

  SessionOptions options_;
  nb::object model_;
  bool is_path_;
  std::unique_ptr<Callback> locate_;
  std::unique_ptr<Callback> write_context_;
  std::unique_ptr<OrtModelCompilationOptions, FreeOptions> handle_;
};

void bind_initializer_info(nb::module_& m) {
  nb::enum_<OrtCompileApiFlags> flags(m, "OrtCompileApiFlags", nb::is_arithmetic());
  flags.value("NONE", OrtCompileApiFlags_NONE)
      .value("ERROR_IF_NO_NODES_COMPILED", OrtCompileApiFlags_ERROR_IF_NO_NODES_COMPILED)
      .value("ERROR_IF_OUTPUT_FILE_EXISTS", OrtCompileApiFlags_ERROR_IF_OUTPUT_FILE_EXISTS);
  finish_enum(flags);
  nb::class_<InitializerInfo>(m, "OrtExternalInitializerInfo", nb::is_weak_referenceable(),
                              "Where a file has the data of an initializer.")
      .def(
          "__init__",
          [](InitializerInfo* self, std::string path, int64_t offset, size_t size) {
            new (self) InitializerInfo{std::move(path), offset, size};
          },
          nb::arg("filepath"), nb::arg("file_offset"), nb::arg("byte_size"))
      .def_ro("filepath", &InitializerInfo::path, "The file, relative to the model.")
      .def_ro("file_offset", &InitializerInfo::offset, "Where the data begin, in bytes.")
      .def_ro("byte_size", &InitializerInfo::size, "Bytes of the data.");
}

}  // namespace

void bind_compiler(nb::module_& m) {
  bind_initializer_info(m);
  using C = ModelCompiler;
  nb::class_<C>(m, "ModelCompiler", nb::is_weak_referenceable(), "Compiles a model for the providers of its options.")
      .def(
          "__init__",
          [](C* self, const SessionOptions& options, nb::object model, bool is_path, bool embed,
             const std::string& weights_file, size_t threshold, uint32_t flags, GraphOptimizationLevel level,
             nb::object locate) {
            new (self) C(options, std::move(model), is_path, {embed, weights_file, threshold, flags, level},
                         std::move(locate));
          },
          nb::arg("sess_options"), nb::arg("model"), nb::arg("is_path"), nb::arg("embed_compiled_data_into_model"),
          nb::arg("external_initializers_file_path"), nb::arg("external_initializers_size_threshold"), nb::arg("flags"),
          nb::arg("graph_optimization_level"), nb::arg("get_initializer_location_func").none())
      .def("compile_to_file", &C::to_file, nb::arg("output_model_path").none() = nb::none(), "Writes to a file.")
      .def("compile_to_bytes", &C::to_bytes, "Returns the compiled model.")
      .def("compile_to_stream", &C::to_stream, nb::arg("write_function"), "Calls write_function(bytes) piece by piece.")
      .def("set_ep_context_data_write_func", &C::set_context_writer, nb::arg("write_func"),
           "Lets write_func(name, data) store data of EPContext nodes. It may run on any thread.")
      .def("clear_ep_context_data_write_func", &C::clear_context_writer, "Removes that function.")
      .def("set_ep_context_binary_information", &C::set_binary_information, nb::arg("output_directory"),
           nb::arg("model_name"), "Where providers place binary files, and how these are named.");
}

}  // namespace retort::python
