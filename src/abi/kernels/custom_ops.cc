// Custom operators: domains of a caller's operators, and libraries that register some.
#include <dlfcn.h>

#include "abi/sessions/options.h"
#include "abi/slots.h"

namespace retort::abi {
namespace {

constexpr std::string_view kWhere = "give the path of a shared library, or put its folder into LD_LIBRARY_PATH";

std::string last_dl_error() {
  const char* text = dlerror();
  return text ? text : "unknown error";
}

std::shared_ptr<void> open_library(const char* path) {
  void* library = dlopen(need_text(path, "library path"), RTLD_NOW | RTLD_LOCAL);
  require(library, ErrorCode::fail, "cannot load '{}': {}; {}", path, last_dl_error(), kWhere);
  return {library, [](void* p) { dlclose(p); }};
}

/// Looks `name` up in a library (null: everything loaded) and lets it add its domains to the options.
OrtStatusPtr run_registration(void* library, const char* name, OrtSessionOptions* options) {
  void* symbol = dlsym(library ? library : RTLD_DEFAULT, name);
  require(symbol, ErrorCode::fail, "no function '{}': {}", name, last_dl_error());
  return reinterpret_cast<RegisterCustomOpsFn>(symbol)(options, &kApiBase);
}

}  // namespace

OrtStatusPtr ORT_API_CALL CreateCustomOpDomain(const char* domain, OrtCustomOpDomain** out) noexcept {
  return guard([&] {
    auto made = std::make_unique<OrtCustomOpDomain>();
    made->name = need_text(domain, "domain");
    give(out, "out", std::move(made));
  });
}

void ORT_API_CALL ReleaseCustomOpDomain(OrtCustomOpDomain* input) noexcept { release(input); }

OrtStatusPtr ORT_API_CALL CustomOpDomain_Add(OrtCustomOpDomain* custom_op_domain, const OrtCustomOp* op) noexcept {
  return guard([&] { handle(custom_op_domain, "custom_op_domain").ops.push_back(&need(op, "op")); });
}

OrtStatusPtr ORT_API_CALL AddCustomOpDomain(OrtSessionOptions* options, OrtCustomOpDomain* custom_op_domain) noexcept {
  return guard([&] { handle(options, "options").domains.push_back(&handle(custom_op_domain, "custom_op_domain")); });
}

OrtStatusPtr ORT_API_CALL RegisterCustomOpsLibrary(OrtSessionOptions* options, const char* library_path,
                                                   void** library_handle) noexcept {
  return guard([&]() -> OrtStatusPtr {
    handle(options, "options");
    need(library_handle, "library_handle");
    void* library = dlopen(need_text(library_path, "library_path"), RTLD_NOW | RTLD_LOCAL);
    require(library, ErrorCode::fail, "cannot load '{}': {}; {}", library_path, last_dl_error(), kWhere);
    *library_handle = library;  // the caller closes it, also when the registration fails
    return run_registration(library, "RegisterCustomOps", options);
  });
}

OrtStatusPtr ORT_API_CALL RegisterCustomOpsLibrary_V2(OrtSessionOptions* options, const char* library_name) noexcept {
  return guard([&]() -> OrtStatusPtr {
    OrtSessionOptions& o = handle(options, "options");
    std::shared_ptr<void> library = open_library(library_name);
    OrtStatusPtr status = run_registration(library.get(), "RegisterCustomOps", options);
    if (!status) o.custom_op_libraries.push_back(std::move(library));
    return status;
  });
}

OrtStatusPtr ORT_API_CALL RegisterCustomOpsUsingFunction(OrtSessionOptions* options,
                                                         const char* registration_func_name) noexcept {
  return guard([&]() -> OrtStatusPtr {
    handle(options, "options");
    return run_registration(nullptr, need_text(registration_func_name, "registration_func_name"), options);
  });
}

OrtStatusPtr ORT_API_CALL EnableOrtCustomOps(OrtSessionOptions* options) noexcept {
  return guard([&] {
    handle(options, "options");
    fail(ErrorCode::fail, "the operators of onnxruntime-extensions are not built in; register their library instead");
  });
}

}  // namespace retort::abi
