// Measures what I/O binding saves on a device behind a bus: a hundred runs by name, whose input and output are copied
// each time, and a hundred bound ones, with several libraries in one process. The device is the loopback provider,
// whose copies take as long as over PCIe.
//
//   binding_bench PROVIDER LIBRARY [LIBRARY ...]
//
// PROVIDER: libloopback.so. Prints a table, then one line of JSON with the events on the device. The exit code is 1 if
// copies with binding take more than 1.5 % of those without, or if results are wrong.
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "loopback.h"
#include "retort/onnxruntime_c_api.h"

namespace {

constexpr int kRuns = 100, kWarm = 5;
constexpr int64_t kShown = 40'000'000;            // nanoseconds of the loop whose events are listed
constexpr int64_t kRows = 2100, kColumns = 3000;  // 25.2 MB: 100 runs that copy it both ways take 420 ms at 12 GB/s
constexpr size_t kElements = size_t(kRows * kColumns);
constexpr double kMost = 0.015;
const char* const kRate = "12e9";
const char* const kLatency = "10";

/// The bytes of a model: y = Relu(x).
class Message {
 public:
  Message& number(int field, uint64_t value) { return varint(uint64_t(field) << 3).varint(value); }
  Message& text(int field, const std::string& bytes) {
    varint(uint64_t(field) << 3 | 2).varint(bytes.size()).bytes += bytes;
    return *this;
  }
  std::string bytes;

 private:
  Message& varint(uint64_t value) {
    for (; value > 127; value >>= 7) bytes += char(value | 128);
    bytes += char(value);
    return *this;
  }
};
std::string model() {
  Message shape, tensor, graph;
  for (const int64_t d : {kRows, kColumns}) shape.text(1, Message().number(1, uint64_t(d)).bytes);
  tensor.number(1, 1).text(2, shape.bytes);
  const auto port = [&](const char* name) {
    return Message().text(1, name).text(2, Message().text(1, tensor.bytes).bytes).bytes;
  };
  graph.text(1, Message().text(1, "x").text(2, "y").text(4, "Relu").bytes).text(2, "relu");
  graph.text(11, port("x")).text(12, port("y"));
  return Message().number(1, 9).text(7, graph.bytes).text(8, Message().number(2, 17).bytes).bytes;
}

template <typename F>
F symbol(const char* library, const char* name) {
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  void* found = handle ? dlsym(handle, name) : nullptr;
  if (!found) throw std::runtime_error(dlerror());
  return reinterpret_cast<F>(found);
}

/// The device's work in a loop.
struct Loop {
  LoopbackCounts counts{};
  std::vector<LoopbackEvent> events;
  double copies_ms() const {
    int64_t ns = 0;
    for (const LoopbackEvent& e : events) ns += std::strstr(e.what, " to ") ? e.end - e.begin : 0;
    return double(ns) / 1e6;
  }
  double wall_ms() const { return events.empty() ? 0 : double(events.back().end - events.front().begin) / 1e6; }
};

class Device {
 public:
  explicit Device(const char* path)
      : path_(std::filesystem::absolute(path)),  // a library may search for relative ones beside itself
        counters_(symbol<LoopbackCountersFn>(path, "LoopbackCounters")),
        reset_(symbol<LoopbackResetFn>(path, "LoopbackReset")),
        record_(symbol<LoopbackRecordFn>(path, "LoopbackRecord")),
        events_(symbol<LoopbackEventsFn>(path, "LoopbackEvents")) {
    const auto set = symbol<LoopbackSetFn>(path, "LoopbackSet");
    if (!set("rate", kRate) || !set("latency_us", kLatency)) throw std::runtime_error("the provider has other options");
  }
  template <typename F>
  Loop watch(F&& body) {
    Loop loop;
    reset_();
    record_(1);
    body();
    counters_(&loop.counts);
    loop.events.resize(events_(nullptr, 0));
    events_(loop.events.data(), loop.events.size());
    record_(0);
    return loop;
  }
  const char* path() const { return path_.c_str(); }

