#include "bench/openvino_side.h"

#include <dlfcn.h>

#include <array>
#include <cstring>
#include <type_traits>

#include "bench/openvino.h"

namespace retort::cli {
namespace {

/// Element types by OpenVINO's numbers; undefined if ONNX has no such type.
constexpr std::array<ONNXTensorElementDataType, 26> kOvTypes{
    ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED,  ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16,   ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT,      ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_INT4,       ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16,      ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64,      ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED,  ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT4,      ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8,      ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32,     ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED,  ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FN,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2, ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED,  ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED};

int ov_type(ONNXTensorElementDataType type, const std::string& input) {
  for (size_t i = 1; i < kOvTypes.size(); ++i) {
    if (kOvTypes[i] == type) return int(i);
  }
  throw Failure("OpenVINO: the input '" + input + "' has elements of type " + type_name(type) +
                ", which OpenVINO does not have");
}

OpenVino load_functions(void* library, const std::string& file) {
  OpenVino ov{};
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (!function) throw Failure(file + " has no " + name + ": bench needs the C library of OpenVINO 2022.1 or newer");
  };
  find(ov.get_openvino_version, "ov_get_openvino_version");
  find(ov.version_free, "ov_version_free");
  find(ov.get_last_err_msg, "ov_get_last_err_msg");
  find(ov.free, "ov_free");
  find(ov.core_create, "ov_core_create");
  find(ov.core_free, "ov_core_free");
  find(ov.core_get_property, "ov_core_get_property");
  find(ov.core_compile_model_from_file, "ov_core_compile_model_from_file");
  find(ov.compiled_model_free, "ov_compiled_model_free");
  find(ov.compiled_model_create_infer_request, "ov_compiled_model_create_infer_request");
  find(ov.infer_request_set_tensor, "ov_infer_request_set_tensor");
  find(ov.infer_request_get_tensor, "ov_infer_request_get_tensor");
  find(ov.infer_request_infer, "ov_infer_request_infer");
  find(ov.infer_request_free, "ov_infer_request_free");
  find(ov.tensor_create_from_host_ptr, "ov_tensor_create_from_host_ptr");
  find(ov.tensor_create_from_string_array, "ov_tensor_create_from_string_array");
  find(ov.tensor_get_shape, "ov_tensor_get_shape");
  find(ov.tensor_get_element_type, "ov_tensor_get_element_type");
  find(ov.tensor_data, "ov_tensor_data");
  find(ov.tensor_free, "ov_tensor_free");
  find(ov.shape_free, "ov_shape_free");
  return ov;
}

/// A request with bound inputs. Free extents of the model stay free, as for the other engines.
class OpenVinoSide : public Side {
 public:
  OpenVinoSide(void* library, const std::string& file, bool own_precision)
      : ov_(load_functions(library, file)), own_precision_(own_precision) {
    OvVersion version{};
    check(ov_.get_openvino_version(&version), "cannot tell its version");
    version_ = version.build_number;
    version_ = version_.substr(0, version_.find('-'));
    ov_.version_free(&version);
    core_ = make(ov_.core_free, ov_.core_create, "cannot start");
    // Opens the device's own library now, since the other engines' libraries are open as well before loading is timed.
    char* device = nullptr;
    check(ov_.core_get_property(core_.get(), "CPU", "FULL_DEVICE_NAME", &device), "cannot use the processor");
    ov_.free(device);
  }

  std::string name() const override { return "OpenVINO " + version_ + (own_precision_ ? " default" : " f32"); }

  void load(const std::string& model, const SessionSettings& settings) override {
    inputs_.clear();
    request_.reset();
    compiled_.reset();
    const std::string threads = std::to_string(settings.threads);
    std::vector<const char*> words{"PERFORMANCE_HINT", "LATENCY"};
    if (!own_precision_) words.insert(words.end(), {"INFERENCE_PRECISION_HINT", "f32"});
    if (settings.threads > 0) words.insert(words.end(), {"INFERENCE_NUM_THREADS", threads.c_str()});
    const size_t count = words.size();
    words.resize(6, nullptr);  // elements beyond `count` are ignored
    compiled_ = make(
        ov_.compiled_model_free,
        [&](OvCompiledModel** made) {
          return ov_.core_compile_model_from_file(core_.get(), model.c_str(), "CPU", count, made, words[0], words[1],
                                                  words[2], words[3], words[4], words[5]);
        },
        "cannot load " + model);
    request_ = make(
        ov_.infer_request_free,
        [&](OvRequest** made) { return ov_.compiled_model_create_infer_request(compiled_.get(), made); },
        "cannot make a request for " + model);
  }

