// A session whose inputs and outputs are bound once for many runs.
#include "cli/commands.h"

namespace retort::cli {
namespace {

/// Makes a tensor in the memory of `t`; strings are copied.
Handle<OrtValue> make_tensor(const EngineLibrary& engine, const OrtMemoryInfo* memory, HostTensor& t) {
  const OrtApi& api = engine.api();
  OrtValue* value = nullptr;
  if (t.type != ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) {
    engine.check(api.CreateTensorWithDataAsOrtValue(memory, t.bytes.data(), t.bytes.size(), t.shape.data(),
                                                    t.shape.size(), t.type, &value));
    return engine.own(value, api.ReleaseValue);
  }
  OrtAllocator* allocator = nullptr;
  engine.check(api.GetAllocatorWithDefaultOptions(&allocator));
  engine.check(api.CreateTensorAsOrtValue(allocator, t.shape.data(), t.shape.size(), t.type, &value));
  auto owned = engine.own(value, api.ReleaseValue);
  std::vector<const char*> texts;
  for (const std::string& s : t.strings) texts.push_back(s.c_str());
  engine.check(api.FillStringTensor(value, texts.data(), texts.size()));
  return owned;
}

/// `parts` keeps the parts of the value alive.
Handle<OrtValue> make_value(const EngineLibrary& engine, const OrtMemoryInfo* memory, HostValue& v,
                            std::vector<Handle<OrtValue>>& parts) {
  if (v.kind == HostValue::Kind::tensor) return make_tensor(engine, memory, v.tensor);
  std::vector<const OrtValue*> items;
  for (HostValue& item : v.items) {
    parts.push_back(make_value(engine, memory, item, parts));
    items.push_back(parts.back().get());
  }
  OrtValue* value = nullptr;
  const ONNXType type = v.kind == HostValue::Kind::map ? ONNX_TYPE_MAP : ONNX_TYPE_SEQUENCE;
  engine.check(engine.api().CreateValue(items.data(), items.size(), type, &value));
  return engine.own(value, engine.api().ReleaseValue);
}

size_t rank_of(const EngineLibrary& engine, const OrtValue* tensor) {
  OrtTensorTypeAndShapeInfo* info = nullptr;
  engine.check(engine.api().GetTensorTypeAndShape(tensor, &info));
  const auto owned = engine.own(info, engine.api().ReleaseTensorTypeAndShapeInfo);
  size_t rank = 0;
  engine.check(engine.api().GetDimensionsCount(info, &rank));
  return rank;
}

std::string advice_on_guess(const std::string& name, const HostValue& given) {
  return " (the input '" + name + "' is random, and free extents of its shape are 1; --shape " + name + "=" +
         dims_text(given.tensor.shape) + " with other numbers, or --input, may help)";
}

}  // namespace

BoundRun::BoundRun(EngineSession& session, HostValues& inputs) : session_(session) {
  if (session.outputs().empty()) throw Failure("the model has no outputs, so there is nothing to run");
  const EngineLibrary& engine = session.engine();
  const OrtApi& api = engine.api();
  OrtIoBinding* binding = nullptr;
  engine.check(api.CreateIoBinding(session.handle(), &binding));
  binding_ = engine.own(binding, api.ReleaseIoBinding);
  OrtMemoryInfo* memory = nullptr;
  engine.check(api.CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &memory));
  memory_ = engine.own(memory, api.ReleaseMemoryInfo);
  for (auto& [name, given] : inputs) {
    if (given.guessed && advice_.empty()) advice_ = advice_on_guess(name, given);
    values_.push_back(make_value(engine, memory, given, values_));
    engine.check(api.BindInput(binding, name.c_str(), values_.back().get()));
  }
  forget_outputs();
}

void BoundRun::forget_outputs() {
  const EngineLibrary& engine = session_.engine();
  unkept_.clear();
  for (const PortInfo& out : session_.outputs())
    engine.check(engine.api().BindOutputToDevice(binding_.get(), out.name.c_str(), memory_.get()));
}

void BoundRun::run() try {
  const EngineLibrary& engine = session_.engine();
  for (const char* name : unkept_) engine.check(engine.api().BindOutputToDevice(binding_.get(), name, memory_.get()));
  engine.check(engine.api().RunWithBinding(session_.handle(), nullptr, binding_.get()));
} catch (const Failure& e) {
  throw Failure(e.what() + advice_);
}

std::vector<Handle<OrtValue>> BoundRun::outputs() const {
  const EngineLibrary& engine = session_.engine();
  const OrtApi& api = engine.api();
  OrtAllocator* allocator = nullptr;
  engine.check(api.GetAllocatorWithDefaultOptions(&allocator));
  OrtValue** values = nullptr;
  size_t count = 0;
  engine.check(api.GetBoundOutputValues(binding_.get(), allocator, &values, &count));
  std::vector<Handle<OrtValue>> all;
  for (size_t i = 0; i < count; ++i) all.push_back(engine.own(values[i], api.ReleaseValue));
  allocator->Free(allocator, values);
  return all;
}

void BoundRun::give(const std::string& name, OrtValue* value) {
  session_.engine().check(session_.engine().api().BindInput(binding_.get(), name.c_str(), value));
}

void BoundRun::give(const std::string& name, HostValue& value) {
  std::vector<Handle<OrtValue>> parts;
  give(name, make_value(session_.engine(), memory_.get(), value, parts).get());
}

HostValues BoundRun::values() const {
  const auto values = outputs();
  HostValues all;
  for (size_t i = 0; i < values.size(); ++i)
    all[session_.outputs()[i].name] = read_value(session_.engine(), values[i].get());
  return all;
}

void BoundRun::keep_outputs() {
  const EngineLibrary& engine = session_.engine();
  auto values = outputs();
  for (size_t i = 0; i < values.size(); ++i) {
    int is_tensor = 0;
    engine.check(engine.api().IsTensor(values[i].get(), &is_tensor));
    if (!is_tensor) continue;  // engines make sequences and maps anew in each run
    const PortInfo& declared = session_.outputs()[i];
    if (declared.ranked && declared.shape.size() != rank_of(engine, values[i].get())) {
      unkept_.push_back(declared.name.c_str());
      continue;
    }
    engine.check(engine.api().BindOutput(binding_.get(), declared.name.c_str(), values[i].get()));
    values_.push_back(std::move(values[i]));
  }
}

}  // namespace retort::cli