 private:
  const std::string path_;
  LoopbackCountersFn counters_;
  LoopbackResetFn reset_;
  LoopbackRecordFn record_;
  LoopbackEventsFn events_;
};

/// One library with a session on the device.
class Side {
 public:
  Side(const char* library, Device& device) : name_(library), device_(device) {
    const auto get = symbol<const OrtApiBase*(ORT_API_CALL*)()>(library, "OrtGetApiBase");
    api_ = get()->GetApi(ORT_API_VERSION);
    if (!api_) throw std::runtime_error(name_ + " is too old");
    check(api_->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "binding", &env_));
    check(api_->RegisterExecutionProviderLibrary(env_, "loopback", device.path()));
    const OrtEpDevice* const* all = nullptr;
    size_t n = 0;
    check(api_->GetEpDevices(env_, &all, &n));
    const auto* found = std::find_if(
        all, all + n, [&](const OrtEpDevice* d) { return std::strcmp(api_->EpDevice_EpName(d), "loopback") == 0; });
    if (found == all + n) throw std::runtime_error(name_ + " has no device of the provider");
    OrtSessionOptions* options = nullptr;
    const std::string bytes = model();
    check(api_->CreateSessionOptions(&options));
    check(api_->SessionOptionsAppendExecutionProvider_V2(options, env_, found, 1, nullptr, nullptr, 0));
    check(api_->CreateSessionFromArray(env_, bytes.data(), bytes.size(), options, &session_));
    api_->ReleaseSessionOptions(options);
    check(api_->GetAllocatorWithDefaultOptions(&host_));
    check(api_->GetSharedAllocator(env_, api_->EpDevice_MemoryInfo(*found, OrtDeviceMemoryType_DEFAULT), &there_));
    x_ = tensor(host_);
    float* data = floats(x_);
    for (size_t i = 0; i < kElements; ++i) data[i] = float(int(i % 7) - 3);
  }

  /// Runs as programs do that do not use devices.
  Loop without_binding() {
    const char *in = "x", *out = "y";
    const auto run = [&](int times) {
      for (int i = 0; i < times; ++i) {
        OrtValue* y = nullptr;
        const OrtValue* x = x_;
        check(api_->Run(session_, nullptr, &in, &x, 1, &out, 1, &y));
        right(y);
        api_->ReleaseValue(y);
      }
    };
    run(kWarm);  // warms up
    return device_.watch([&] { run(kRuns); });
  }

  /// One upload, bound runs, one download.
  Loop with_binding() {
    OrtIoBinding* binding = nullptr;
    OrtValue *x = tensor(there_), *y = tensor(there_), *result = tensor(host_);
    check(api_->CreateIoBinding(session_, &binding));
    check(api_->BindInput(binding, "x", x));
    check(api_->BindOutput(binding, "y", y));
    const auto run = [&](int times) {
      copy(x_, x);
      for (int i = 0; i < times; ++i) check(api_->RunWithBinding(session_, nullptr, binding));
      check(api_->SynchronizeBoundOutputs(binding));
      copy(y, result);
    };
    run(kWarm);
    std::vector<Loop> loops;  // a loop with only two copies is easily disturbed: the median of several loops counts
    for (int i = 0; i < 3; ++i) loops.push_back(device_.watch([&] { run(kRuns); }));
    std::sort(loops.begin(), loops.end(), [](const Loop& a, const Loop& b) { return a.copies_ms() < b.copies_ms(); });
    right(result);
    api_->ReleaseIoBinding(binding);
    for (OrtValue* v : {x, y, result}) api_->ReleaseValue(v);
    return loops[1];
  }

  std::string name() const { return name_.find("onnxruntime/capi") != std::string::npos ? "ONNX Runtime" : "Retort"; }

