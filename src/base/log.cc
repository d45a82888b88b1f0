#include "base/log.h"

#include <cstdio>

namespace retort {
namespace {

/// Names come from models and programs: characters that a terminal acts upon become \x1b and the like.
std::string shown(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = uint8_t(text[i]), next = uint8_t(i + 1 < text.size() ? text[i + 1] : 0);
    const bool acts = (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f;
    const bool begins_control = byte == 0xc2 && next >= 0x80 && next < 0xa0;  // U+0080 to U+009F
    if (acts || begins_control)
      out += cat("\\x{:02x}", begins_control ? next : byte);
    else
      out += text[i];
    i += begins_control;
  }
  return out;
}

void to_stderr(LogLevel level, std::string_view id, std::string_view message) {
  static constexpr char kLetters[] = "VIWEF";
  const std::string line = cat("[retort:{}{}{}] {}\n", kLetters[int(level)], id.empty() ? "" : " ", id, shown(message));
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
