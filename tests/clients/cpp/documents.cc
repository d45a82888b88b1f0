// The C++ of ONNX Runtime's pages on I/O binding, word for word: each part between marks is a listing of a page. What a
// listing takes for granted is declared before it. Without a GPU, the listings end in the errors that the official
// library has there.
#include <cstring>
#include <memory>

#include "client.h"

namespace {

enum cudaMemcpyKind { cudaMemcpyHostToDevice };
/// Stands in for CUDA's function of that name.
void cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) { std::memcpy(to, from, bytes); }

const Ort::MemoryInfo& host() {
  static const Ort::MemoryInfo info = Ort::MemoryInfo::CreateCpu(OrtDeviceAllocator, OrtMemTypeDefault);
  return info;
}

/// An allocator of the program, for memory that it declares to be that of a GPU.
struct Declared : OrtAllocator {
  Declared() : OrtAllocator{} {
    version = ORT_API_VERSION;
    OrtAllocator::Alloc = [](OrtAllocator*, size_t bytes) { return std::malloc(bytes); };
    OrtAllocator::Free = [](OrtAllocator*, void* p) { std::free(p); };
    OrtAllocator::Info = [](const OrtAllocator* self) -> const OrtMemoryInfo* {
      return static_cast<const Declared*>(self)->info;
    };
  }
  Ort::MemoryInfo info{"declared", OrtMemoryInfoDeviceType_GPU, 0x10de, 0, OrtDeviceMemoryType_DEFAULT,
                       0,          OrtDeviceAllocator};
};

const Floats kImages{-1, 2, -3, 4, -5, 6, -7, 8, -9, 10, -11, 12};
const Floats kPositive{0, 2, 0, 4, 0, 6, 0, 8, 0, 10, 0, 12};
const std::vector<int64_t> kShape{1, 3, 2, 2};

}  // namespace

// clang-format off
void page_io_binding() {
  const std::string path = model("images.onnx");
  const char* const model_path = path.c_str();
  const Ort::SessionOptions session_options;
  const Ort::RunOptions run_options;
  const Ort::MemoryInfo& memory_info = host();
  Floats input_tensor_values = kImages;
  const size_t input_tensor_size = input_tensor_values.size();
  const std::vector<int64_t> input_node_dims = kShape;
  // [page: io-binding, the first listing]
    Ort::Env env;
    Ort::Session session(env, model_path, session_options);
    Ort::IoBinding io_binding{session};
    auto input_tensor = Ort::Value::CreateTensor<float>(memory_info, input_tensor_values.data(), input_tensor_size, input_node_dims.data(), 4);
    io_binding.BindInput("input1", input_tensor);
    Ort::MemoryInfo output_mem_info{"Cuda", OrtDeviceAllocator, 0,
                                    OrtMemTypeDefault};
    // Use this to bind output to a device when the shape is not known in advance. If the shape is known you can use the other overload of this function that takes an Ort::Value as input (IoBinding::BindOutput(const char* name, const Value& value)).
    // This internally calls the BindOutputToDevice C API.

    io_binding.BindOutput("output1", output_mem_info);
    session.Run(run_options, io_binding);
  // [end]
  const std::vector<Ort::Value> results = io_binding.GetOutputValues();
  expect(results[0].GetTensorMemoryInfo().GetDeviceType() == OrtMemoryInfoDeviceType_CPU, "the results lie on the CPU");
  expect(elements<float>(results[0]) == kPositive, "the results of a run whose output is bound to a GPU");

  const std::vector<int64_t> output_shape = kShape;
  expect_error(ORT_INVALID_ARGUMENT, "the allocator of a GPU that this machine lacks", [&] {
  // [page: io-binding, the second listing]
   Ort::Allocator gpu_allocator(session, output_mem_info);
   auto output_value = Ort::Value::CreateTensor(
        gpu_allocator, output_shape.data(), output_shape.size(),
        ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16);
   io_binding.BindOutput("output1", output_mem_info);
  // [end]
  });
}

void page_before() {
  Ort::Env* const ort_env = &::env();
  OrtErrorCode code = ORT_OK;
  try {
// [page: ep-agnostic-io-binding, what programs did before]
Ort::SessionOptions opts;
auto cuda_options =  std::make_unique<OrtCUDAProviderOptions>();
opts.AppendExecutionProvider_CUDA(*cuda_options);
Ort::Session session(*ort_env,"model.onnx",opts);

Ort::MemoryInfo mem_info("CUDA", OrtArenaAllocator, 0, OrtMemTypeDefault);
Ort::Allocator alloc(session, mem_info);
std::vector<int64_t> shape{3, 4};
std::vector<float> data(12, 1.0f);
auto value = Ort::Value::CreateTensor(alloc,shape.data(), shape.size(), ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT);
cudaMemcpy(value.GetTensorMutableData<float>(), data.data(), data.size() * sizeof(float), cudaMemcpyHostToDevice);
// [end]
  } catch (const Ort::Exception& e) {
    code = e.GetOrtErrorCode();
  }
  expect(code != ORT_OK, "there is no CUDA");
}

