#include "abi/sessions/threads.h"

#include "abi/sessions/environment.h"
#include "abi/slots.h"

namespace retort::abi {

ThreadSettings::Create CustomThreads::hook() const {
  if (!create) return {};
  require(join, ErrorCode::fail, "a function that creates threads needs one that joins them");
  return [*this](std::function<void()> body) -> std::function<void()> {
    // The thread owns its body: it may start after this function has returned.
    auto* owned = new std::function<void()>(std::move(body));
    const OrtThreadWorkerFn run = [](void* p) {
      const std::unique_ptr<std::function<void()>> body(static_cast<std::function<void()>*>(p));
      (*body)();
    };
    const OrtCustomThreadHandle thread = create(options, run, owned);
    if (!thread) {
      delete owned;
      fail(ErrorCode::fail, "the custom function made no thread");
    }
    return [join = join, thread] { join(thread); };
  };
}

OrtStatusPtr ORT_API_CALL SetPerSessionThreadPoolCallbacks(OrtEnv* env,
                                                           const OrtThreadPoolCallbacksConfig* config) noexcept {
  return guard([&] {
    OrtEnv& e = handle(env, "env");
    const OrtThreadPoolCallbacksConfig& c = need(config, "config");
    require(c.version > 0 && c.version <= ORT_API_VERSION, ErrorCode::invalid_argument,
            "the version of the callbacks is {}; set it to ORT_API_VERSION ({})", c.version, ORT_API_VERSION);
    const std::lock_guard lock(e.hooks_mutex);
    e.hooks = {c.on_enqueue, c.on_start_work, c.on_stop_work, c.on_abandon, c.user_context};
  });
}

OrtStatusPtr ORT_API_CALL CreateThreadingOptions(OrtThreadingOptions** out) noexcept {
  return guard([&] { give(out, "out", std::make_unique<OrtThreadingOptions>()); });
}

void ORT_API_CALL ReleaseThreadingOptions(OrtThreadingOptions* input) noexcept { release(input); }

OrtStatusPtr ORT_API_CALL SetGlobalIntraOpNumThreads(OrtThreadingOptions* tp_options,
                                                     int intra_op_num_threads) noexcept {
  return guard([&] { handle(tp_options, "tp_options").settings.intra_threads = intra_op_num_threads; });
}

OrtStatusPtr ORT_API_CALL SetGlobalInterOpNumThreads(OrtThreadingOptions* tp_options,
                                                     int inter_op_num_threads) noexcept {
  return guard([&] { handle(tp_options, "tp_options").settings.inter_threads = inter_op_num_threads; });
}

OrtStatusPtr ORT_API_CALL SetGlobalSpinControl(OrtThreadingOptions* tp_options, int allow_spinning) noexcept {
  return guard([&] {
    require(allow_spinning == 0 || allow_spinning == 1, ErrorCode::invalid_argument, "allow_spinning {} is not 0 or 1",
            allow_spinning);
    handle(tp_options, "tp_options").settings.spin = allow_spinning == 1;
  });
}

OrtStatusPtr ORT_API_CALL SetGlobalDenormalAsZero(OrtThreadingOptions* tp_options) noexcept {
  return guard([&] { handle(tp_options, "tp_options").settings.denormal_as_zero = true; });
}

OrtStatusPtr ORT_API_CALL SetGlobalIntraOpThreadAffinity(OrtThreadingOptions* tp_options,
                                                         const char* affinity_string) noexcept {
  return guard([&] {
    constexpr size_t kLongest = 4096;
    const std::string text = need_text(affinity_string, "affinity_string");
    require(!text.empty() && text.size() <= kLongest, ErrorCode::invalid_argument,
            "the affinity has {} bytes, not 1 to {}", text.size(), kLongest);
    handle(tp_options, "tp_options").settings.affinity = text;
  });
}

OrtStatusPtr ORT_API_CALL SetGlobalCustomCreateThreadFn(OrtThreadingOptions* tp_options,
                                                        OrtCustomCreateThreadFn ort_custom_create_thread_fn) noexcept {
  return guard([&] { handle(tp_options, "tp_options").custom.create = ort_custom_create_thread_fn; });
}

OrtStatusPtr ORT_API_CALL SetGlobalCustomThreadCreationOptions(OrtThreadingOptions* tp_options,
                                                               void* ort_custom_thread_creation_options) noexcept {
  return guard([&] { handle(tp_options, "tp_options").custom.options = ort_custom_thread_creation_options; });
}

OrtStatusPtr ORT_API_CALL SetGlobalCustomJoinThreadFn(OrtThreadingOptions* tp_options,
                                                      OrtCustomJoinThreadFn ort_custom_join_thread_fn) noexcept {
  return guard([&] { handle(tp_options, "tp_options").custom.join = ort_custom_join_thread_fn; });
}

}  // namespace retort::abi
