// Classifies handwritten digits that the model has not seen, one by one, through an I/O binding whose memory belongs to
// this program: the engine reads the image where it lies and writes the ten probabilities where they are read.
//
//   digits FOLDER            draw some digits, then accuracy, latency and copies per run
//   digits --check FOLDER    the same figures as a test
//
// The engine is the library that the program is linked with, or the one that RETORT_LIBRARY names.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "classifier.h"
#include "images.h"

namespace digits {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kRounds = 20;         // over all held-out digits, for the latency
constexpr double kAccuracy = 0.97;  // at least, for --check
constexpr size_t kPerRow = 4, kDrawn = 8, kTop = 3;

constexpr const char* kUsage = R"(usage: digits [--check] FOLDER

Classifies the handwritten digits in FOLDER (digits.onnx, heldout_images.npy, heldout_labels.npy: examples/digits), draws
some of them and tells accuracy, latency and copies.

  --check  the same figures as a test
  --help   this text

RETORT_LIBRARY names another engine than the library that the program is linked with.
)";

struct Guess {
  std::array<float, kClasses> probability;
  std::array<int, kTop> best;  // classes, most probable first
};

struct Figures {
  std::vector<Guess> guesses;
  std::vector<double> micros;  // of every timed run, sorted
  size_t right = 0;
  std::optional<uint64_t> copied_bytes;  // during all timed runs
  double accuracy() const { return static_cast<double>(right) / static_cast<double>(guesses.size()); }
  double percentile(double p) const { return micros[static_cast<size_t>(p * static_cast<double>(micros.size() - 1))]; }
};

void show(Classifier& c, std::span<const uint8_t> image) {
  for (size_t k = 0; k < kPixels; ++k) c.image()[k] = static_cast<float>(image[k]) / kWhite;
}

Guess read(const Classifier& c) {
  Guess g;
  std::copy_n(c.probabilities().begin(), kClasses, g.probability.begin());
  std::array<int, kClasses> order;
  std::iota(order.begin(), order.end(), 0);
  std::partial_sort(order.begin(), order.begin() + kTop, order.end(),
                    [&](int a, int b) { return g.probability[a] > g.probability[b]; });
  std::copy_n(order.begin(), kTop, g.best.begin());
  return g;
}

Figures measure(Classifier& c, const Digits& d) {
  Figures f;
  for (size_t k = 0; k < d.count(); ++k) {  // also warms up
    show(c, d.image(k));
    c.run();
    f.guesses.push_back(read(c));
    f.right += f.guesses.back().best[0] == d.labels[k];
  }
  f.micros.reserve(kRounds * d.count());
  const auto copied_before = c.copied_bytes();
  for (int round = 0; round < kRounds; ++round) {
    for (size_t k = 0; k < d.count(); ++k) {
      show(c, d.image(k));
      const auto start = Clock::now();
      c.run();
      f.micros.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
    }
  }
  if (copied_before) f.copied_bytes = *c.copied_bytes() - *copied_before;
  std::sort(f.micros.begin(), f.micros.end());
  return f;
}

// Some digits of the set: the first that are wrong, then the first that are right.
std::vector<size_t> choose(const Figures& f, const Digits& d) {
  std::vector<size_t> wrong, chosen;
  for (size_t k = 0; k < d.count(); ++k)
    if (f.guesses[k].best[0] != d.labels[k]) wrong.push_back(k);
  wrong.resize(std::min(wrong.size(), size_t(2)));
  for (size_t k = 0; chosen.size() + wrong.size() < kDrawn && k < d.count(); ++k)
    if (f.guesses[k].best[0] == d.labels[k]) chosen.push_back(k);
  chosen.insert(chosen.end(), wrong.begin(), wrong.end());
  return chosen;
}

void cell(const std::string& text) {
  std::printf("  %s%*s", text.c_str(), static_cast<int>(kCellColumns - columns(text)), "");
}

