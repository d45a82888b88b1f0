#include "base/advice.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "base/c_locale.h"

namespace retort {
namespace {

constexpr size_t kMostNames = 6;      // that fit in a sentence
constexpr size_t kLongestName = 128;  // comparing takes time proportional to the product of the lengths
constexpr size_t kMostCompared = 20'000;
constexpr size_t kLettersPerEdit = 3;  // one edit in this many letters is a misspelling; more is another word

/// Number of letters inserted, removed, replaced or swapped with their neighbour between `a` and `b`, ignoring case.
size_t edits(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), size_t(0));
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const bool same = small_letter(a[i - 1]) == small_letter(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && small_letter(a[i - 1]) == small_letter(b[j - 2]) &&
                           small_letter(a[i - 2]) == small_letter(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

}  // namespace

void advise(Error& e, std::string_view what_to_do) {
  if (e.message().find("; ") == std::string::npos) e = Error(e.code(), cat("{}; {}", e.message(), what_to_do));
}

std::string_view nearest(std::string_view name, const std::vector<std::string_view>& names) {
  std::string_view best;
  if (name.size() > kLongestName) return best;
  size_t fewest = (name.size() + 1) / kLettersPerEdit;
  for (const std::string_view candidate : std::span(names).first(std::min(names.size(), kMostCompared))) {
    if (candidate.size() > name.size() + fewest) continue;
    const size_t n = edits(name, candidate);
    if (n > fewest || (n == fewest && !best.empty() && candidate > best)) continue;
    fewest = n;
    best = candidate;
  }
  return best;
}

std::string use_one_of(std::string_view name, const std::vector<std::string_view>& names) {
  if (const std::string_view near = nearest(name, names); !near.empty()) return cat("use '{}'", near);
  std::string text = names.size() > 1 ? "use one of " : "use ";
  for (size_t i = 0; i < std::min(names.size(), kMostNames); ++i) text += cat("{}'{}'", i ? ", " : "", names[i]);
  return text + (names.size() > kMostNames ? ", …" : "");
}

}  // namespace retort
