// Colours and progress bars, which only terminals show, and not those with TERM=dumb.
#pragma once
#include <string>

namespace retort::cli {

enum class Paint { bold, dim, red, green, yellow };
/// The text in this colour if standard output is a terminal and NO_COLOR is unset or empty; otherwise the plain text.
std::string paint(Paint colour, const std::string& text);

/// Columns of standard output: COLUMNS if it is set, those of the terminal, otherwise 80.
size_t terminal_width();

/// A progress bar on standard error if that is a terminal; otherwise nothing. The destructor removes the bar.
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
