// Sessions and bindings behind their handles.
#pragma once
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "abi/devices/devices.h"
#include "abi/handle.h"
#include "abi/host/shared_weights.h"
#include "abi/sessions/options.h"
#include "abi/values/type_info.h"
#include "session/binding.h"
#include "session/session.h"

namespace retort::abi {

/// Threads for runs that no thread waits for: started on demand, as many as the session's pool has. Thread-safe. The
/// destructor waits for all runs, except if one of these runs calls it. A forked child starts with an empty queue: the
/// parent's runs are done in the parent only.
class AsyncRuns {
 public:
  explicit AsyncRuns(size_t threads) : limit_(threads) {}
  ~AsyncRuns();
  AsyncRuns(const AsyncRuns&) = delete;
  void start(std::function<void()> run);

 private:
  /// Also owned by the threads: one that destroys the AsyncRuns returns to it.
  struct Queue {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::function<void()>> waiting;
    size_t idle = 0;
    bool closing = false;
  };
  static void work(const std::shared_ptr<Queue>& queue);
  void leave_parent();
  const size_t limit_;
  pid_t process_ = getpid();  ///< the process that the threads belong to
  std::shared_ptr<Queue> queue_ = std::make_shared<Queue>();
  std::vector<std::thread> threads_;
};

}  // namespace retort::abi

namespace retort::abi {

/// The model of a session that can still be extended.
struct Draft {
  std::shared_ptr<Environment> environment;
  SessionOptions options;
  std::shared_ptr<Model> model;
  ModelInterface shown;
};

}  // namespace retort::abi

struct OrtEpAssignedNode : retort::abi::Handle<retort::abi::tag_of("epan")> {
  retort::AssignedNode node;
};

/// Nodes that one provider runs together.
struct OrtEpAssignedSubgraph : retort::abi::Handle<retort::abi::tag_of("epas")> {
  std::string provider;
  std::vector<std::unique_ptr<OrtEpAssignedNode>> nodes;
  std::vector<const OrtEpAssignedNode*> list;
};

struct OrtSession : retort::abi::Handle<retort::abi::tag_of("sess")> {
  std::shared_ptr<retort::Session> session;       ///< null while there is a draft
  std::unique_ptr<retort::abi::AsyncRuns> async;  ///< null: the session has one thread
  std::unique_ptr<retort::abi::Draft> draft;
  std::map<std::string, int> opsets;  ///< that the model imports
  /// Which provider runs which nodes, if this is recorded.
  std::vector<std::unique_ptr<OrtEpAssignedSubgraph>> assigned;
  std::vector<const OrtEpAssignedSubgraph*> assigned_list;
  std::shared_ptr<retort::abi::EpDevices> ep_devices;  ///< of the environment, which the session may outlive
  std::vector<const OrtEpDevice*> devices;             ///< used by the session, without the CPU
  /// The first device of a provider that the session uses.
  const OrtEpDevice& device_of(std::string_view provider) const;
};

struct OrtIoBinding : retort::abi::Handle<retort::abi::tag_of("bind")> {
  explicit OrtIoBinding(std::shared_ptr<retort::Session> session) : binding(std::move(session)) {}
  retort::Binding binding;
};

struct OrtModelMetadata : retort::abi::Handle<retort::abi::tag_of("meta")> {
  retort::ModelInfo info;
};

/// The process's sessions share weights of the CPU anyway, so this only holds those of plug-ins.
struct OrtPrepackedWeightsContainer : retort::abi::Handle<retort::abi::tag_of("pack")> {
  const std::shared_ptr<retort::abi::PackedWeights> weights = std::make_shared<retort::abi::PackedWeights>();
};

namespace retort::abi {

/// The session behind the handle; throws `fail` if it can still be extended.
const std::shared_ptr<Session>& session_of(const OrtSession* session);
/// The model's inputs and outputs, also before the session is finished.
const std::vector<Port>& inputs_of(const OrtSession* session);
const std::vector<Port>& outputs_of(const OrtSession* session);
const ModelInfo& info_of(const OrtSession* session);
/// The memory that an input is read in (the first of several), and the memory that an output is made in.
MemorySpace input_space_of(const OrtSession& session, size_t index);
MemorySpace output_space_of(const OrtSession& session, size_t index);

/// Makes an engine's session from prepared options.
using Load = FunctionRef<std::shared_ptr<Session>(const std::shared_ptr<Environment>&, const SessionOptions&)>;
/// Records which provider runs which nodes, if the engine recorded the nodes.
void record_assignment(OrtSession& session, const Session& made);
/// A path that a caller gave; throws invalid_argument if it is a folder.
std::string model_file(const char* model_path);
/// A handle without a session behind it.
std::unique_ptr<OrtSession> new_session(const OrtEnv& env);
/// Converts the options to the engine's and makes the checks that every way to create a session needs.
SessionOptions opening_options(const OrtEnv* env, const OrtSessionOptions* options);
/// Creates the session behind a handle. `options`: those of the caller that adds providers, or null; `container`: of
/// shared weights, or null.
void finish_session(OrtSession& session, const std::shared_ptr<Environment>& environment, SessionOptions settings,
                    const OrtSessionOptions* options, const OrtPrepackedWeightsContainer* container, Load load);

/// The engine's options: a copy, with the caller's threads. Null: the defaults.
SessionOptions session_options(const OrtSessionOptions* options);
/// The type of an input or output, for the C interface.
OrtTypeInfo type_of(const ValueType& type, const DimTable& dims);

}  // namespace retort::abi