  void bind(HostValues& inputs) override {
    for (auto& [name, value] : inputs) {
      if (value.kind != HostValue::Kind::tensor)
        throw Failure("OpenVINO: the input '" + name + "' is not a tensor, and OpenVINO takes only tensors");
      inputs_.push_back(tensor(name, value.tensor));
      check(ov_.infer_request_set_tensor(request_.get(), name.c_str(), inputs_.back().get()),
            "does not take the input '" + name + "'");
    }
  }

  void run() override { check(ov_.infer_request_infer(request_.get()), "the run failed"); }

  HostValues values(const std::vector<std::string>& outputs) const override {
    HostValues all;
    for (const std::string& name : outputs) all[name] = {.kind = HostValue::Kind::tensor, .tensor = output(name)};
    return all;
  }

 private:
  void check(int error, const std::string& what) const {
    if (!error) return;
    const char* text = ov_.get_last_err_msg();
    const std::string message = text ? text : "";
    ov_.free(text);
    throw Failure("OpenVINO: " + what + (message.empty() ? ": error " + std::to_string(error) : ": " + message));
  }

  template <typename T, typename Create>
  Handle<T> make(void (*release)(T*), const Create& create, const std::string& what) const {
    T* made = nullptr;
    check(create(&made), what);
    return Handle<T>(made, release);
  }

  /// Makes a tensor in the memory of `given`, which OpenVINO needs even for tensors without elements; strings are
  /// copied.
  Handle<OvTensor> tensor(const std::string& name, HostTensor& given) const {
    static std::byte nothing[64];
    const OvShape shape{int64_t(given.shape.size()), given.shape.data()};
    const std::string what = "cannot make a tensor for the input '" + name + "'";
    if (given.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) {
      std::vector<const char*> texts;
      for (const std::string& s : given.strings) texts.push_back(s.c_str());
      return make(
          ov_.tensor_free,
          [&](OvTensor** made) { return ov_.tensor_create_from_string_array(texts.data(), texts.size(), shape, made); },
          what);
    }
    void* data = given.bytes.empty() ? nothing : given.bytes.data();
    return make(
        ov_.tensor_free,
        [&](OvTensor** made) { return ov_.tensor_create_from_host_ptr(ov_type(given.type, name), shape, data, made); },
        what);
  }

  HostTensor output(const std::string& name) const {
    const std::string what = "cannot read the output '" + name + "'";
    const auto tensor = make(
        ov_.tensor_free,
        [&](OvTensor** made) { return ov_.infer_request_get_tensor(request_.get(), name.c_str(), made); }, what);
    OvShape shape{};
    int type = 0;
    void* data = nullptr;
    check(ov_.tensor_get_shape(tensor.get(), &shape), what);
    HostTensor out;
    out.shape.assign(shape.dims, shape.dims + shape.rank);
    ov_.shape_free(&shape);
    check(ov_.tensor_get_element_type(tensor.get(), &type), what);
    if (type > 0 && size_t(type) < kOvTypes.size()) out.type = kOvTypes[size_t(type)];
    if (type_bits(out.type) == 0)
      throw Failure("OpenVINO: " + what + ": its elements have OpenVINO's type " + std::to_string(type) +
                    ", which this program does not support");
    out.bytes.resize(out.size());
    check(ov_.tensor_data(tensor.get(), &data), what);
    if (!out.bytes.empty()) std::memcpy(out.bytes.data(), data, out.bytes.size());
    return out;
  }

  OpenVino ov_;
  bool own_precision_;
  std::string version_;
  Handle<OvCore> core_;
  Handle<OvCompiledModel> compiled_;
  Handle<OvRequest> request_;
  std::vector<Handle<OvTensor>> inputs_;
};

}  // namespace

std::unique_ptr<Side> openvino_side(void* library, const std::string& file, bool own_precision) {
  return std::make_unique<OpenVinoSide>(library, file, own_precision);
}

}  // namespace retort::cli
