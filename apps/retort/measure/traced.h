// A session whose engine writes down what its runs take.
#pragma once
#include <memory>

#include "engine/engine.h"
#include "measure/trace.h"

namespace retort::cli {

/// The profile lies in a temporary folder that goes with the object.
class TracedSession {
 public:
  TracedSession(const EngineLibrary& engine, const std::string& model, SessionSettings settings);
  const EngineSession& session() const { return *session_; }
  /// `inputs` must outlive the object.
  void bind(HostValues& inputs);
  void run();
  /// All runs so far; none may follow.
  std::vector<TracedRun> runs();

 private:
  struct Folder {
    std::string path;
    Folder();
    Folder(const Folder&) = delete;
    ~Folder();
  };
  Folder folder_;  ///< first: the session writes into it until it ends
  std::unique_ptr<EngineSession> session_;
  std::unique_ptr<BoundRun> bound_;
  bool ran_ = false;
};

}  // namespace retort::cli
