#include "abi/sessions/lora.h"

#include "abi/sessions/options.h"
#include "abi/slots.h"
#include "abi/values/allocators.h"

namespace retort::abi {
namespace {

// The build has no device whose memory parameters could be copied to before a run.
void refuse_allocator(const OrtAllocator* allocator) {
  require(!allocator, ErrorCode::fail,
          "the allocator must be that of a device, and this build has none; give null: parameters stay in host memory");
}

}  // namespace

void add_adapters(const Session& session, std::span<const OrtLoraAdapter* const> adapters, bool replace,
                  std::span<const Value*> inputs) {
  std::vector<char> given(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) given[i] = !replace && inputs[i];
  for (const OrtLoraAdapter* adapter : adapters) {
    for (const Adapter::Parameter& p : handle(adapter, "adapter").adapter.parameters) {
      const int index = session.input_index(p.name);
      if (index < 0)
        throw Error(ErrorCode::invalid_argument, cat("an active adapter: {}", session.ports().no_input(p.name)));
      if (given[size_t(index)]) continue;
      session.check_input(size_t(index), p.value);
      inputs[size_t(index)] = &p.value;
    }
  }
}

OrtStatusPtr ORT_API_CALL CreateLoraAdapter(const char* adapter_file_path, OrtAllocator* allocator,
                                            OrtLoraAdapter** out) noexcept {
  return guard([&] {
    const std::string path = need_text(adapter_file_path, "adapter_file_path");
    need(out, "out");
    refuse_allocator(allocator);
    auto made = std::make_unique<OrtLoraAdapter>();
    made->adapter = read_adapter(path);
    give(out, "out", std::move(made));
  });
}

OrtStatusPtr ORT_API_CALL CreateLoraAdapterFromArray(const void* bytes, size_t num_bytes, OrtAllocator* allocator,
                                                     OrtLoraAdapter** out) noexcept {
  return guard([&] {
    const auto* data = static_cast<const std::byte*>(bytes);
    need(data, "bytes");
    need(out, "out");
    refuse_allocator(allocator);
    auto made = std::make_unique<OrtLoraAdapter>();
    made->adapter = read_adapter({data, num_bytes});
    give(out, "out", std::move(made));
  });
}

void ORT_API_CALL ReleaseLoraAdapter(OrtLoraAdapter* input) noexcept { release(input); }

OrtStatusPtr ORT_API_CALL RunOptionsAddActiveLoraAdapter(OrtRunOptions* options,
                                                         const OrtLoraAdapter* adapter) noexcept {
  return guard([&] {
    handle(adapter, "adapter");
    handle(options, "options").adapters.push_back(adapter);
  });
}

}  // namespace retort::abi
