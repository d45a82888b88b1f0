#include "cli/terminal.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace retort::cli {
namespace {

bool coloured() {
  const char* off = std::getenv("NO_COLOR");
  static const bool yes = isatty(STDOUT_FILENO) && !(off && *off);
  return yes;
}

}  // namespace

std::string paint(Paint colour, const std::string& text) {
  if (!coloured()) return text;
  constexpr const char* kCodes[] = {"1", "2", "31", "32", "33"};
  return std::string("\033[") + kCodes[int(colour)] + "m" + text + "\033[0m";
}

Progress::Progress(std::string what) : what_(std::move(what)), on_(isatty(STDERR_FILENO)) {}

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
