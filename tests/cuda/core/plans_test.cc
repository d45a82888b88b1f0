// Plans that are kept by problem: which problems share one, and which are forgotten.
#include <gtest/gtest.h>

#include <cmath>

#include "cuda/core/attentions.h"
#include "cuda/core/convolutions.h"
#include "cuda/core/recent.h"

namespace providers::cuda {
namespace {

TEST(Plans, ConstantsThatDifferLittleAreOtherProblems) {
  ConvProblem conv;
  conv.epilogue.activation = ConvActivation::clip;
  conv.epilogue.beta = 123456.7f;
  ConvProblem other = conv;
  EXPECT_EQ(conv.key(), other.key());
  other.epilogue.beta = std::nextafter(conv.epilogue.beta, 0.0f);
  EXPECT_NE(conv.key(), other.key());
  AttentionProblem attention;
  attention.scale = 0.125f;
  AttentionProblem near = attention;
  EXPECT_EQ(attention.key(), near.key());
  near.scale = std::nextafter(attention.scale, 0.0f);
  EXPECT_NE(attention.key(), near.key());
}

TEST(Plans, TheLeastRecentlyUsedIsForgotten) {
  Recent<int> recent(2);
  int made = 0;
  const auto get = [&](const char* key) { return *recent.get(key, [&] { return std::make_shared<int>(++made); }); };
  EXPECT_EQ(get("a"), 1);
  EXPECT_EQ(get("b"), 2);
  EXPECT_EQ(get("a"), 1);
  EXPECT_EQ(get("c"), 3);  // forgets b
  EXPECT_EQ(get("a"), 1);
  EXPECT_EQ(get("b"), 4);
}

TEST(Plans, ThatThereIsNoneIsKeptButNotAnError) {
  Recent<int> recent(2);
  int asked = 0;
  for (int i = 0; i < 2; ++i) EXPECT_EQ(recent.get("none", [&] { return ++asked, std::shared_ptr<int>(); }), nullptr);
  EXPECT_EQ(asked, 1);
  EXPECT_THROW(recent.get("bad", [&]() -> std::shared_ptr<int> { throw std::runtime_error("it fails"); }),
               std::runtime_error);
  EXPECT_NE(recent.get("bad", [] { return std::make_shared<int>(1); }), nullptr);
}

}  // namespace
}  // namespace providers::cuda
