// Text as the locale "C" has it. A host may have called setlocale() (Java does): then strtof() wants a comma in "0,5", and
// tolower() leaves the "I" of a Turkish user as it is.
#pragma once
#include <locale.h>
#include <stdlib.h>

namespace retort {

inline locale_t c_locale() {
  static const locale_t locale = newlocale(LC_ALL_MASK, "C", locale_t(nullptr));
  return locale;
}

/// As strtof() and strtod().
inline float c_strtof(const char* text, char** end) { return strtof_l(text, end, c_locale()); }
inline double c_strtod(const char* text, char** end) { return strtod_l(text, end, c_locale()); }

inline char small_letter(char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; }

}  // namespace retort
