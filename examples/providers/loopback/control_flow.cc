#include "control_flow.h"

#include <cstring>

#include "device.h"
#include "memory.h"
#include "operators.h"
#include "stream.h"

namespace loopback {
namespace {

/// The address at which code on the device accesses a value.
std::byte* reached(const Host& host, Device& device, const OrtValue* value, size_t bytes) {
  void* data = tensor_of(host, value).data;
  if (!bytes) return nullptr;
  return device_of(host, value) < 0 ? static_cast<std::byte*>(data) : device.behind(data, bytes);
}

/// Concatenates the results of all iterations, which the host cannot do on a device.
struct LoopHelper : OrtLoopKernelHelper {
  const KernelState state;
  explicit LoopHelper(const KernelState& s) : OrtLoopKernelHelper{}, state(s) {
    ort_version_supported = ORT_API_VERSION;
    Control::get().count(kAlive);
    OrtLoopKernelHelper::Release = [](OrtLoopKernelHelper* h) noexcept {
      Control::get().count(kAlive, -1);
      delete static_cast<LoopHelper*>(h);
    };
    OrtLoopKernelHelper::ConcatOutput = [](OrtLoopKernelHelper* h, void* stream, const OrtValue* const* parts,
                                           size_t count, void* output, size_t size) noexcept {
      const KernelState& state = static_cast<LoopHelper*>(h)->state;
      return entry(state.host, "ConcatOutput", [&] {
        concatenate(state, static_cast<Stream*>(stream), {parts, parts + count}, output, size);
      });
    };
  }

  // The parts may be freed as soon as this returns: the allocator keeps their memory until the stream has passed.
  static void concatenate(const KernelState& state, Stream* stream, const std::vector<const OrtValue*>& parts,
                          void* output, size_t size) {
    Device& device = Device::get(state.device);
    std::byte* to = size ? device.behind(output, size) : nullptr;
    Control::get().count(kKernels);
    for (const OrtValue* part : parts) {
      const size_t bytes = bytes_of(state.host, part);
      if (bytes > size) throw Error("results of a loop do not fit into its output");
      const std::byte* from = reached(state.host, device, part, bytes);
      if (bytes) perform(stream, [=] { std::memcpy(to, from, bytes); });
      to += bytes;
      size -= bytes;
    }
  }
};

/// Transposes a tensor, so that Scan can iterate along another axis than the first.
struct ScanHelper : OrtScanKernelHelper {
  const KernelState state;
  explicit ScanHelper(const KernelState& s) : OrtScanKernelHelper{}, state(s) {
    ort_version_supported = ORT_API_VERSION;
    Control::get().count(kAlive);
    OrtScanKernelHelper::Release = [](OrtScanKernelHelper* h) noexcept {
      Control::get().count(kAlive, -1);
      delete static_cast<ScanHelper*>(h);
    };
    OrtScanKernelHelper::Transpose = [](OrtScanKernelHelper* h, const size_t* permutation, size_t count,
                                        const OrtValue* input, OrtSyncStream* stream, OrtValue* output) noexcept {
      const KernelState& state = static_cast<ScanHelper*>(h)->state;
      return entry(state.host, "Transpose", [&] {
        transpose(state, Stream::of(state.host, stream), {permutation, permutation + count}, input, output);
      });
    };
  }

  static void transpose(const KernelState& state, Stream* stream, const std::vector<size_t>& permutation,
                        const OrtValue* input, OrtValue* output) {
    Device& device = Device::get(state.device);
    const size_t bytes = bytes_of(state.host, input);
    const Tensor in = tensor_of(state.host, input);
    if (permutation.size() != in.shape.size() || bytes_of(state.host, output) != bytes)
      throw Error("a transposed tensor has another size");
    Control::get().count(kKernels);
    if (!bytes) return;
    const std::byte* from = reached(state.host, device, input, bytes);
    std::byte* to = reached(state.host, device, output, bytes);
    perform(stream, [=, shape = in.shape, element = bytes / in.elements()] {
      move_elements(from, to, shape, permutation, element);
    });
  }

  static void move_elements(const std::byte* from, std::byte* to, const std::vector<int64_t>& shape,
                            const std::vector<size_t>& permutation, size_t element) {
    const size_t rank = shape.size();
    std::vector<size_t> step(rank, 1), at(rank, 0);  // of the input; of the output, in the order of its axes
    size_t count = 1;
    for (size_t d = rank; d-- > 0; count *= size_t(shape[d])) step[d] = count;
    for (size_t i = 0; i < count; ++i, to += element) {
      size_t place = 0;
      for (size_t d = 0; d < rank; ++d) place += at[d] * step[permutation[d]];
      std::memcpy(to, from + place * element, element);
      for (size_t d = rank; d-- > 0;) {
        if (++at[d] < size_t(shape[permutation[d]])) break;
        at[d] = 0;
      }
    }
  }
};

// The host takes ownership of the helper together with the kernel; if it does not, the helper is released here.
template <typename Helper, typename Create>
void make_with(const KernelState& state, Create&& create) {
  auto* helper = new Helper(state);
  if (OrtStatus* status = create(helper)) {
    helper->Release(helper);
    check(state.host, status);
  }
}

OrtStatus* make_if(void* state, const OrtKernelInfo* info, OrtKernelImpl** made) {
  const Host& host = static_cast<const KernelState*>(state)->host;
  return entry(host, "CreateKernel", [&] { check(host, host.ep->CreateIfKernel(info, made)); });
}
OrtStatus* make_loop(void* s, const OrtKernelInfo* info, OrtKernelImpl** made) {
  const auto& state = *static_cast<const KernelState*>(s);
  return entry(state.host, "CreateKernel", [&] {
    make_with<LoopHelper>(state, [&](LoopHelper* h) { return state.host.ep->CreateLoopKernel(info, h, made); });
  });
}
OrtStatus* make_scan(void* s, const OrtKernelInfo* info, OrtKernelImpl** made) {
  const auto& state = *static_cast<const KernelState*>(s);
  return entry(state.host, "CreateKernel", [&] {
    make_with<ScanHelper>(state, [&](ScanHelper* h) { return state.host.ep->CreateScanKernel(info, h, made); });
  });
}

}  // namespace

const std::map<std::string, ControlFlow>& control_flow() {
  static const std::map<std::string, ControlFlow> all{
      {"If", {1, {0}, {"V"}, make_if}},
      {"Loop", {1, {0, 1}, {"V"}, make_loop}},
      {"Scan", {9, {}, {"V"}, make_scan}},
  };
  return all;
}

}  // namespace loopback
