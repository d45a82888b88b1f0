// Runs on other threads.
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include <pthread.h>

#include "drops.h"
#include "gil_lock.h"
#include "run.h"

namespace nb = nanobind;

namespace retort::python {
namespace {

// One run of run_async(), from the call until its callback is over.
struct AsyncRun {
  AsyncRun(nb::object self, nb::handle output_names, nb::handle feed, nb::object function, nb::object data,
           nb::object settings)
      : owner(std::move(self)),
        session(nb::cast<Session&>(owner)),
        inputs(session, feed, false),
        outputs(session, output_names),
        callback(std::move(function)),
        user_data(std::move(data)),
        options(std::move(settings)) {
    if (RunOptions* given = run_options_of(options)) {
      handle = given->get();
    } else {
      own = made<OrtRunOptions>(api().CreateRunOptions);
      handle = own.get();
    }
  }

  nb::object owner;
  Session& session;
  Inputs inputs;
  Outputs outputs;
  nb::object callback;
  nb::object user_data;
  nb::object options;
  Owned<OrtRunOptions> own;
  OrtRunOptions* handle = nullptr;
};

struct Registry {
  std::mutex mutex;
  std::condition_variable changed;
  std::set<AsyncRun*> runs;
  bool closed = false;
};

// Never destroyed: threads of the engine may outlive the interpreter. A forked child gets a new one, since the threads
// of its parent do not exist there, and the mutex may be locked.
Registry* registry = new Registry;

void add(AsyncRun* run) {
  static const int forked = pthread_atfork(nullptr, nullptr, [] { registry = new Registry; });
  (void)forked;
  const std::lock_guard lock(registry->mutex);
  if (registry->closed) {
    throw std::runtime_error("run_async(): the interpreter is shutting down");
  }
  registry->runs.insert(run);
}

void remove(AsyncRun* run) {
  Registry& r = *registry;
  const std::lock_guard lock(r.mutex);
  r.runs.erase(run);
  r.changed.notify_all();
}

// The last reference to a session must not be dropped on one of the session's own threads, which cannot wait for
// itself: then the main thread drops it.
void drop_on_main_thread(nb::object object) {
  if (Py_REFCNT(object.ptr()) > 1) {
    return;
  }
  const auto drop = [](void* p) {
    Py_DECREF(static_cast<PyObject*>(p));
    return 0;
  };
  PyObject* raw = object.release().ptr();
  if (Py_AddPendingCall(drop, raw) != 0) {
    Py_DECREF(raw);
  }
}

void report(AsyncRun& run, OrtStatus* status) {
  nb::object results = nb::list();
  nb::object error = nb::str("");
  try {
    if (status) {
      error = nb::str(api().GetErrorMessage(status));
    } else {
      results = run.outputs.objects();
    }
  } catch (const std::exception& problem) {
    error = nb::str(problem.what());
  }
  try {
    run.callback(results, run.user_data, error);
  } catch (nb::python_error& raised) {
    raised.discard_as_unraisable("the callback of run_async()");
  }
}

void finish(AsyncRun* run, OrtStatus* status) noexcept {
  {
    const WithGil gil;
    report(*run, status);
    api().ReleaseStatus(status);
    nb::object owner = run->owner;
    remove(run);
    delete run;
    drop_on_main_thread(std::move(owner));
  }
}

void on_finished(void* state, OrtValue**, size_t, OrtStatus* status) noexcept {
  finish(static_cast<AsyncRun*>(state), status);
}

void run_here(AsyncRun* run) noexcept {
  OrtStatus* status = api().Run(run->session.get(), run->handle, run->inputs.names(), run->inputs.values(),
                                run->inputs.size(), run->outputs.names(), run->outputs.size(), run->outputs.values());
  finish(run, status);
}

}  // namespace

void run_async(nb::object self, nb::handle output_names, nb::handle feed, nb::object callback, nb::object user_data,
               nb::object options) {
  if (!PyCallable_Check(callback.ptr())) {
    throw nb::type_error("run_async(): callback must be callable");
  }
  drop_waiting();
  auto run = std::make_unique<AsyncRun>(std::move(self), output_names, feed, std::move(callback), std::move(user_data),
                                        std::move(options));
  OrtSession* session = run->session.get();
  AsyncRun* state = run.get();
  add(state);
  OrtStatus* status =
      api().RunAsync(session, state->handle, state->inputs.names(), state->inputs.values(), state->inputs.size(),
                     state->outputs.names(), state->outputs.size(), state->outputs.values(), on_finished, state);
  if (!status) {
    (void)run.release();  // finish() deletes it
    return;
  }
  // A session without a second thread refuses. Then the run has a thread of its own, which reports what else is wrong.
  const OrtErrorCode code = api().GetErrorCode(status);
  if (code != ORT_INVALID_ARGUMENT) {
    remove(state);
    check(status);
  }
  api().ReleaseStatus(status);
  std::thread(run_here, run.release()).detach();
}

void end_async_runs() {
  const WithoutGil release;
  Registry& r = *registry;
  std::unique_lock lock(r.mutex);
  r.closed = true;
  for (AsyncRun* run : r.runs) {
    api().ReleaseStatus(api().RunOptionsSetTerminate(run->handle));
  }
  r.changed.wait(lock, [&] { return r.runs.empty(); });
}

}  // namespace retort::python
