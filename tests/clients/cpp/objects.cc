// Values that are not plain tensors, allocators, options, and sessions with their records.
#include <onnxruntime_run_options_config_keys.h>
#include <onnxruntime_session_options_config_keys.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <thread>

#include "client.h"

namespace {

Ort::Session dense(const Ort::SessionOptions& options) {
  return Ort::Session(env(), model("dense.onnx").c_str(), options);
}

void run_dense(Ort::Session& session, const Ort::RunOptions& options = Ort::RunOptions{}) {
  Floats data = {1, 2, 3, -1, 0, 4};
  const Ort::Value x = tensor(data, {2, 3});
  const char *in[] = {"x"}, *out[] = {"y", "s"};
  const auto results = session.Run(options, in, &x, 1, out, 2);
  expect(elements<float>(results[1]).size() == 2, "dense runs");
}

}  // namespace

void sparse_by_rows() {
  const Ort::MemoryInfo host = Ort::MemoryInfo::CreateCpu(OrtDeviceAllocator, OrtMemTypeDefault);
  Ort::AllocatorWithDefaultOptions allocator;
  const std::vector<int64_t> dense_shape = {3, 3}, values_shape = {3};
  Floats numbers = {5, 6, 7};
  std::vector<int64_t> inner = {1, 0, 2}, outer = {0, 1, 1, 3};
  const Ort::Value::Shape shape{dense_shape.data(), 2}, count{values_shape.data(), 1};
  Ort::Value used = Ort::Value::CreateSparseTensor(host, numbers.data(), shape, count);
  used.UseCsrIndices(inner.data(), inner.size(), outer.data(), outer.size());
  Ort::Value filled = Ort::Value::CreateSparseTensor<float>(allocator, shape);
  Ort::Value::OrtSparseValuesParam values{values_shape.data(), 1, {numbers.data()}};
  filled.FillSparseTensorCsr(host, values, inner.data(), inner.size(), outer.data(), outer.size());
  for (const Ort::Value* value : {&used, &filled}) {
    expect(value->IsSparseTensor() && !value->IsTensor() && value->GetSparseFormat() == ORT_SPARSE_CSRC, "rows");
    expect(value->GetSparseTensorValues<float>()[2] == 7, "its numbers");
    size_t n = 0;
    const auto* index = value->GetSparseTensorIndicesData<int64_t>(ORT_SPARSE_CSR_OUTER_INDICES, n);
    expect(n == 4 && index[3] == 3, "where rows end");
    expect(value->GetSparseTensorValuesTypeAndShapeInfo().GetElementCount() == 3, "how many numbers");
    const auto inner_shape = value->GetSparseTensorIndicesTypeShapeInfo(ORT_SPARSE_CSR_INNER_INDICES).GetShape();
    expect(inner_shape == std::vector<int64_t>{3}, "how many columns");
    expect(value->GetTypeInfo().GetONNXType() == ONNX_TYPE_SPARSETENSOR, "its type");
  }
}

void sparse_by_places_and_blocks() {
  const Ort::MemoryInfo host = Ort::MemoryInfo::CreateCpu(OrtDeviceAllocator, OrtMemTypeDefault);
  Ort::AllocatorWithDefaultOptions allocator;
  const std::vector<int64_t> dense_shape = {4, 4}, two = {2}, block = {2, 2, 1}, place = {2, 1};
  const Ort::Value::Shape shape{dense_shape.data(), 2};
  const char* texts[] = {"a", "long text"};
  Ort::Value words = Ort::Value::CreateSparseTensor(allocator, shape, ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING);
  Ort::Value::OrtSparseValuesParam values{two.data(), 1, {nullptr}};
  values.data.str = texts;
  const int64_t flat[] = {1, 9};
  words.FillSparseTensorCoo(host, values, flat, 2);
  expect(words.GetSparseFormat() == ORT_SPARSE_COO && words.GetStringTensorElement(1) == "long text", "texts");
  Floats numbers = {1, 2, 3, 4};
  int32_t where[] = {1, 0};
  Ort::Value blocks = Ort::Value::CreateSparseTensor(host, numbers.data(), shape, {block.data(), 3});
  blocks.UseBlockSparseIndices({place.data(), 2}, where);
  Ort::Value filled = Ort::Value::CreateSparseTensor<float>(allocator, shape);
  filled.FillSparseTensorBlockSparse(host, {block.data(), 3, {numbers.data()}}, {place.data(), 2}, where);
  for (const Ort::Value* value : {&blocks, &filled}) {
    size_t n = 0;
    expect(value->GetSparseTensorIndicesData<int32_t>(ORT_SPARSE_BLOCK_SPARSE_INDICES, n)[0] == 1, "places of blocks");
    expect(n == 2 && value->GetSparseTensorValues<float>()[3] == 4, "blocks");
  }
}

