#include "base/log.h"

#include <cstdio>

namespace retort {
namespace {

void to_stderr(LogLevel level, std::string_view id, std::string_view message) {
  static constexpr char kLetters[] = "VIWEF";
  const std::string line = cat("[retort:{}{}{}] {}\n", kLetters[int(level)], id.empty() ? "" : " ", id, message);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace

Logger::Logger(LogLevel level, std::string id, Sink sink) : level_(level), id_(std::move(id)), sink_(std::move(sink)) {}

void Logger::write(LogLevel level, std::string_view message, std::string_view where) const {
  if (!wants(level)) return;
  if (sink_) {
    sink_(level, "retort", id_, where, message);
  } else {
    to_stderr(level, id_, message);
  }
}

}  // namespace retort
