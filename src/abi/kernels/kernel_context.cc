// What a kernel can read and write in a run.
#include <algorithm>
#include <exception>
#include <mutex>

#include "abi/kernels/kernels.h"
#include "abi/sessions/options.h"
#include "abi/sessions/session.h"
#include "abi/slots.h"
#include "abi/values/type_info.h"
#include "ep/device_run.h"

namespace retort::abi {
namespace {

OrtKernelContext& of(OrtKernelContext* context) { return handle(context, "context"); }
const OrtKernelContext& of(const OrtKernelContext* context) { return handle(context, "context"); }

Value value_of(const Slot& slot) {
  if (!slot.boxed.empty()) return slot.boxed;
  return Tensor(slot.type.dtype, slot.type.shape, slot.data, nullptr);
}

/// Views of inputs and outputs are made on demand: a context belongs to one call, on one thread.
OrtKernelContext& writable(const OrtKernelContext& context) { return const_cast<OrtKernelContext&>(context); }

OrtSyncStream* stream_of(const OrtKernelContext& c) { return c.part ? c.part->stream() : nullptr; }

/// The session's logger, or one with the level and the tag of the run's options.
const OrtLogger& logger_of(OrtKernelContext& c) {
  const OrtLogger& session = c.part ? c.part->logger() : c.info->logger;
  const OrtRunOptions* given = nullptr;
  if (c.part)
    given = c.part->run_options();
  else if (c.run && c.run->devices())
    given = static_cast<const OrtRunOptions*>(device_run(*c.run).outward());
  if (!given) return session;
  const RunOptions& options = given->options;
  if (options.log_severity < 0 && options.tag.empty()) return session;
  if (!c.run_logger) {
    const std::string& id = session.logger.id();
    const auto level = options.log_severity < 0 ? session.logger.level() : LogLevel(options.log_severity);
    const char* separator = id.empty() || options.tag.empty() ? "" : ":";
    c.run_logger = std::make_unique<OrtLogger>(session.logger.derive(level, cat("{}{}{}", id, separator, options.tag)));
  }
  return *c.run_logger;
}

/// The allocator of a device whose memory the kernel requests; null for host memory.
std::shared_ptr<Allocator> device_memory(const OrtKernelContext& c, const OrtMemoryInfo& memory) {
  auto found = c.part ? c.part->devices().find_allocator(memory.space) : nullptr;
  require(found || memory.space.device == DeviceType::cpu, ErrorCode::fail, "the session has no memory '{}'",
          memory.name);
  return found;
}

void check_index(size_t index, size_t count, const char* what) {
  require(index < count, ErrorCode::invalid_argument, "{} {} of {} does not exist", what, index, count);
}

DType output_type(const OrtKernelContext& c, size_t index) {
  const auto& type = c.info->outputs[index];
  require(type && type->is_tensor() && type->dtype != DType::undefined, ErrorCode::fail,
          "the element type of output {} ('{}') is not known; let GetOutputType or InferOutputShapeFn of the operator "
          "tell it",
          index, c.info->node.outputs[index]);
  return type->dtype;
}

}  // namespace

OrtStatusPtr ORT_API_CALL KernelContext_GetInputCount(const OrtKernelContext* context, size_t* out) noexcept {
  return guard([&] { need(out, "out") = of(context).inputs.size(); });
}
OrtStatusPtr ORT_API_CALL KernelContext_GetOutputCount(const OrtKernelContext* context, size_t* out) noexcept {
  return guard([&] { need(out, "out") = of(context).outputs.size(); });
}

OrtStatusPtr ORT_API_CALL KernelContext_GetInput(const OrtKernelContext* context, size_t index,
                                                 const OrtValue** out) noexcept {
  return guard([&] {
    OrtKernelContext& c = writable(of(context));
    need(out, "out");
    check_index(index, c.inputs.size(), "input");
    if (c.run && c.run->has(index) && !c.inputs[index])
      c.inputs[index] = std::make_unique<OrtValue>(value_of(c.run->in_slot(index)));
    *out = c.inputs[index].get();
  });
}

OrtStatusPtr ORT_API_CALL KernelContext_GetOutput(OrtKernelContext* context, size_t index, const int64_t* dim_values,
                                                  size_t dim_count, OrtValue** out) noexcept {
  return guard([&] {
    OrtKernelContext& c = of(context);
    need(out, "out");
    check_index(index, c.outputs.size(), "output");
    if (c.part ? !c.part->wants(index) : !c.run->wants(index)) {
      *out = nullptr;
      return;
    }
    const std::span<const int64_t> dims = need_shape(dim_values, dim_count);
    if (!c.outputs[index] && c.part) {
      c.outputs[index] = std::make_unique<OrtValue>(c.part->output(index, Shape(dims)));
    } else if (!c.outputs[index]) {
      c.run->allocate(index, output_type(c, index), Shape(dims));
      c.outputs[index] = std::make_unique<OrtValue>(c.run->out_slot(index).boxed);
    }
    require(tensor_of(c.outputs[index].get()).shape() == Shape(dims), ErrorCode::invalid_argument,
            "output {} was already made as {}; {} is requested now", index,
            to_string(tensor_of(c.outputs[index].get()).shape()), to_string(Shape(dims)));
    *out = c.outputs[index].get();
  });
}

// The tensor that the caller gave for an output of the graph. GetOutput returns its memory for the same shape; any
// other output is allocated when the kernel gives the shape, and is returned here from then on.
OrtStatusPtr ORT_API_CALL KernelContext_GetPreallocatedOutput(const OrtKernelContext* context, size_t output_index,
                                                              OrtValue** output) noexcept {
  return guard([&] {
    OrtKernelContext& c = writable(of(context));
    need(output, "output");
    check_index(output_index, c.outputs.size(), "output");
    if (c.outputs[output_index]) {
      *output = c.outputs[output_index].get();
      return;
    }
    const Tensor* const given = c.run && c.run->wants(output_index) ? c.run->out_slot(output_index).offered : nullptr;
    *output = given ? &c.preallocated.try_emplace(output_index, Value(*given)).first->second : nullptr;
  });
}

OrtStatusPtr ORT_API_CALL KernelContext_GetGPUComputeStream(const OrtKernelContext* context, void** out) noexcept {
  return guard([&] {
    const OrtSyncStream* stream = stream_of(of(context));
    need(out, "out") = stream ? stream->stream->handle() : nullptr;
  });
}
OrtStatusPtr ORT_API_CALL KernelContext_GetSyncStream(const OrtKernelContext* context, OrtSyncStream** out) noexcept {
  return guard([&] { need(out, "out") = stream_of(of(context)); });
}
// Resources belong to streams; plug-ins' streams have none that could be returned.
OrtStatusPtr ORT_API_CALL KernelContext_GetResource(const OrtKernelContext* context, int resource_version,
                                                    int resource_id, void** resource) noexcept {
  return guard([&] {
    const bool has_stream = stream_of(of(context));
    need(resource, "resource");
    require(has_stream, ErrorCode::invalid_argument,
            "resource {} (version {}) belongs to a stream, and this kernel runs without one", resource_id,
            resource_version);
    *resource = nullptr;
  });
}

OrtStatusPtr ORT_API_CALL KernelContext_GetLogger(const OrtKernelContext* context, const OrtLogger** logger) noexcept {
  return guard([&] {
    const OrtKernelContext& c = of(context);
    need(logger, "logger") = &logger_of(writable(c));
  });
}

OrtStatusPtr ORT_API_CALL KernelContext_GetAllocator(const OrtKernelContext* context, const OrtMemoryInfo* mem_info,
                                                     OrtAllocator** out) noexcept {
  return guard([&] {
    const auto device = device_memory(of(context), handle(mem_info, "mem_info"));
    need(out, "out");
    // The caller owns it and frees it with ReleaseAllocator.
    *out = device ? static_cast<OrtAllocator*>(new DeviceAllocator(device)) : new HostAllocator;
  });
}

OrtStatusPtr ORT_API_CALL KernelContext_GetScratchBuffer(const OrtKernelContext* context, const OrtMemoryInfo* mem_info,
                                                         size_t count_or_bytes, void** out) noexcept {
  return guard([&] {
    OrtKernelContext& c = writable(of(context));
    const auto device = device_memory(c, handle(mem_info, "mem_info"));
    need(out, "out");
    auto memory = device ? allocate_from(device, count_or_bytes) : allocate_host(count_or_bytes);
    *out = c.scratch.emplace_back(std::move(memory)).get();
  });
}

OrtStatusPtr ORT_API_CALL KernelContext_ParallelFor(const OrtKernelContext* context, void (*fn)(void*, size_t),
                                                    size_t total, size_t num_batch, void* usr_data) noexcept {
  return guard([&] {
    const OrtKernelContext& c = of(context);
    need(fn, "fn");
    const size_t batches = num_batch == 0 ? total : std::min(num_batch, total);
    std::mutex mutex;
    std::exception_ptr thrown;  // must not leave a thread of the pool
    const Parallel& parallel = c.part ? c.part->parallel() : c.run->parallel();
    parallel.for_each(batches, [&](size_t batch, int) {
      try {
        for (size_t i = total * batch / batches; i < total * (batch + 1) / batches; ++i) fn(usr_data, i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        thrown = std::current_exception();
      }
    });
    if (thrown) std::rethrow_exception(thrown);
  });
}

// Functions for a custom operator's shape inference
// ---------------------------------------------------------------------------------------------------------------------

OrtStatusPtr ORT_API_CALL ShapeInferContext_GetInputCount(const OrtShapeInferContext* context, size_t* out) noexcept {
  return guard([&] { need(out, "out") = handle(context, "context").infer->input_count(); });
}

OrtStatusPtr ORT_API_CALL ShapeInferContext_GetInputTypeShape(const OrtShapeInferContext* context, size_t index,
                                                              OrtTensorTypeAndShapeInfo** info) noexcept {
  return guard([&] {
    OrtShapeInferContext& c = const_cast<OrtShapeInferContext&>(handle(context, "context"));
    need(info, "info");
    check_index(index, c.infer->input_count(), "input");
    require(c.infer->has(index), ErrorCode::invalid_argument, "input {} is omitted in this node", index);
    const OrtTypeInfo type = type_of(c.infer->type(index), c.infer->dims());
    require(type.tensor != nullptr, ErrorCode::invalid_argument, "input {} is not a tensor", index);
    c.infos.push_back(*type.tensor);
    *info = &c.infos.back();
  });
}

OrtStatusPtr ORT_API_CALL ShapeInferContext_GetAttribute(const OrtShapeInferContext* context, const char* attr_name,
                                                         const OrtOpAttr** attr) noexcept {
  return guard([&] {
    const auto& attributes = handle(context, "context").attributes;
    const auto found = attributes.find(need_text(attr_name, "attr_name"));
    need(attr, "attr");
    require(found != attributes.end(), ErrorCode::invalid_argument, "the node has no attribute '{}'", attr_name);
    *attr = &found->second;
  });
}

OrtStatusPtr ORT_API_CALL ShapeInferContext_SetOutputTypeShape(const OrtShapeInferContext* context, size_t index,
                                                               const OrtTensorTypeAndShapeInfo* info) noexcept {
  return guard([&] {
    const OrtShapeInferContext& c = handle(context, "context");
    const OrtTensorTypeAndShapeInfo& given = handle(info, "info");
    check_index(index, c.infer->output_count(), "output");
    if (!c.infer->wants(index)) return;
    if (!given.has_shape) return c.infer->set(index, from_onnx(given.type));
    Shape shape;
    for (size_t d = 0; d < given.dims.size(); ++d) {
      const std::string symbol = d < given.symbols.size() ? given.symbols[d] : "";
      shape.push_back(given.dims[d] >= 0 ? given.dims[d]
                      : !symbol.empty()  ? c.infer->dims().symbol(symbol)
                                         : c.infer->dims().fresh_extent());
    }
    c.infer->set(index, from_onnx(given.type), shape);
  });
}

}  // namespace retort::abi
