// What only a terminal gets: colours (not where NO_COLOR is set) and progress bars.
#pragma once
#include <string>

namespace retort::cli {

enum class Paint { bold, dim, red, green, yellow };
/// The text in this colour where standard output is a terminal and NO_COLOR is unset or empty; else the text.
std::string paint(Paint colour, const std::string& text);

/// A bar on standard error while it is a terminal; nothing otherwise. Gone when the object is.
class Progress {
 public:
  explicit Progress(std::string what);
  ~Progress();
  Progress(const Progress&) = delete;
  /// `done` of 1; cheap, so that it may be called often.
  void show(double done);

 private:
  std::string what_;
  int shown_ = -1;
  bool on_;
};

/// "12.3 MB", "4.10 GFLOP": a number with a decimal prefix.
std::string scaled(double number, const char* unit);

}  // namespace retort::cli
