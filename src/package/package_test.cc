// Tests what the comparison with the official library (tests/abi/sessions/scenes_package.cc) does not show: messages,
// and cases in which this library is stricter.
#include "package/package.h"

#include <gtest/gtest.h>

#include <fstream>

namespace retort {
namespace {

namespace fs = std::filesystem;

class PackageTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = (fs::temp_directory_path() / "retort-package-XXXXXX").string();
    root_ = fs::canonical(mkdtemp(path.data()));
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text;
  }
  void write_variant(const std::string& variant, const std::string& more = "") const {
    write("manifest.json",
          R"({"schema_version": "1.0", )" + more + R"("components": {"main": {"variants": {"v": )" + variant + "}}}}");
  }
  /// The error when the package is opened; empty if it opens.
  std::string complaint() const {
    try {
      const ModelPackage package(root_);
      return "";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::fail);
      return e.message();
    }
  }
  void expect_says(std::initializer_list<std::string_view> pieces) const {
    const std::string message = complaint();
    for (std::string_view piece : pieces) EXPECT_NE(message.find(piece), std::string::npos) << piece << "\n" << message;
  }

  fs::path root_;
};

TEST_F(PackageTest, MessagesNameComponentVariantAndMember) {
  write_variant(R"({"ep": 5})");
  expect_says({"component 'main'", "variant 'v'", "'ep'", "a string"});
  write_variant(R"({"eps": "x"})");
  expect_says({"unknown member 'eps'", "additional_metadata"});
  write_variant(R"({"variant_directory": "../x"})");
  expect_says({"'../x'", "'..'", "portable"});
  write_variant(R"({"executor_info": {"ort": {"session_options": {"session.packed_weights_cache": "/tmp"}}}})");
  expect_says({"session.packed_weights_cache", "to the program"});
  write_variant(R"({"executor_info": {"ort": {"session_options": {"session.copy_ledger_file": "/tmp"}}}})");
  expect_says({"session.copy_ledger_file", "to the program"});
  write("manifest.json", "{\n\n]");
  expect_says({"manifest.json", "line 3"});
}

TEST_F(PackageTest, OnlyFilesAreRead) {
  expect_says({"manifest.json", "is not a file"});
  ASSERT_EQ(mkfifo((root_ / "manifest.json").c_str(), 0600), 0);
  expect_says({"is not a file"});  // reading it would wait forever
}

TEST_F(PackageTest, LargeDescriptionsAreRejected) {
  write("manifest.json", "{}");
  fs::resize_file(root_ / "manifest.json", uintmax_t(1) << 40);  // sparse: takes no memory and no disk
  expect_says({"larger than"});
}

TEST_F(PackageTest, NamesThatTheSystemDoesNotTake) {
  write_variant(R"({"variant_directory": ")" + std::string(100000, 'x') + "\"}");
  EXPECT_NE(complaint(), "");
  write_variant(R"({"executor_info": {"ort": {"model_file": ")" + std::string(100000, 'x') + "\"}}}");
  EXPECT_NE(complaint(), "");
  write_variant(R"({"variant_directory": "a\u0000b"})");
  expect_says({"a zero inside"});
}

// The official library follows such a link even in the portable layout.
TEST_F(PackageTest, ALinkInPlaceOfAnAssetStaysInside) {
  const std::string hex(64, 'a'), asset = "sha256:" + hex;
  fs::create_directory(root_ / "shared_assets");
  fs::create_directory_symlink("/", root_ / "shared_assets" / ("sha256-" + hex));
  write_variant("{}");
  EXPECT_THROW(ModelPackage(root_).resolve(nullptr, asset, false), Error);
  EXPECT_THROW(ModelPackage(root_).resolve(nullptr, asset + "/etc/passwd", true), Error);
  write_variant("{}", R"("layout": "installed", )");
  EXPECT_EQ(ModelPackage(root_).resolve(nullptr, asset + "/etc/passwd", true), "/etc/passwd");
}

TEST_F(PackageTest, SelectionErrorsListTheVariants) {
  write_variant(R"({"ep": "CPUExecutionProvider", "device": "npu"})");
  const ModelPackage package(root_);
  try {
    select_variant(package.component("main"), "CPUExecutionProvider",
                   [](const PackageVariant& v) { return rank_for_cpu(v); });
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(e.message().find("'v' (CPUExecutionProvider on device npu)"), std::string::npos) << e.message();
  }
  try {
    package.component("other");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
    EXPECT_NE(e.message().find("'main'"), std::string::npos) << e.message();
  }
}

}  // namespace
}  // namespace retort
