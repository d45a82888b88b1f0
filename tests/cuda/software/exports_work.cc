// The driver's functions for memory, copies, kernels, streams, events and graphs.
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "counts.h"
#include "device.h"
#include "module.h"
#include "share.h"

using namespace software_cuda;
using namespace providers::cuda;

static Stream* of(CUstream stream) {
  // 1 and 2 name the legacy stream and that of the thread.
  return reinterpret_cast<size_t>(stream) < 3 ? nullptr : reinterpret_cast<Stream*>(stream);
}
static Event* of(CUevent event) { return reinterpret_cast<Event*>(event); }

#define NEED_DEVICE(device)            \
  const int device = current_device(); \
  if (device < 0) return software_cuda::kInvalidContext
#define FORBID_IN_CAPTURE() \
  if (const CUresult forbidden = Streams::get().forbid_in_capture()) return forbidden

EXPORT int cuMemAlloc_v2(Address* address, size_t bytes) {
  NEED_DEVICE(device);
  FORBID_IN_CAPTURE();
  if (!address || !bytes) return kInvalidValue;
  *address = memory(device).allocate(bytes);
  if (!*address) return kNoMemory;
  ++counts().allocations;
  return kSuccess;
}

EXPORT int cuMemFree_v2(Address address) {
  NEED_DEVICE(device);
  FORBID_IN_CAPTURE();
  if (!address) return kSuccess;
  DeviceMemory* const m = memory_of(address);
  if (!m) return kInvalidValue;
  Streams::get().wait_for_all(m == &memory(device) ? device : 1 - device);
  return m->release(address) ? kSuccess : kInvalidValue;
}

EXPORT int cuMemHostAlloc(void** host, size_t bytes, unsigned) {
  NEED_DEVICE(device);
  (void)device;
  FORBID_IN_CAPTURE();
  if (!bytes) return kInvalidValue;
  *host = PinnedMemory::get().allocate(bytes);
  return *host ? kSuccess : kNoMemory;
}

EXPORT int cuMemFreeHost(void* host) {
  NEED_DEVICE(device);
  FORBID_IN_CAPTURE();
  Streams::get().wait_for_all(device);
  return PinnedMemory::get().release(host) ? kSuccess : kInvalidValue;
}

static CUresult outside(const char* what, Address address, size_t bytes) {
  std::fprintf(stderr, "software CUDA: %s of %zu bytes at %#llx: not in a block of device memory\n", what, bytes,
               address);
  return kInvalidValue;
}

/// The address of the bytes; 0 if the range is not in one block, nor in host memory.
static Address place(Address address, size_t bytes) {
  const DeviceMemory* const m = memory_of(address);
  if (!m) return address;
  return m->holds(address, bytes) ? m->behind(address) : 0;
}

static CUresult copy(Address to, Address from, size_t bytes, CUstream handle) {
  NEED_DEVICE(device);
  const bool from_device = memory_of(from), to_device = memory_of(to);
  if (!bytes) return kSuccess;
  const Address source = place(from, bytes), target = place(to, bytes);
  if (!source) return outside("copy from device", from, bytes);
  if (!target) return outside("copy to device", to, bytes);
  ++(from_device ? to_device ? counts().on_device : counts().to_host : counts().to_device);
  Stream* const stream = of(handle);
  const bool captured = Streams::get().captures(stream);
  auto* const out = reinterpret_cast<char*>(target);
  const auto* const in = reinterpret_cast<const char*>(source);
  const auto pinned = [&](const char* p) { return PinnedMemory::get().holds(p, bytes); };
  if (!from_device && !captured && !pinned(in)) {  // the driver takes a copy of pageable memory first
    const auto staged = std::make_shared<std::vector<char>>(in, in + bytes);
    return Streams::get().submit(stream, device, [out, staged] { std::memcpy(out, staged->data(), staged->size()); });
  }
  Queue::Ticket ticket;
  const CUresult result = Streams::get().submit(
      stream, device, [out, in, bytes] { std::memmove(out, in, bytes); }, &ticket);
  if (result == kSuccess && !to_device && !captured && !pinned(out)) ticket.wait();
  return result;
}

