// Runs the tests of worked examples. A filter that selects no test is an error: the page would tell a reader to run
// nothing.
#include <gtest/gtest.h>

#include <cstdio>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const int code = RUN_ALL_TESTS();
  if (testing::UnitTest::GetInstance()->test_to_run_count() > 0) return code;
  std::fprintf(stderr, "no test fits --gtest_filter=%s\n", GTEST_FLAG_GET(filter).c_str());
  return 1;
}
