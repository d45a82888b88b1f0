#include "base/profiler.h"

#include <unistd.h>

#include <cstdio>
#include <functional>
#include <iterator>
#include <thread>

#include "base/error.h"
#include "base/json.h"

namespace retort {
namespace {

int64_t nanoseconds(Profiler::Clock::duration time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
}

std::string event_line(const ProfileEvent& e) {
  std::string text;
  for (const ProfileEvent::Argument& a : e.arguments) {
    text += cat("{}{}:{}", text.empty() ? "" : ",", JsonWriter::quoted(a.key),
                a.is_number ? a.value : JsonWriter::quoted(a.value));
  }
  return cat("{{\"cat\":\"{}\",\"pid\":{},\"tid\":{},\"dur\":{},\"ts\":{},\"ph\":\"X\",\"name\":{},\"args\":{{{}}}}}",
             e.category, e.process, e.thread, double(e.duration_ns) / 1e3, double(e.start_ns) / 1e3,
             JsonWriter::quoted(e.name), text);
}

}  // namespace

Profiler::Profiler()
    : start_ns_(uint64_t(
          std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
              .count())),
      start_(Clock::now()) {}

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

void Profiler::end(const Span& span, std::string name, std::string category,
                   std::vector<ProfileEvent::Argument> arguments) {
  const Clock::time_point now = Clock::now();
  if (ended_) return;
  ProfileEvent e{.name = std::move(name),
                 .category = std::move(category),
                 .arguments = std::move(arguments),
                 .start_ns = nanoseconds(span.begin - start_),
                 .duration_ns = nanoseconds(now - span.begin),
                 .process = getpid(),
                 .thread = int64_t(std::hash<std::thread::id>{}(std::this_thread::get_id()) % 100000)};
  if (span.id) {
    for (const auto& listener : listeners_) listener->event_ends(span.id, e);
  }
  const std::lock_guard lock(mutex_);
  events_.push_back(std::move(e));
}

void Profiler::write(const std::string& path) {
  ended_ = true;
  std::vector<ProfileEvent> added;
  for (const auto& listener : listeners_) {
    for (ProfileEvent& e : listener->profile_ends()) added.push_back(std::move(e));
  }
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (!file) fail(ErrorCode::fail, "cannot write the profile '{}'", path);
  const std::lock_guard lock(mutex_);
  std::move(added.begin(), added.end(), std::back_inserter(events_));
  std::fputs("[\n", file);
  for (size_t i = 0; i < events_.size(); ++i) {
    std::fputs(event_line(events_[i]).c_str(), file);
    std::fputs(i + 1 < events_.size() ? ",\n" : "\n", file);
  }
  std::fputs("]\n", file);
  std::fclose(file);
}

}  // namespace retort
