#include "measure/traced.h"

#include <filesystem>

namespace retort::cli {

TracedSession::Folder::Folder() {
  std::error_code error;
  path = (std::filesystem::temp_directory_path(error) / "retort-profile-XXXXXX").string();
  if (error || !mkdtemp(path.data()))
    throw Failure("cannot make a temporary folder; set TMPDIR to a folder that can be written");
}

TracedSession::Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

TracedSession::TracedSession(const EngineLibrary& engine, const std::string& model, SessionSettings settings) {
  settings.profile = folder_.path + "/trace";
  session_ = std::make_unique<EngineSession>(engine, model, settings);
}

void TracedSession::bind(HostValues& inputs) { bound_ = std::make_unique<BoundRun>(*session_, inputs); }

void TracedSession::run() {
  bound_->run();
  if (!ran_) bound_->keep_outputs();
  ran_ = true;
}

std::vector<TracedRun> TracedSession::runs() { return read_trace(session_->end_profiling()); }

}  // namespace retort::cli
