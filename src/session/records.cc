#include "session/records.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <utility>

#include "base/error.h"

namespace retort {
namespace {

// Milliseconds since 1970; another number in each call, so that no profile has the name of another one of this process.
int64_t unique_time() {
  static std::atomic<int64_t> last{0};
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  const int64_t now = std::chrono::duration_cast<std::chrono::milliseconds>(since_epoch).count();
  int64_t before = last.load(), time = 0;
  do {
    time = std::max(now, before + 1);
  } while (!last.compare_exchange_weak(before, time));
  return time;
}

std::string profile_path(const std::string& prefix) {
  char stamp[32];
  const int64_t time = unique_time();
  const std::time_t seconds = time / 1000;
  std::tm local{};
  localtime_r(&seconds, &local);
  std::strftime(stamp, sizeof stamp, "%Y-%m-%d_%H-%M-%S", &local);
  return cat("{}_{}_{:03}.json", prefix.empty() ? "onnxruntime_profile_" : prefix, static_cast<const char*>(stamp),
             time % 1000);
}

// A number makes the name unique: several runs may begin in the same second, also in different sessions.
std::string run_profile_path(const std::string& prefix) {
  static std::atomic<uint64_t> runs{0};
  return profile_path(cat("{}_{}", prefix, runs.fetch_add(1)));
}

}  // namespace

SessionRecords::SessionRecords(const SessionOptions& options, Providers providers,
                               const std::optional<Loading>& loading)
    : providers_(providers) {
  if (!options.profiling) return;
  profiler_ = loading ? std::make_unique<Profiler>(loading->begin) : std::make_unique<Profiler>();
  if (loading) profiler_->end({.begin = loading->begin}, loading->end, loading->event, "Session", {});
  follow(*profiler_);
  profile_path_ = profile_path(options.profile_prefix);
}

void SessionRecords::follow(Profiler& profiler) const {
  for (const auto& provider : providers_) profiler.listen(provider->make_listener());
}

std::string SessionRecords::end_profiling() {
  if (profile_path_.empty()) return {};
  profiler_->write(profile_path_);
  return std::exchange(profile_path_, {});
}

void SessionRecords::write_copies(const SessionOptions& options) const {
  const std::string& path = options.config_entry("session.copy_ledger_file");
  if (!path.empty()) ledger_.write(path);
}

RunRecord::RunRecord(SessionRecords& session, const RunOptions* options)
    : session_(session), options_(options), profiler_(session.profiler()) {
  if (!options) return;
  copies_file_ = options->config_entry("copy_ledger_file");
  if (!copies_file_.empty()) own_ledger_.emplace(&session.ledger());
  if (!options->profiling) return;
  profiler_ = &own_profiler_.emplace();
  session.follow(*profiler_);
}

void RunRecord::begin() {
  if (profiler_) span_ = profiler_->begin();
}

void RunRecord::end() {
  if (own_ledger_) own_ledger_->write(std::string(copies_file_));
  if (!profiler_) return;
  profiler_->end(span_, "model_run", "Session");
  if (own_profiler_) own_profiler_->write(run_profile_path(options_->profile_prefix));
}

}  // namespace retort
