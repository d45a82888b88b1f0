// Text functions in the locale "C". A host may have called setlocale() (Java does): then strtof() expects a comma as in
// "0,5", and tolower() does not change the "I" of a Turkish user.
#pragma once
#include <locale.h>
#include <stdlib.h>

namespace retort {

inline locale_t c_locale() {
  static const locale_t locale = newlocale(LC_ALL_MASK, "C", locale_t(nullptr));
  return locale;
}

/// The same as strtof() and strtod() in the locale "C".
inline float c_strtof(const char* text, char** end) { return strtof_l(text, end, c_locale()); }
inline double c_strtod(const char* text, char** end) { return strtod_l(text, end, c_locale()); }

inline char small_letter(char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; }

}  // namespace retort