void draw_row(const Figures& f, const Digits& d, std::span<const size_t> row, bool colours) {
  for (int line = 0; line < kSide; ++line) {
    for (const size_t k : row) cell(draw_line(d.image(k), line, colours));
    std::puts("");
  }
  for (const size_t k : row) {
    const bool right = f.guesses[k].best[0] == d.labels[k];
    const char* colour = colours ? (right ? "\033[32m" : "\033[31m") : "";
    cell(colour + std::string("written: ") + std::to_string(d.labels[k]) + (right ? "  ✓" : "  ✗") +
         (colours ? "[0m" : ""));
  }
  std::puts("");
  for (size_t place = 0; place < kTop; ++place) {
    for (const size_t k : row) {
      const int guess = f.guesses[k].best[place];
      const double p = f.guesses[k].probability[static_cast<size_t>(guess)];
      char text[64];
      std::snprintf(text, sizeof text, "%d %5.1f%% ", guess, 100 * p);
      cell(text + draw_bar(p));
    }
    std::puts("");
  }
  std::puts("");
}

std::string per_run(uint64_t total, size_t runs) {
  if (total % runs == 0) return std::to_string(total / runs);
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", static_cast<double>(total) / static_cast<double>(runs));
  return text;
}

void report(const Figures& f, const Classifier& c) {
  const size_t runs = f.micros.size();
  std::printf("engine     %s\n", c.engine().c_str());
  std::printf("accuracy   %zu of %zu held-out digits right (%.2f %%)\n", f.right, f.guesses.size(), 100 * f.accuracy());
  std::printf("latency    median %.1f µs, p99 %.1f µs (%zu runs of one image, one thread)\n", f.percentile(0.5),
              f.percentile(0.99), runs);
  const std::string copied = f.copied_bytes ? per_run(*f.copied_bytes, runs) : "(not told by this engine)";
  std::printf("per run    %s bytes copied\n", copied.c_str());
}

bool check(const char* what, bool ok) {
  std::printf("%s %s\n", ok ? "ok  " : "FAIL", what);
  return ok;
}

int check_figures(const Figures& f, const Classifier& c) {
  std::vector<bool> results = {check("at least 97 % of the held-out digits are right", f.accuracy() >= kAccuracy)};
  if (c.engine().find("Retort") != std::string::npos)
    results.push_back(check("the engine tells what it copies", f.copied_bytes.has_value()));
  if (f.copied_bytes) results.push_back(check("a bound run copies nothing", *f.copied_bytes == 0));
  const auto failed = std::count(results.begin(), results.end(), false);
  std::printf("%zu passed, %zu failed\n", results.size() - static_cast<size_t>(failed), static_cast<size_t>(failed));
  return failed ? 1 : 0;
}

int run(const std::string& folder, bool checking) {
  const Digits d = read_digits(folder);
  Classifier classifier(folder + "/digits.onnx");
  const Figures f = measure(classifier, d);
  if (!checking) {
    const bool colours = isatty(STDOUT_FILENO) && !std::getenv("NO_COLOR");
    const std::vector<size_t> chosen = choose(f, d);
    for (size_t k = 0; k < chosen.size(); k += kPerRow)
      draw_row(f, d, std::span(chosen).subspan(k, std::min(kPerRow, chosen.size() - k)), colours);
  }
  report(f, classifier);
  return checking ? check_figures(f, classifier) : 0;
}

}  // namespace
}  // namespace digits

int main(int argc, char** argv) {
  const std::string first = argc > 1 ? argv[1] : "";
  const bool checking = argc == 3 && first == "--check", help = first == "--help" || first == "-h";
  if (help || (!checking && (argc != 2 || first.starts_with("-")))) {
    std::fputs(digits::kUsage, help ? stdout : stderr);
    return help ? 0 : 2;
  }
  try {
    return digits::run(argv[argc - 1], checking);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "digits: %s\n", e.what());
    return 1;
  }
}
