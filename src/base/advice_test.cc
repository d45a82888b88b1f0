#include "base/advice.h"

#include <gtest/gtest.h>

namespace retort {
namespace {

TEST(Advice, IsGivenOnce) {
  Error e(ErrorCode::fail, "K is 5, axis 0 has 3 elements");
  advise(e, "give a smaller K");
  advise(e, "check its inputs");
  EXPECT_EQ(e.message(), "K is 5, axis 0 has 3 elements; give a smaller K");
  EXPECT_EQ(e.code(), ErrorCode::fail);
}

TEST(Advice, NearestToleratesOneSlipInThreeLetters) {
  const std::vector<std::string_view> names{"Relu", "LeakyRelu", "MatMul", "x"};
  EXPECT_EQ(nearest("Rellu", names), "Relu");
  EXPECT_EQ(nearest("matmul", names), "MatMul");
  EXPECT_EQ(nearest("MtaMul", names), "MatMul");
  EXPECT_EQ(nearest("LekyRellu", names), "LeakyRelu");
  EXPECT_EQ(nearest("Conv", names), "");
  EXPECT_EQ(nearest("y", names), "");
  EXPECT_EQ(nearest("", names), "");
  EXPECT_EQ(nearest(std::string(100000, 'x'), names), "");
}

TEST(Advice, NamesTheExistingChoices) {
  EXPECT_EQ(use_one_of("imgae", {"image", "size"}), "use 'image'");
  EXPECT_EQ(use_one_of("pixels", {"image", "size"}), "use one of 'image', 'size'");
  EXPECT_EQ(use_one_of("pixels", {"image"}), "use 'image'");
  EXPECT_EQ(use_one_of("pixels", {"1", "2", "3", "4", "5", "6", "7"}), "use one of '1', '2', '3', '4', '5', '6', …");
}

}  // namespace
}  // namespace retort