void containers() {
  Ort::AllocatorWithDefaultOptions allocator;
  const std::vector<int64_t> shape = {2};
  Ort::Value keys = Ort::Value::CreateTensor<int64_t>(allocator, shape.data(), 1);
  keys.GetTensorMutableData<int64_t>()[0] = 3;
  *static_cast<int64_t*>(&keys.At<int64_t>({1})) = 4;
  Floats numbers = {0.5f, 1.5f};
  const Ort::Value map = Ort::Value::CreateMap(keys, tensor(numbers, {2}));
  const Ort::TypeInfo type = map.GetTypeInfo();
  const Ort::ConstMapTypeInfo map_type = type.GetMapTypeInfo();
  expect(type.GetONNXType() == ONNX_TYPE_MAP && map_type.GetMapKeyType() == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, "key");
  const Ort::TypeInfo held = map_type.GetMapValueType();
  expect(held.GetTensorTypeAndShapeInfo().GetElementType() == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, "value");
  expect(map.GetCount() == 2 && map.HasValue() && elements<int64_t>(map.GetValue(0, allocator))[1] == 4, "a map");
  std::vector<Ort::Value> list;
  for (int i = 0; i < 3; ++i) list.push_back(tensor(numbers, {2}));
  const Ort::Value sequence = Ort::Value::CreateSequence(list);
  expect(sequence.GetCount() == 3 && !sequence.IsTensor(), "a sequence");
  const Ort::TypeInfo sequence_type = sequence.GetTypeInfo();
  const Ort::TypeInfo item = sequence_type.GetSequenceTypeInfo().GetSequenceElementType();
  expect(item.GetONNXType() == ONNX_TYPE_TENSOR, "the type of its elements");
  expect_error(ORT_FAIL, "no elements", [] { Ort::Value::CreateSequence({}); });
}

void texts_of_tensors() {
  Ort::AllocatorWithDefaultOptions allocator;
  const std::vector<int64_t> shape = {3};
  Ort::Value value = Ort::Value::CreateTensor(allocator, shape.data(), 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING);
  std::memcpy(value.GetResizedStringTensorElementBuffer(0, 3), "abc", 3);
  value.FillStringTensorElement("d", 1);
  value.FillStringTensorElement("", 2);
  const size_t length = value.GetStringTensorDataLength();
  std::string all(length, '\0');
  size_t offsets[3];
  value.GetStringTensorContent(all.data(), length, offsets, 3);
  expect(all == "abcd" && offsets[1] == 3 && offsets[2] == 4, "texts one after the other");
  expect(value.GetStringTensorElementLength(0) == 3 && value.GetStringTensorElement(2).empty(), "one text");
  ONNXTensorElementDataType type{};
  Ort::Value::Shape view{};
  value.GetTensorElementTypeAndShapeDataReference(type, view);
  expect(type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING && view.shape_len == 1 && view.shape[0] == 3, "type and shape");
  const Ort::UnownedValue other = value.GetUnowned();
  expect(static_cast<OrtValue*>(other) == static_cast<OrtValue*>(value), "the same value");
}

void allocators() {
  const Ort::MemoryInfo host = Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault);
  const Ort::ArenaCfg arena({{"max_mem", size_t(1) << 26}, {"arena_extend_strategy", 1}});
  env().CreateAndRegisterAllocator(host, arena);
  Ort::SessionOptions options;
  options.AddConfigEntry(kOrtSessionOptionsConfigUseEnvAllocators, "1");
  {
    Ort::Session session = dense(options);
    run_dense(session);
    Ort::Allocator allocator(session, host);
    void* kept = allocator.Reserve(100);
    expect(kept != nullptr, "reserved memory");
    allocator.Free(kept);
    { const Ort::MemoryAllocation memory = allocator.GetAllocation(64); }
    allocator.Shrink();
    const Ort::KeyValuePairs statistics = allocator.GetStats();
    expect(statistics.GetValue("MaxInUse") != nullptr, "statistics");
    expect(host == allocator.GetInfo() || allocator.GetInfo().GetDeviceType() == OrtMemoryInfoDeviceType_CPU, "place");
  }
  env().UnregisterAllocator(host);
}

