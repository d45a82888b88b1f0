// What the runs of a session record: profiles, and the copies that the engine made. Reads options and asks providers for
// listeners; writes files.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/log.h"
#include "base/profiler.h"
#include "ep/provider.h"
#include "memory/copy_ledger.h"
#include "session/model_source.h"
#include "session/options.h"

namespace retort {

using Providers = std::span<const std::shared_ptr<Provider>>;

/// The profile of a session and its ledger of copies. Thread-safe, but for end_profiling(), which one thread calls at a time.
class SessionRecords {
 public:
  /// Starts the profile if the options ask for one; it begins with `loading`, if the model was read. `providers` must
  /// outlive it.
  SessionRecords(const SessionOptions& options, Providers providers, const std::optional<Loading>& loading = {});
  SessionRecords(const SessionRecords&) = delete;

  CopyLedger& ledger() { return ledger_; }
  /// Null: the session is not profiled.
  Profiler* profiler() { return profiler_.get(); }
  /// The providers write to this profile, too, from now on.
  void follow(Profiler& profiler) const;
  /// Writes the profile and returns its path; "" if profiling was off or has ended. Throws fail if the file cannot be written.
  std::string end_profiling();
  /// Writes the ledger to the file that session.copy_ledger_file names, if it names one. Throws fail if that is impossible.
  void write_copies(const SessionOptions& options) const;

 private:
  const Providers providers_;
  std::unique_ptr<Profiler> profiler_;
  std::string profile_path_;  ///< empty: there is no profile, or it was written
  CopyLedger ledger_;
};

/// What one run records: in the profile and the ledger of the session, or in its own if its options ask for that. Belongs to
/// one thread.
class RunRecord {
 public:
  /// `options` may be null. Both must outlive it.
  RunRecord(SessionRecords& session, const RunOptions* options);
  RunRecord(const RunRecord&) = delete;

  Profiler* profiler() { return profiler_; }
  CopyLedger& ledger() { return own_ledger_ ? *own_ledger_ : session_.ledger(); }
  /// The run starts now: its span in the profile begins.
  void begin();
  /// The run has succeeded: writes its own files, if it has any. Throws fail if one cannot be written.
  void end();

 private:
  SessionRecords& session_;
  const RunOptions* options_;
  std::string_view copies_file_;          ///< empty: the run has no ledger of its own
  std::optional<CopyLedger> own_ledger_;  ///< adds to that of the session
  std::optional<Profiler> own_profiler_;
  Profiler* profiler_;  ///< null: nobody profiles the run
  Profiler::Span span_;
};

}  // namespace retort
