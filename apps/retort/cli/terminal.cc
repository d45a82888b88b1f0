#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace retort::cli {
namespace {

/// A terminal that understands neither colours nor how to clear a line.
bool dumb() {
  const char* kind = std::getenv("TERM");
  return kind && std::string(kind) == "dumb";
}

bool coloured() {
  const char* off = std::getenv("NO_COLOR");
  static const bool yes = isatty(STDOUT_FILENO) && !(off && *off) && !dumb();
  return yes;
}

}  // namespace

std::string paint(Paint colour, const std::string& text) {
  if (!coloured()) return text;
  constexpr const char* kCodes[] = {"1", "2", "31", "32", "33"};
  return std::string("\033[") + kCodes[int(colour)] + "m" + text + "\033[0m";
}

size_t terminal_width() {
  const char* given = std::getenv("COLUMNS");
  const long wanted = given ? std::strtol(given, nullptr, 10) : 0;
  winsize size = {};
  if (wanted > 0) return size_t(std::clamp(wanted, 30L, 1000L));
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return std::max<size_t>(size.ws_col, 30);
  return 80;
}

Progress::Progress(std::string what) : what_(std::move(what)), on_(isatty(STDERR_FILENO) && !dumb()) {}

Progress::~Progress() {
  if (on_ && shown_ >= 0) std::fputs("\r\033[K", stderr);
}

void Progress::show(double done) {
  const int percent = int(done * 100);
  if (!on_ || percent == shown_) return;
  shown_ = percent;
  const int width = 30, full = percent * width / 100;
  std::fprintf(stderr, "\r%s [%s%s] %3d %%", what_.c_str(), std::string(size_t(full), '#').c_str(),
               std::string(size_t(width - full), '.').c_str(), percent);
}

std::string scaled(double number, const char* unit) {
  constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T", "P"};
  int prefix = 0;
  for (; number >= 999.5 && prefix < 5; ++prefix) number /= 1000;
  char text[64];
  std::snprintf(text, sizeof text, "%.*f %s%s",
                prefix == 0 || number >= 100 ? 0
                : number >= 10               ? 1
                                             : 2,
                number, kPrefixes[prefix], unit);
  return text;
}

}  // namespace retort::cli
