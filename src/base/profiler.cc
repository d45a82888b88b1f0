#include "base/profiler.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <iterator>

#include "base/error.h"
#include "base/json.h"
#include "base/text_file.h"

namespace retort {
namespace {

int64_t nanoseconds(Profiler::Clock::duration time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
}

// Times are whole microseconds, as in profiles of ONNX Runtime. Events that lie within each other still do so when they are
// rounded.
std::string event_line(const ProfileEvent& e) {
  std::string text;
  for (const ProfileEvent::Argument& a : e.arguments)
    text += cat("{}{}:{}", text.empty() ? "" : ",", JsonWriter::quoted(a.key),
                a.is_json ? a.value : JsonWriter::quoted(a.value));
  const int64_t start = e.start_ns / 1000, end = (e.start_ns + e.duration_ns) / 1000;
  return cat("{{\"cat\":\"{}\",\"pid\":{},\"tid\":{},\"dur\":{},\"ts\":{},\"ph\":\"X\",\"name\":{},\"args\":{{{}}}}}",
             e.category, e.process, e.thread, end - start, start, JsonWriter::quoted(e.name), text);
}

}  // namespace

Profiler::Profiler(Clock::time_point start)
    : start_ns_(uint64_t(nanoseconds(std::chrono::system_clock::now().time_since_epoch() - (Clock::now() - start)))),
      start_(start) {}

void Profiler::listen(std::unique_ptr<ProfileListener> listener) {
  if (!listener) return;
  listener->profile_begins(nanoseconds(Clock::now() - start_));
  listeners_.push_back(std::move(listener));
}

Profiler::Span Profiler::begin() {
  Span span;
  if (!listeners_.empty() && !ended_) {
    span.id = ++last_id_;
    for (const auto& listener : listeners_) listener->event_begins(span.id);
  }
  span.begin = Clock::now();
  return span;
}

int64_t Profiler::this_thread() {
  static thread_local const int64_t number = syscall(SYS_gettid);
  return number;
}

void Profiler::end(const Span& span, Clock::time_point now, std::string name, std::string category,
                   std::vector<ProfileEvent::Argument> arguments) {
  if (ended_) return;
  ProfileEvent e{.name = std::move(name),
                 .category = std::move(category),
                 .arguments = std::move(arguments),
                 .start_ns = nanoseconds(span.begin - start_),
                 .duration_ns = nanoseconds(now - span.begin),
                 .process = getpid(),
                 .thread = this_thread()};
  if (span.id) {
    for (const auto& listener : listeners_) listener->event_ends(span.id, e);
  }
  // The exact times, for readers to which a microsecond is much.
  e.arguments.push_back({"start_ns", cat("{}", e.start_ns), true});
  e.arguments.push_back({"duration_ns", cat("{}", e.duration_ns), true});
  const std::lock_guard lock(mutex_);
  events_.push_back(std::move(e));
}

void Profiler::write(const std::string& path) {
  ended_ = true;
  std::vector<ProfileEvent> added;
  for (const auto& listener : listeners_) {
    for (ProfileEvent& e : listener->profile_ends()) added.push_back(std::move(e));
  }
  TextFile file(path, "the profile");
  const std::lock_guard lock(mutex_);
  std::move(added.begin(), added.end(), std::back_inserter(events_));
  file.put("[\n");
  for (size_t i = 0; i < events_.size(); ++i) {
    file.put(event_line(events_[i]));
    file.put(i + 1 < events_.size() ? ",\n" : "\n");
  }
  file.put("]\n");
  file.finish();
}

}  // namespace retort
