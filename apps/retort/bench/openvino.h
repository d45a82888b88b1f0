// What bench calls of OpenVINO's C interface (openvino/c in its package), declared here so that nothing of it has to be
// there to build. Functions answer 0 or the number of an error.
#pragma once
#include <cstddef>
#include <cstdint>

namespace retort::cli {

struct OvCore;
struct OvCompiledModel;
struct OvRequest;
struct OvTensor;
struct OvShape {
  int64_t rank;
  int64_t* dims;
};
struct OvVersion {
  const char *build_number, *description;
};

/// The functions, under their names without "ov_".
struct OpenVino {
  int (*get_openvino_version)(OvVersion*);
  void (*version_free)(OvVersion*);
  const char* (*get_last_err_msg)();
  void (*free)(const char*);

  int (*core_create)(OvCore**);
  void (*core_free)(OvCore*);
  int (*core_get_property)(const OvCore*, const char* device, const char* key, char** value);
  /// `arguments` keys and values follow, all of them `const char*`.
  int (*core_compile_model_from_file)(const OvCore*, const char* path, const char* device, size_t arguments,
                                      OvCompiledModel**, ...);
  void (*compiled_model_free)(OvCompiledModel*);
  int (*compiled_model_create_infer_request)(const OvCompiledModel*, OvRequest**);

  int (*infer_request_set_tensor)(OvRequest*, const char* name, const OvTensor*);
  int (*infer_request_get_tensor)(const OvRequest*, const char* name, OvTensor**);
  int (*infer_request_infer)(OvRequest*);
  void (*infer_request_free)(OvRequest*);

  int (*tensor_create_from_host_ptr)(int type, OvShape, void* data, OvTensor**);
  int (*tensor_create_from_string_array)(const char** texts, size_t count, OvShape, OvTensor**);
  int (*tensor_get_shape)(const OvTensor*, OvShape*);
  int (*tensor_get_element_type)(const OvTensor*, int* type);
  int (*tensor_data)(const OvTensor*, void**);
  void (*tensor_free)(OvTensor*);
  int (*shape_free)(OvShape*);
};

}  // namespace retort::cli