void page_tensors() {
  const OrtApi& ortApi = Ort::GetApi();
  OrtEnv* const ortEnvironment = ::env();
  Ort::Session session(::env(), model("images.onnx").c_str(), Ort::SessionOptions());
  Ort::AllocatorWithDefaultOptions cpu_allocator;
  Floats input_data = kImages, output_data(12);
  const std::vector<int64_t> input_shape = kShape;
  std::vector<Ort::Value> cpu_input_tensors, cpu_output_tensors, input_tensors, output_tensors;
  const std::vector<const char*> input_names{"input1"}, output_names{"output1"};
  const size_t idx = 0;
// [page: ep-agnostic-io-binding, step 2]
Ort::Value input_value = Ort::Value::CreateTensor<float>(
    cpu_allocator.GetInfo(),
    input_data.data(), input_data.size(),
    input_shape.data(), input_shape.size()
);
cpu_input_tensors.push_back(std::move(input_value));
// [end]
  cpu_output_tensors.push_back(tensor(output_data, kShape));
  Declared gpu;
  ::env().RegisterAllocator(&gpu);
  {
// [page: ep-agnostic-io-binding, step 3]
OrtMemoryInfo* input_memory_info_agnostic = nullptr;
ortApi.CreateMemoryInfo_V2(
    "Input_Agnostic", 
    OrtMemoryInfoDeviceType_GPU, 
    /*vendor_id*/ 0x10de, 
    /*device_id*/ 0, 
    OrtDeviceMemoryType_DEFAULT, 
    /*default alignment*/ 0, 
    OrtArenaAllocator, 
    &input_memory_info_agnostic
);

OrtAllocator* allocator = nullptr;
ortApi.GetSharedAllocator(ortEnvironment, input_memory_info_agnostic, &allocator);

auto src_shape = cpu_input_tensors[idx].GetTensorTypeAndShapeInfo().GetShape();
Ort::Value device_input_value = Ort::Value::CreateTensor<float>(
    allocator, src_shape.data(), src_shape.size()
);
// [end]
  const Ort::ConstMemoryInfo place = device_input_value.GetTensorMemoryInfo();
  expect(place.GetDeviceType() == OrtMemoryInfoDeviceType_GPU && place.GetVendorId() == 0x10de, "a tensor on the GPU");
  Ort::MemoryInfo owner(input_memory_info_agnostic);
  }
  ::env().UnregisterAllocator(gpu.info);
// [page: ep-agnostic-io-binding, step 4 a]
input_tensors.push_back(std::move(cpu_input_tensors[idx]));
output_tensors.push_back(std::move(cpu_output_tensors[idx]));
for (int i = 0; i < 100; i++) {
    session.Run(Ort::RunOptions{}, input_names.data(), input_tensors.data(), input_tensors.size(), output_names.data(), output_tensors.data(), output_tensors.size());
}
// [end]
  expect(output_data == kPositive, "100 runs by name");
}

/// The last listing, in the memory of an allocator: that of a device, or, as here, of the CPU.
void page_bound() {
  const OrtApi& ortApi = Ort::GetApi();
  OrtEnv* const ortEnvironment = ::env();
  Ort::Session session(::env(), model("images.onnx").c_str(), Ort::SessionOptions());
  Ort::AllocatorWithDefaultOptions default_allocator;
  OrtAllocator* const allocator = default_allocator;
  OrtSyncStream* const stream = nullptr;
  Floats input_data = kImages, output_data(12);
  std::vector<Ort::Value> cpu_input_tensors, cpu_output_tensors, input_tensors, output_tensors;
  std::vector<const OrtValue*> src_tensor_ptrs;
  std::vector<OrtValue*> dst_tensor_ptrs;
  cpu_input_tensors.push_back(tensor(input_data, kShape));
  cpu_output_tensors.push_back(tensor(output_data, kShape));
  Ort::Value device_input_value = Ort::Value::CreateTensor<float>(allocator, kShape.data(), kShape.size());
  const Ort::AllocatedStringPtr InputTensorName = session.GetInputNameAllocated(0, allocator);
  const Ort::AllocatedStringPtr OutputTensorName = session.GetOutputNameAllocated(0, allocator);
  const std::vector<const char*> input_names{"input1"}, output_names{"output1"};
  const size_t idx = 0;
// [page: ep-agnostic-io-binding, step 4 b]
src_tensor_ptrs.push_back(cpu_input_tensors[idx]);
dst_tensor_ptrs.push_back(device_input_value);
input_tensors.push_back(std::move(device_input_value));

auto dst_shape = cpu_output_tensors[idx].GetTensorTypeAndShapeInfo().GetShape();
Ort::Value device_output_value = Ort::Value::CreateTensor<float>(allocator, dst_shape.data(), dst_shape.size());
output_tensors.push_back(std::move(device_output_value));

ortApi.CopyTensors(ortEnvironment, src_tensor_ptrs.data(), dst_tensor_ptrs.data(), stream, src_tensor_ptrs.size());

Ort::IoBinding iobinding(session);
iobinding.BindInput(InputTensorName.get(), input_tensors[0]);
iobinding.BindOutput(OutputTensorName.get(), output_tensors[0]);

for (int i = 0; i < 100; i++) {
    session.Run(Ort::RunOptions{}, input_names.data(), input_tensors.data(), input_tensors.size(), output_names.data(), output_tensors.data(), output_tensors.size());
}
// [end]
  // CopyTensors copies to and from devices alone: here, both tensors lie on the CPU.
  std::copy_n(kImages.begin(), kImages.size(), input_tensors[0].GetTensorMutableData<float>());
  session.Run(Ort::RunOptions(), iobinding);
  expect(elements<float>(output_tensors[0]) == kPositive, "a run with bound tensors");
}
