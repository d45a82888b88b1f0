#include "base/text_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/error.h"

namespace retort {
namespace {

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::string message_of(auto&& f) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::fail);
    return e.what();
  }
  return "no error";
}

TEST(TextFile, IsThereOnceItIsFinished) {
  const std::string path = testing::TempDir() + "text_file." + std::to_string(getpid());
  {
    TextFile whole(path, "the report");
    whole.put("one ");
    whole.put("text");
    whole.finish();
  }
  EXPECT_EQ(text_of(path), "one text");
  { TextFile(path, "the report").put("half of it"); }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(TextFile, ErrorsNameTheFileAndTheReason) {
  EXPECT_EQ(message_of([] { TextFile("/nowhere/a.json", "the report"); }),
            "cannot write the report '/nowhere/a.json': No such file or directory; choose a writable path");
  // A device without space, which must not be removed.
  EXPECT_EQ(message_of([] {
              TextFile full("/dev/full", "the profile");
              full.put(std::string(1 << 20, 'x'));
              full.finish();
            }),
            "cannot write the profile '/dev/full': No space left on device; free space there, or choose another path");
  EXPECT_TRUE(std::filesystem::exists("/dev/full"));
}

}  // namespace
}  // namespace retort
