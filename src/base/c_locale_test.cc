#include "base/c_locale.h"

#include <gtest/gtest.h>

#include "base/comma_locale_testing.h"

namespace retort {
namespace {

TEST(CLocale, NumbersHaveAPointInEveryLocale) {
  const CommaLocale locale;
  if (!locale.found()) GTEST_SKIP() << "no locale with a decimal comma (Debian: locales)";
  char* end = nullptr;
  ASSERT_EQ(std::strtof("0.5", &end), 0) << "the locale is not in use";
  EXPECT_EQ(c_strtof(" 0.5x", &end), 0.5f);
  EXPECT_STREQ(end, "x");
  EXPECT_EQ(c_strtod("1.25e2", &end), 125);
  EXPECT_STREQ(end, "");
}

TEST(CLocale, SmallLetters) {
  EXPECT_EQ(small_letter('I'), 'i');
  EXPECT_EQ(small_letter('z'), 'z');
  EXPECT_EQ(small_letter('_'), '_');
  EXPECT_EQ(small_letter('\xc4'), '\xc4');
}

}  // namespace
}  // namespace retort
