// I/O binding.

#include "abi/sessions/lora.h"
#include "abi/sessions/session.h"
#include "abi/slots.h"
#include "abi/values/allocators.h"
#include "abi/values/value.h"
#include "base/short_list.h"

namespace retort::abi {
namespace {
Binding& of(OrtIoBinding* binding) { return handle(binding, "binding_ptr").binding; }
const Binding& of(const OrtIoBinding* binding) { return handle(binding, "binding_ptr").binding; }
}  // namespace

OrtStatusPtr ORT_API_CALL CreateIoBinding(OrtSession* session, OrtIoBinding** out) noexcept {
  return guard([&] { give(out, "out", std::make_unique<OrtIoBinding>(session_of(session))); });
}

void ORT_API_CALL ReleaseIoBinding(OrtIoBinding* input) noexcept { release(input); }

OrtStatusPtr ORT_API_CALL BindInput(OrtIoBinding* binding_ptr, const char* name, const OrtValue* val_ptr) noexcept {
  return guard([&] { of(binding_ptr).bind_input(need_text(name, "name"), handle(val_ptr, "val_ptr").value); });
}

OrtStatusPtr ORT_API_CALL BindOutput(OrtIoBinding* binding_ptr, const char* name, const OrtValue* val_ptr) noexcept {
  return guard([&] { of(binding_ptr).bind_output(need_text(name, "name"), handle(val_ptr, "val_ptr").value); });
}

OrtStatusPtr ORT_API_CALL BindOutputToDevice(OrtIoBinding* binding_ptr, const char* name,
                                             const OrtMemoryInfo* mem_info_ptr) noexcept {
  return guard([&] {
    const MemorySpace& space = handle(mem_info_ptr, "mem_info_ptr").space;
    of(binding_ptr).bind_output(need_text(name, "name"), space);
  });
}

void ORT_API_CALL ClearBoundInputs(OrtIoBinding* binding_ptr) noexcept {
  ReleaseStatus(guard([&] { of(binding_ptr).clear_inputs(); }));
}

void ORT_API_CALL ClearBoundOutputs(OrtIoBinding* binding_ptr) noexcept {
  ReleaseStatus(guard([&] { of(binding_ptr).clear_outputs(); }));
}

// BindInput has already copied inputs to where they are read, and host memory needs no synchronization.
OrtStatusPtr ORT_API_CALL SynchronizeBoundInputs(OrtIoBinding* binding_ptr) noexcept {
  return guard([&] { of(binding_ptr); });
}
OrtStatusPtr ORT_API_CALL SynchronizeBoundOutputs(OrtIoBinding* binding_ptr) noexcept {
  return guard([&] { of(binding_ptr).session().synchronize(); });
}

OrtStatusPtr ORT_API_CALL RunWithBinding(OrtSession* session, const OrtRunOptions* run_options,
                                         const OrtIoBinding* binding_ptr) noexcept {
  return guard([&] {
    const OrtSession& s = handle(session, "session");
    // A run fills the binding's outputs, although the interface declares it const.
    Binding& binding = of(const_cast<OrtIoBinding*>(binding_ptr));
    require(&binding.session() == s.session.get(), ErrorCode::invalid_argument,
            "the binding was made for another session; make one for this session");
    if (!run_options) return binding.run(nullptr);
    const OrtRunOptions& options = handle(run_options, "run_options");
    Binding::MoreInputs more;
    if (!options.adapters.empty()) {
      more = [&](const Session& of, std::span<const Value*> inputs) {
        add_adapters(of, options.adapters, false, inputs);
      };
    }
    binding.run(&options.options, more);
  });
}

OrtStatusPtr ORT_API_CALL GetBoundOutputNames(const OrtIoBinding* binding_ptr, OrtAllocator* allocator, char** buffer,
                                              size_t** lengths, size_t* count) noexcept {
  return guard([&] {
    const Binding& binding = of(binding_ptr);
    OrtAllocator& a = need(allocator, "allocator");
    need(buffer, "buffer");
    need(lengths, "lengths");
    need(count, "count");
    const size_t n = binding.output_count();
    std::string all;
    for (size_t i = 0; i < n; ++i) all += binding.output_name(i);
    auto text = held(a, n ? allocate_text(a, all) : nullptr);
    auto* sizes = n ? static_cast<size_t*>(allocate(a, n * sizeof(size_t))) : nullptr;
    for (size_t i = 0; i < n; ++i) sizes[i] = binding.output_name(i).size();
    *buffer = text.release();
    *lengths = sizes;
    *count = n;
  });
}

OrtStatusPtr ORT_API_CALL GetBoundOutputValues(const OrtIoBinding* binding_ptr, OrtAllocator* allocator,
                                               OrtValue*** output, size_t* output_count) noexcept {
  return guard([&] {
    const Binding& binding = of(binding_ptr);
    OrtAllocator& a = need(allocator, "allocator");
    need(output, "output");
    need(output_count, "output_count");
    const size_t n = binding.output_count();
    ShortList<std::unique_ptr<OrtValue>> values(n);
    for (size_t i = 0; i < n; ++i) values[i] = std::make_unique<OrtValue>(binding.output_value(i));
    auto** array = n ? static_cast<OrtValue**>(allocate(a, n * sizeof(OrtValue*))) : nullptr;
    for (size_t i = 0; i < n; ++i) array[i] = values[i].release();
    *output = array;
    *output_count = n;
  });
}

}  // namespace retort::abi