namespace {
struct Threads {
  std::atomic<int> made{0}, joined{0};
};
OrtCustomThreadHandle make_thread(void* options, OrtThreadWorkerFn work, void* argument) {
  ++static_cast<Threads*>(options)->made;
  struct Both {
    std::thread thread;
    Threads* threads;
  };
  return reinterpret_cast<OrtCustomThreadHandle>(new Both{std::thread(work, argument), static_cast<Threads*>(options)});
}
void join_thread(OrtCustomThreadHandle handle) {
  struct Both {
    std::thread thread;
    Threads* threads;
  };
  auto* both = reinterpret_cast<Both*>(const_cast<OrtCustomHandleType*>(handle));
  both->thread.join();
  ++both->threads->joined;
  delete both;
}
}  // namespace

void threads_of_a_program() {
  Threads threads;
  {
    Ort::SessionOptions options;
    options.SetIntraOpNumThreads(3).SetCustomCreateThreadFn(make_thread).SetCustomThreadCreationOptions(&threads);
    options.SetCustomJoinThreadFn(join_thread);
    Ort::Session session = dense(options);
    run_dense(session);
    expect(threads.made <= 2, "no more than two beside the caller's; a model without work for them may have none");
  }
  expect(threads.joined == threads.made, "all were joined");
  Ort::ThreadingOptions shared;
  shared.SetGlobalIntraOpNumThreads(2).SetGlobalInterOpNumThreads(1).SetGlobalSpinControl(0).SetGlobalDenormalAsZero();
  shared.SetGlobalCustomCreateThreadFn(make_thread).SetGlobalCustomThreadCreationOptions(&threads);
  shared.SetGlobalCustomJoinThreadFn(join_thread);
}

void options_by_entries() {
  Ort::SessionOptions options;
  options.AddConfigEntry(kOrtSessionOptionsConfigExecutionMode, "parallel");
  options.AddConfigEntry(kOrtSessionOptionsConfigEnableMemPattern, "false");
  options.AddConfigEntry(kOrtSessionOptionsConfigGraphOptimizationLevel, "disable_all");
  expect(options.GetExecutionMode() == ORT_PARALLEL && !options.GetMemPatternEnabled(), "entries set options");
  expect(!options.HasConfigEntry(kOrtSessionOptionsConfigExecutionMode), "and are not kept");
  expect_error(ORT_INVALID_ARGUMENT, "not a number",
               [&] { options.AddConfigEntry(kOrtSessionOptionsConfigIntraOpNumThreads, "many"); });
  const Ort::SessionOptions copy = options.Clone();
  expect(copy.GetConst().GetExecutionMode() == ORT_PARALLEL, "a copy has them");
  options.AddFreeDimensionOverrideByName("n", 5).AddFreeDimensionOverride("DATA_BATCH", 1);
  const Ort::Session session = dense(options);
  expect(session.GetInputTypeInfo(0).GetTensorTypeAndShapeInfo().GetShape() == std::vector<int64_t>({5, 3}), "n is 5");
}

void records() {
  Ort::AllocatorWithDefaultOptions allocator;
  Ort::SessionOptions options;
  const std::string prefix = "records_profile";
  options.EnableProfiling(prefix.c_str());
  Ort::Session session = dense(options);
  Ort::RunOptions run;
  run.SetRunTag("tag").SetRunLogSeverityLevel(3).SetRunLogVerbosityLevel(1);
  run.AddConfigEntry(kOrtRunOptionsConfigDisableSynchronizeExecutionProviders, "1");
  expect(run.GetRunTag() == std::string("tag") && run.GetRunLogSeverityLevel() == 3, "tag and level");
  expect(run.GetRunLogVerbosityLevel() == 1 && run.GetConfigEntry("none") == nullptr, "other settings");
  run_dense(session, run);
  expect(session.GetProfilingStartTimeNs() > 0, "the time when it began");
  const std::string file = session.EndProfilingAllocated(allocator).get();
  expect(file.rfind(prefix, 0) == 0 && std::remove(file.c_str()) == 0, "the file " + file);
  const char *key = kOrtEpDynamicOptionsWorkloadType, *value = "Efficient";
  session.SetEpDynamicOptions(&key, &value, 1);
  expect(session.GetOverridableInitializerCount() == session.GetOverridableInitializerNames().size(), "overridable");
  expect(session.GetUnowned().GetInputCount() == 1 && session.GetConst().GetOutputNames()[1] == "s", "views");
}

void copies() {
  Floats from = {1, 2}, to = {0, 0};
  const Ort::Value source = tensor(from, {2});
  Ort::Value target = tensor(to, {2});
  const Ort::Status status = env().CopyTensor(source, target, nullptr);
  expect(!status.IsOK(), "no provider copies from host to host: " + status.GetErrorMessage());
  expect(env().GetNumHardwareDevices() == env().GetHardwareDevices().size(), "devices");
  Ort::Value moved = std::move(target);
  expect(static_cast<OrtValue*>(target) == nullptr && moved.GetTensorSizeInBytes() == 8, "moved");
}