EXPORT int cuMemcpyAsync(Address to, Address from, size_t bytes, CUstream stream) {
  return copy(to, from, bytes, stream);
}
EXPORT int cuMemcpyHtoDAsync_v2(Address to, const void* from, size_t bytes, CUstream stream) {
  if (bytes && (!memory_of(to) || memory_of(reinterpret_cast<Address>(from)))) return kInvalidValue;
  return copy(to, reinterpret_cast<Address>(from), bytes, stream);
}
EXPORT int cuMemcpyDtoHAsync_v2(void* to, Address from, size_t bytes, CUstream stream) {
  if (bytes && (!memory_of(from) || memory_of(reinterpret_cast<Address>(to)))) return kInvalidValue;
  return copy(reinterpret_cast<Address>(to), from, bytes, stream);
}
EXPORT int cuMemcpyDtoDAsync_v2(Address to, Address from, size_t bytes, CUstream stream) {
  if (bytes && (!memory_of(from) || !memory_of(to))) return kInvalidValue;
  return copy(to, from, bytes, stream);
}

template <typename T>
static CUresult fill(Address to, T value, size_t count, CUstream stream) {
  NEED_DEVICE(device);
  if (!count) return kSuccess;
  if (to % sizeof(T) || !memory_of(to)) return kInvalidValue;
  const Address target = place(to, count * sizeof(T));
  if (!target) return outside("fill", to, count * sizeof(T));
  ++counts().fills;
  auto* const out = reinterpret_cast<T*>(target);
  return Streams::get().submit(of(stream), device, [out, value, count] {
    for (size_t i = 0; i < count; ++i) out[i] = value;
  });
}

EXPORT int cuMemsetD8Async(Address to, unsigned char value, size_t count, CUstream stream) {
  return fill(to, value, count, stream);
}
EXPORT int cuMemsetD32Async(Address to, unsigned value, size_t count, CUstream stream) {
  return fill(to, value, count, stream);
}

EXPORT int cuModuleLoadData(CUmodule* module, const void* image) {
  NEED_DEVICE(device);
  auto loaded = load(image, device);
  if (!loaded) return kInvalidImage;
  ++counts().modules;
  *module = reinterpret_cast<CUmodule>(new std::shared_ptr<Module>(std::move(loaded)));
  return kSuccess;
}

EXPORT int cuModuleUnload(CUmodule module) {
  NEED_DEVICE(device);
  (void)device;
  if (!module) return software_cuda::kInvalidHandle;
  --counts().modules;
  delete reinterpret_cast<std::shared_ptr<Module>*>(module);
  return kSuccess;
}

EXPORT int cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  if (!module) return software_cuda::kInvalidHandle;
  *function = reinterpret_cast<CUfunction>(find(*reinterpret_cast<std::shared_ptr<Module>*>(module), name));
  return *function ? kSuccess : kNotFound;
}

EXPORT int cuFuncSetAttribute(CUfunction function, int attribute, int value) {
  if (!function) return software_cuda::kInvalidHandle;
  if (attribute == 9) return kSuccess;  // how much of the cache is shared memory
  if (attribute != kFunctionMaxDynamicShared || value < 0 || size_t(value) > kMostSharedOfBlock) return kInvalidValue;
  reinterpret_cast<Function*>(function)->most_shared = size_t(value);
  return kSuccess;
}

EXPORT int cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                          unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream, void** parameters,
                          void** extra) {
  NEED_DEVICE(device);
  if (!function || extra) return kInvalidValue;
  const auto& f = *reinterpret_cast<Function*>(function);
  if (f.module->device != device) return software_cuda::kInvalidHandle;
  CUresult result = kSuccess;
  Work work = make_launch(f, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes, parameters,
                          memory(device), result);
  if (result != kSuccess) return result;
  ++counts().launches;
  return Streams::get().submit(of(stream), device, std::move(work));
}

// Launches that may overlap run in order here.
EXPORT int cuLaunchKernelEx(const CUlaunchConfig* c, CUfunction function, void** parameters, void** extra) {
  for (unsigned i = 0; i < c->attribute_count; ++i)
    if (c->attributes[i].id != kProgrammaticSerialization) return kInvalidValue;
  return cuLaunchKernel(function, c->grid[0], c->grid[1], c->grid[2], c->block[0], c->block[1], c->block[2],
                        c->shared_bytes, c->stream, parameters, extra);
}

