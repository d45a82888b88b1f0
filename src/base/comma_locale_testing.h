// A locale whose decimal point is a comma, for tests of code that must not depend on the locale.
#pragma once
#include <locale.h>

#include <clocale>
#include <cstdlib>
#include <string>

namespace retort {

class CommaLocale {
 public:
  CommaLocale() : before_(std::setlocale(LC_ALL, nullptr)) {
    if (const char* made = std::getenv("RETORT_LOCALES")) setenv("LOCPATH", made, 1);
    for (const char* name : {"", "de_DE.UTF-8", "fr_FR.UTF-8", "ru_RU.UTF-8", "tr_TR.UTF-8", "pt_BR.UTF-8"}) {
      if (std::setlocale(LC_ALL, name) && *localeconv()->decimal_point == ',') return;
    }
    std::setlocale(LC_ALL, before_.c_str());
    found_ = false;
  }
  ~CommaLocale() { std::setlocale(LC_ALL, before_.c_str()); }
  CommaLocale(const CommaLocale&) = delete;
  /// Whether such a locale is installed on this system or in the folder RETORT_LOCALES, which the stage unit fills.
  bool found() const { return found_; }

 private:
  std::string before_;
  bool found_ = true;
};

}  // namespace retort
