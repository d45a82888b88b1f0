#include "base/isa_choice.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

#include "base/cpu.h"
#include "base/features.h"

namespace retort {
namespace {

constexpr Isa kHighest = Isa(kIsaCount - 1);

bool says(const IsaChoice& choice, std::string_view piece) { return choice.problem.find(piece) != std::string::npos; }

TEST(ChooseIsa, is_the_processors_where_none_is_named) {
  for (const char* wanted : {static_cast<const char*>(nullptr), ""}) {
    const IsaChoice choice = choose_isa(wanted, kHighest);
    EXPECT_EQ(choice.isa, kHighest);
    EXPECT_EQ(choice.problem, "");
  }
}

TEST(ChooseIsa, takes_every_level_that_the_processor_has) {
  for (int best = 0; best < kIsaCount; ++best) {
    for (int wanted = 0; wanted <= best; ++wanted) {
      const IsaChoice choice = choose_isa(isa_name(Isa(wanted)), Isa(best));
      EXPECT_EQ(choice.isa, Isa(wanted));
      EXPECT_EQ(choice.problem, "");
    }
  }
}

TEST(ChooseIsa, refuses_names_that_are_none) {
  for (const char* wanted : {"avx", "AVX2", " avx2", "avx2,", "v2v2", "0", "?", "-", "-vnni", "avx-512"}) {
    const IsaChoice choice = choose_isa(wanted, kHighest);
    EXPECT_EQ(choice.isa, kHighest);
    EXPECT_TRUE(says(choice, "RETORT_ISA is '" + std::string(wanted) + "'")) << choice.problem;
    for (int level = 0; level < kIsaCount; ++level) EXPECT_TRUE(says(choice, isa_name(Isa(level)))) << choice.problem;
  }
}

TEST(ChooseIsa, takes_features_away) {
  for (int level = 0; level < kIsaCount; ++level) {
    const std::string name = isa_name(Isa(level));
    for (int i = 0; i < kFeatureCount; ++i) {
      const IsaChoice choice = choose_isa((name + "-" + feature_name(Feature(i))).c_str(), kHighest);
      EXPECT_EQ(choice.isa, Isa(level));
      EXPECT_EQ(choice.problem, "");
      EXPECT_EQ(choice.without, 1 << i);
    }
    EXPECT_EQ(choose_isa((name + "-bf16-vnni-bf16").c_str(), kHighest).without, 0b011);
    EXPECT_EQ(choose_isa(name.c_str(), kHighest).without, 0);
  }
}

TEST(ChooseIsa, refuses_features_that_are_none) {
  for (const char* feature : {"", "nothing", "VNNI", "vnni ", "vnni-", "bf16-avx2", "bf16,vnni"}) {
    const std::string wanted = std::string(isa_name(Isa::v2)) + "-" + feature;
    const IsaChoice choice = choose_isa(wanted.c_str(), kHighest);
    EXPECT_EQ(choice.isa, kHighest);
    EXPECT_EQ(choice.without, 0);
    EXPECT_TRUE(says(choice, "RETORT_ISA is '" + wanted + "'") && says(choice, "-vnni, -bf16, -amx, -vbmi"))
        << choice.problem;
    for (int level = 0; level < kIsaCount; ++level) EXPECT_TRUE(says(choice, isa_name(Isa(level)))) << choice.problem;
  }
}

TEST(ChooseIsa, allows_what_the_environment_does_not_take_away) {
  const uint8_t without = choose_isa(std::getenv("RETORT_ISA"), processor_isa()).without;
  for (int i = 0; i < kFeatureCount; ++i) EXPECT_EQ(allows(Feature(i)), !(without >> i & 1));
}

#if defined(__x86_64__)
TEST(ChooseIsa, refuses_a_level_that_the_processor_does_not_have) {
  const IsaChoice choice = choose_isa("avx512", Isa::avx2);
  EXPECT_EQ(choice.isa, Isa::avx2);
  EXPECT_TRUE(says(choice, "'avx512'") && says(choice, "supports only avx2") && says(choice, "(v2, avx2)"))
      << choice.problem;
  EXPECT_TRUE(says(choose_isa("neon", Isa::avx512), "not an instruction level"));
}
#else
TEST(ChooseIsa, knows_no_levels_of_another_processor) {
  EXPECT_STREQ(isa_name(Isa::v2), "neon");
  EXPECT_TRUE(says(choose_isa("v2", Isa::v2), "neon on AArch64"));
}
#endif

TEST(ChooseIsa, limits_the_level_but_not_the_processor) {
  EXPECT_EQ(best_isa(), choose_isa(std::getenv("RETORT_ISA"), processor_isa()).isa);
  const ScopedIsa lowest(Isa::v2);
  EXPECT_EQ(current_isa(), Isa::v2);
  EXPECT_GE(processor_isa(), best_isa());
}

// Otherwise all tests would run at a level other than the one that was requested.
TEST(ChooseIsa, the_environment_of_these_tests_names_a_level) { EXPECT_NO_THROW(require_chosen_isa()); }

}  // namespace
}  // namespace retort