EXPORT int cuStreamCreate(CUstream* stream, unsigned flags) {
  NEED_DEVICE(device);
  *stream = reinterpret_cast<CUstream>(Streams::get().create(device, !(flags & kStreamNonBlocking)));
  return kSuccess;
}
EXPORT int cuStreamDestroy_v2(CUstream stream) { return Streams::get().destroy(of(stream)); }
EXPORT int cuStreamSynchronize(CUstream stream) {
  NEED_DEVICE(device);
  return Streams::get().synchronize(of(stream), device);
}
EXPORT int cuStreamQuery(CUstream stream) {
  NEED_DEVICE(device);
  return Streams::get().query(of(stream), device);
}
EXPORT int cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  NEED_DEVICE(device);
  return Streams::get().wait_event(of(stream), device, of(event));
}
EXPORT int cuStreamIsCapturing(CUstream stream, int* status) { return Streams::get().is_capturing(of(stream), status); }
EXPORT int cuStreamBeginCapture_v2(CUstream stream, int mode) { return Streams::get().begin_capture(of(stream), mode); }

EXPORT int cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  Graph* made = nullptr;
  const CUresult result = Streams::get().end_capture(of(stream), &made);
  if (made) ++counts().graphs;
  *graph = reinterpret_cast<CUgraph>(made);
  return result;
}

EXPORT int cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long) {
  if (!graph) return kInvalidValue;
  auto made = std::make_shared<GraphExec>();
  made->nodes = reinterpret_cast<Graph*>(graph)->nodes;
  *exec = reinterpret_cast<CUgraphExec>(new std::shared_ptr<GraphExec>(std::move(made)));
  ++counts().execs;
  return kSuccess;
}

EXPORT int cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  NEED_DEVICE(device);
  if (!exec) return kInvalidValue;
  ++counts().graph_launches;
  return Streams::get().launch(*reinterpret_cast<std::shared_ptr<GraphExec>*>(exec), of(stream), device);
}

EXPORT int cuGraphDestroy(CUgraph graph) {
  if (!graph) return kInvalidValue;
  --counts().graphs;
  delete reinterpret_cast<Graph*>(graph);
  return kSuccess;
}

EXPORT int cuGraphExecDestroy(CUgraphExec exec) {
  if (!exec) return kInvalidValue;
  --counts().execs;
  delete reinterpret_cast<std::shared_ptr<GraphExec>*>(exec);
  return kSuccess;
}

EXPORT int cuEventCreate(CUevent* event, unsigned) {
  NEED_DEVICE(device);
  *event = reinterpret_cast<CUevent>(Streams::get().create_event(device));
  return kSuccess;
}
EXPORT int cuEventRecord(CUevent event, CUstream stream) {
  NEED_DEVICE(device);
  return Streams::get().record(of(event), of(stream), device);
}
EXPORT int cuEventQuery(CUevent event) { return Streams::get().query(of(event)); }
EXPORT int cuEventSynchronize(CUevent event) { return Streams::get().synchronize(of(event)); }
EXPORT int cuEventElapsedTime(float* milliseconds, CUevent begin, CUevent end) {
  return Streams::get().elapsed(milliseconds, of(begin), of(end));
}
EXPORT int cuEventDestroy_v2(CUevent event) { return Streams::get().destroy_event(of(event)); }

EXPORT unsigned long long SoftwareCudaBehind(unsigned long long address) {
  const DeviceMemory* const m = memory_of(address);
  return m ? m->behind(address) : address;
}

EXPORT int SoftwareCudaArchitecture() { return architecture(); }

EXPORT int SoftwareCudaSubmit(void* stream, void (*work)(void*), void* data, void (*drop)(void*)) {
  const std::shared_ptr<void> kept(data, drop);
  NEED_DEVICE(device);
  return Streams::get().submit(of(static_cast<CUstream>(stream)), device, [kept, work] { work(kept.get()); });
}
