#include "base/fingerprint.h"

#include <gtest/gtest.h>

#include <set>

namespace retort {
namespace {

TEST(Fingerprint, DistinguishesEveryBitAndEveryCut) {
  std::set<std::string> seen;
  const auto insert = [&](const Fingerprint& f) { EXPECT_TRUE(seen.insert(f.text()).second); };
  insert({});
  for (size_t size = 0; size <= 100; ++size) {  // zeros of every length
    Fingerprint f;
    f.add(std::string(size, '\0'));
    insert(f);
  }
  for (size_t bit = 0; bit < 8 * 100; ++bit) {
    std::string text(100, '\0');
    text[bit / 8] = char(1 << bit % 8);
    Fingerprint f;
    f.add(text);
    insert(f);
  }
  for (size_t cut = 0; cut <= 20; ++cut) {
    Fingerprint f;
    f.add(std::string(cut, 'a'));
    f.add(std::string(20 - cut, 'a'));
    insert(f);
  }
}

TEST(Fingerprint, IsTheSameForTheSame) {
  Fingerprint a, b;
  for (Fingerprint* f : {&a, &b}) {
    f->add("text");
    f->add(uint64_t(7));
  }
  EXPECT_EQ(a, b);
  EXPECT_EQ(a.text().size(), 32u);
}

TEST(BuildId, IsThere) { EXPECT_GE(build_id().size(), 8u); }

}  // namespace
}  // namespace retort
