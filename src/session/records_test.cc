// Profiles and ledgers: of a session, and of single runs.
#include "session/records.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "session/session_parts_testing.h"

namespace retort {
namespace {

using namespace retort::testing;

class RecordsTest : public ::testing::Test {
 protected:
  RecordsTest() {
    std::string name = (std::filesystem::temp_directory_path() / "retort_records_XXXXXX").string();
    folder = mkdtemp(name.data());
  }
  ~RecordsTest() override { std::filesystem::remove_all(folder); }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) names.push_back(entry.path());
    return names;
  }
  static std::string read(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void copy(RunRecord& record, size_t bytes) { record.ledger().add(CopyCause::alias, "x", {}, {}, bytes); }

  std::string folder;
  SessionOptions options;
  RunOptions run_options;
};

TEST_F(RecordsTest, NothingIsProfiledUnlessOptionsAskForIt) {
  SessionRecords records(options, {});
  EXPECT_EQ(records.profiler(), nullptr);
  EXPECT_EQ(records.end_profiling(), "");
  RunRecord record(records, nullptr);
  EXPECT_EQ(record.profiler(), nullptr);
  EXPECT_EQ(&record.ledger(), &records.ledger());
}

TEST_F(RecordsTest, AProfileIsWrittenOnce) {
  options.profiling = true;
  options.profile_prefix = folder + "/profile";
  SessionRecords records(options, {});
  RunRecord record(records, &run_options);
  EXPECT_EQ(record.profiler(), records.profiler());
  record.begin();
  record.end();
  const std::string path = records.end_profiling();
  EXPECT_EQ(files(), std::vector<std::string>{path});
  expect_part(read(path), "model_run");
  EXPECT_EQ(records.end_profiling(), "");
}

TEST_F(RecordsTest, TheProfileBeginsWithTheModelThatWasRead) {
  options.profiling = true;
  options.profile_prefix = folder + "/profile";
  const auto begin = std::chrono::steady_clock::now();
  const Loading loading{begin, begin + std::chrono::microseconds(250), "model_loading_uri"};
  SessionRecords records(options, {}, loading);
  const uint64_t now = uint64_t(std::chrono::system_clock::now().time_since_epoch() / std::chrono::nanoseconds(1));
  EXPECT_LE(records.profiler()->start_time_ns(), now);
  expect_part(read(records.end_profiling()), "\"dur\":250,\"ts\":0,\"ph\":\"X\",\"name\":\"model_loading_uri\"");
}

TEST_F(RecordsTest, ProfilesOfTheSameSecondHaveDifferentNames) {
  options.profiling = true;
  options.profile_prefix = folder + "/profile";
  for (int i = 0; i < 3; ++i) SessionRecords(options, {}).end_profiling();
  EXPECT_EQ(files().size(), 3u);
}

TEST_F(RecordsTest, ARunMayHaveAProfileOfItsOwn) {
  SessionRecords records(options, {});
  run_options.profiling = true;
  run_options.profile_prefix = folder + "/run";
  for (int i = 0; i < 2; ++i) {
    RunRecord record(records, &run_options);
    ASSERT_NE(record.profiler(), nullptr);
    record.begin();
    record.end();
  }
  EXPECT_EQ(files().size(), 2u) << "also in the same second";
}

TEST_F(RecordsTest, CopiesOfARunAreThoseOfTheSessionToo) {
  SessionRecords records(options, {});
  const std::string path = folder + "/copies.json";
  run_options.config["copy_ledger_file"] = path;
  RunRecord first(records, nullptr), second(records, &run_options);
  copy(first, 10);
  copy(second, 5);
  second.end();
  EXPECT_EQ(records.ledger().total_bytes(), 15u);
  expect_part(read(path), "\"total_bytes\":5");
}

TEST_F(RecordsTest, TheSessionsCopiesGoToItsFile) {
  SessionRecords records(options, {});
  records.write_copies(options);
  EXPECT_TRUE(files().empty());
  RunRecord record(records, nullptr);
  copy(record, 10);
  options.config["session.copy_ledger_file"] = folder + "/copies.json";
  records.write_copies(options);
  expect_part(read(folder + "/copies.json"), "\"total_bytes\":10");
  options.config["session.copy_ledger_file"] = folder + "/missing/copies.json";
  EXPECT_NE(error_of([&] { records.write_copies(options); }), "no error");
}

}  // namespace
}  // namespace retort
