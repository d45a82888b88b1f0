#include "base/profiler.h"

#include <unistd.h>

#include <cstdio>
#include <functional>
#include <thread>

#include "base/error.h"
#include "base/json.h"

namespace retort {
Profiler::Profiler()
    : start_ns_(uint64_t(
          std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
              .count())),
      start_(Clock::now()) {}

void Profiler::add(std::string name, std::string category, Clock::time_point begin, Clock::time_point end,
                   std::string args) {
  using ns = std::chrono::nanoseconds;
  Event e{std::move(name),
          std::move(category),
          std::move(args),
          uint64_t(std::chrono::duration_cast<ns>(begin - start_).count()),
          uint64_t(std::chrono::duration_cast<ns>(end - begin).count()),
          std::hash<std::thread::id>{}(std::this_thread::get_id()) % 100000};
  const std::lock_guard lock(mutex_);
  events_.push_back(std::move(e));
}

void Profiler::write(const std::string& path) const {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (!file) fail(ErrorCode::fail, "cannot write the profile '{}'", path);
  const std::lock_guard lock(mutex_);
  std::fputs("[\n", file);
  for (size_t i = 0; i < events_.size(); ++i) {
    const Event& e = events_[i];
    const std::string line =
        cat("{{\"cat\":\"{}\",\"pid\":{},\"tid\":{},\"dur\":{},\"ts\":{},\"ph\":\"X\",\"name\":{},\"args\":{}}}{}\n",
            e.category, getpid(), e.thread, double(e.duration_ns) / 1e3, double(e.start_ns) / 1e3,
            JsonWriter::quoted(e.name), e.args.empty() ? "{}" : e.args, i + 1 < events_.size() ? "," : "");
    std::fputs(line.c_str(), file);
  }
  std::fputs("]\n", file);
  std::fclose(file);
}

}  // namespace retort