 private:
  void check(OrtStatus* status) const {
    if (status) throw std::runtime_error(name_ + ": " + api_->GetErrorMessage(status));
  }
  OrtValue* tensor(OrtAllocator* from) const {
    const int64_t shape[2] = {kRows, kColumns};
    OrtValue* value = nullptr;
    check(api_->CreateTensorAsOrtValue(from, shape, 2, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value));
    return value;
  }
  float* floats(OrtValue* value) const {
    void* data = nullptr;
    check(api_->GetTensorMutableData(value, &data));
    return static_cast<float*>(data);
  }
  void copy(const OrtValue* from, OrtValue* to) const { check(api_->CopyTensors(env_, &from, &to, nullptr, 1)); }
  void right(OrtValue* y) const {
    const float* data = floats(y);
    for (const size_t i : {size_t(0), size_t(5), kElements - 1})
      if (data[i] != float(std::max(int(i % 7) - 3, 0))) throw std::runtime_error(name_ + ": a result is wrong");
  }

  const std::string name_;
  Device& device_;
  const OrtApi* api_ = nullptr;
  OrtEnv* env_ = nullptr;
  OrtSession* session_ = nullptr;
  OrtAllocator *host_ = nullptr, *there_ = nullptr;
  OrtValue* x_ = nullptr;
};

/// The loop, with the first events on the device.
std::string json(const Loop& loop) {
  char text[256];
  const LoopbackCounts& c = loop.counts;
  std::snprintf(text, sizeof text, R"({"copies": %lld, "bytes": %lld, "copy_ms": %.2f, "wall_ms": %.1f, "events": [)",
                static_cast<long long>(c.to_device + c.from_device),
                static_cast<long long>(c.to_device_bytes + c.from_device_bytes), loop.copies_ms(), loop.wall_ms());
  std::string all = text;
  for (const LoopbackEvent& e : loop.events) {
    const int64_t begin = e.begin - loop.events.front().begin, end = e.end - loop.events.front().begin;
    if (begin > kShown) break;
    std::snprintf(text, sizeof text, R"(%s["%s", %.1f, %.1f])", all.back() == '[' ? "" : ", ", e.what,
                  double(begin) / 1e3, double(end) / 1e3);
    all += text;
  }
  return all + "]}";
}

void row(const std::string& engine, const char* how, const Loop& loop) {
  const LoopbackCounts& c = loop.counts;
  std::printf("%-14s %-16s %7lld %10.1f %12.2f %12.1f\n", engine.c_str(), how,
              static_cast<long long>(c.to_device + c.from_device),
              double(c.to_device_bytes + c.from_device_bytes) / 1e6, loop.copies_ms(), loop.wall_ms());
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 3) {
    std::fprintf(stderr, "usage: binding_bench PROVIDER LIBRARY [LIBRARY ...]\n");
    return 2;
  }
  Device device(argv[1]);
  std::printf("%d runs of a model whose input and output have %.1f MB each, at 12 GB/s and 10 us\n\n", kRuns,
              double(kElements) * sizeof(float) / 1e6);
  std::printf("%-14s %-16s %7s %10s %12s %12s\n", "", "", "copies", "MB", "copying, ms", "in all, ms");
  std::string all = "{";
  bool good = true;
  for (int i = 2; i < argc; ++i) {
    Side side(argv[i], device);
    const Loop without = side.without_binding(), with = side.with_binding();
    row(side.name(), "without binding", without);
    row(side.name(), "with binding", with);
    const double part = with.copies_ms() / without.copies_ms();
    std::printf("%-14s %-16s %30.2f %%\n", "", "", 100 * part);
    good &= part <= kMost;
    all += (i > 2 ? ", \"" : "\"") + side.name() + "\": {\"without\": " + json(without) + ", \"with\": " + json(with) +
           "}";
  }
  std::printf("\n%s}\n", all.c_str());
  return good ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "FAIL %s\n", e.what());
  return 1;
}
