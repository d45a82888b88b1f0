// Runs with inputs and outputs by name.
#include "abi/sessions/lora.h"
#include "abi/sessions/session.h"
#include "abi/slots.h"
#include "abi/values/value.h"
#include "base/short_list.h"

namespace retort::abi {
namespace {

const OrtRunOptions* checked(const OrtRunOptions* options) {
  return options ? &handle(options, "run_options") : nullptr;
}

const char* need_name(const char* const* names, size_t i, const char* what) {
  const char* name = names[i];
  require(name && *name, ErrorCode::invalid_argument, "the name of {} {} is empty; name it", what, i);
  return name;
}

/// The arguments of Run and RunAsync.
struct Call {
  const char* const* input_names;
  const OrtValue* const* inputs;
  size_t input_count;
  const char* const* output_names;
  size_t output_count;
};

/// `values` by input of the model.
void find_inputs(const Session& session, const Call& call, std::span<const Value*> values) {
  if (call.input_count) {
    need(call.input_names, "input_names");
    need(call.inputs, "inputs");
  }
  for (size_t i = 0; i < call.input_count; ++i) {
    const char* name = need_name(call.input_names, i, "input");
    const int index = session.input_index(name);
    if (index < 0) throw Error(ErrorCode::invalid_argument, session.ports().no_input(name));
    if (!call.inputs[i]) fail(ErrorCode::invalid_argument, "the value of input '{}' is null; give a value", name);
    const Value& value = handle(call.inputs[i], "inputs").value;
    session.check_input(size_t(index), value);
    values[size_t(index)] = &value;
  }
}

/// Writes results to the caller's values, or makes new ones; an output that is requested twice is computed once.
void run(Session& session, const OrtRunOptions* options, const Call& call, OrtValue** outputs) {
  ShortList<const Value*> inputs(session.ports().input_count());
  find_inputs(session, call, inputs);
  if (options) add_adapters(session, options->adapters, true, inputs);
  require(call.output_count > 0, ErrorCode::invalid_argument, "no output is requested; name at least one");
  need(call.output_names, "output_names");
  need(outputs, "outputs");
  ShortList<Value*> wanted(session.outputs().size());
  ShortList<std::unique_ptr<OrtValue>> made(call.output_count);
  ShortList<size_t> index(call.output_count);
  for (size_t i = 0; i < call.output_count; ++i) {
    const char* name = need_name(call.output_names, i, "output");
    const int at = session.ports().output_index(name);
    if (at < 0) throw Error(ErrorCode::invalid_argument, session.ports().no_output(name));
    index[i] = size_t(at);
    if (!outputs[i]) made[i] = std::make_unique<OrtValue>();
    Value& value = outputs[i] ? handle(outputs[i], "outputs").value : made[i]->value;
    require(!wanted[index[i]] || made[i], ErrorCode::invalid_argument,
            "output '{}' would be written to two values; give one value", name);
    if (!wanted[index[i]]) wanted[index[i]] = &value;
  }
  session.run({inputs.data(), inputs.size()}, {wanted.data(), wanted.size()}, {},
              options ? &options->options : nullptr);
  for (size_t i = 0; i < call.output_count; ++i) {
    if (!made[i]) continue;
    if (wanted[index[i]] != &made[i]->value) made[i]->value = *wanted[index[i]];
    outputs[i] = made[i].release();
  }
}

}  // namespace

// In a forked child, the parent's threads do not exist, and the queue may be in any state.
void AsyncRuns::leave_parent() {
  if (process_ == getpid()) return;
  process_ = getpid();
  for (std::thread& thread : threads_) thread.detach();
  threads_.clear();
  // Never destroyed: threads of the parent wait on it.
  new std::shared_ptr<Queue>(std::exchange(queue_, std::make_shared<Queue>()));
}

AsyncRuns::~AsyncRuns() {
  leave_parent();
  {
    const std::lock_guard lock(queue_->mutex);
    queue_->closing = true;
  }
  queue_->changed.notify_all();
  for (std::thread& thread : threads_) {
    // A callback may release the session: its thread cannot wait for itself.
    thread.get_id() == std::this_thread::get_id() ? thread.detach() : thread.join();
  }
}

void AsyncRuns::start(std::function<void()> run) {
  leave_parent();
  const std::lock_guard lock(queue_->mutex);
  queue_->waiting.push_back(std::move(run));
  if (queue_->waiting.size() > queue_->idle && threads_.size() < limit_) threads_.emplace_back(work, queue_);
  queue_->changed.notify_one();
}

void AsyncRuns::work(const std::shared_ptr<Queue>& queue) {
  std::unique_lock lock(queue->mutex);
  while (true) {
    ++queue->idle;
    queue->changed.wait(lock, [&] { return queue->closing || !queue->waiting.empty(); });
    --queue->idle;
    if (queue->waiting.empty()) return;
    const std::function<void()> run = std::move(queue->waiting.front());
    queue->waiting.pop_front();
    lock.unlock();
    run();
    lock.lock();
  }
}

OrtStatusPtr ORT_API_CALL Run(OrtSession* session, const OrtRunOptions* options, const char* const* input_names,
                              const OrtValue* const* inputs, size_t input_len, const char* const* output_names,
                              size_t output_names_len, OrtValue** outputs) noexcept {
  return guard([&] {
    Session& s = *session_of(session);
    run(s, checked(options), {input_names, inputs, input_len, output_names, output_names_len}, outputs);
  });
}

OrtStatusPtr ORT_API_CALL RunAsync(OrtSession* session, const OrtRunOptions* options, const char* const* input_names,
                                   const OrtValue* const* input, size_t input_len, const char* const* output_names,
                                   size_t output_names_len, OrtValue** output, RunAsyncCallbackFn run_async_callback,
                                   void* user_data) noexcept {
  return guard([&] {
    OrtSession& s = handle(session, "session");
    need(run_async_callback, "run_async_callback");
    const OrtRunOptions* settings = checked(options);
    require(s.async != nullptr, ErrorCode::invalid_argument,
            "the session has one thread, and an asynchronous run needs another; set at least 2 intra-op threads");
    const Call call{input_names, input, input_len, output_names, output_names_len};
    s.async->start([engine = s.session, settings, call, output, run_async_callback, user_data] {
      const OrtStatusPtr status = guard([&] { run(*engine, settings, call, output); });
      run_async_callback(user_data, output, status ? 0 : call.output_count, status);
    });
  });
}

}  // namespace retort::abi
