// Runs every scene on this build's library and on the official one, and compares the transcripts.
//   RETORT_ORACLE=/path/libonnxruntime.so.1.x   the official library; without it, everything counts as one skip
//   RETORT_LIBRARY=/path                        another library in place of this build's
//   RETORT_MORE_DIFFERENCES=/path               what else may differ: of an older official library; only these may not be
//                                               stale
//   differential --dump LIBRARY [FILTER]        prints transcripts, to read what a library does
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <tuple>

#include "scene.h"

namespace scenes {
namespace {

const OrtApiBase* load(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* get = library ? dlsym(library, "OrtGetApiBase") : nullptr;
  if (!get) {
    std::fprintf(stderr, "%s\n", dlerror());
    exit(2);
  }
  return reinterpret_cast<const OrtApiBase*(ORT_API_CALL*)()>(get)();
}

/// The transcript of `body`, run in a child that writes to a pipe; a child that dies adds a line "died = <signal>".
std::vector<std::string> in_child(bool quiet, const std::function<void(int out)>& body) {
  int ends[2];
  if (pipe(ends) != 0) return {"pipe failed"};
  const pid_t child = fork();
  if (child == 0) {
    if (quiet) dup2(open("/dev/null", O_WRONLY), 2);
    close(ends[0]);
    alarm(60);
    body(ends[1]);
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;) text.append(buffer, size_t(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  if (WIFSIGNALED(status)) lines.push_back("died = " + std::string(strsignal(WTERMSIG(status))));
  // After a sanitizer's report, a child ends with a special exit code.
  if (WIFEXITED(status) && WEXITSTATUS(status)) lines.push_back("died = exit " + std::to_string(WEXITSTATUS(status)));
  return lines;
}

void tell(Story story, const OrtApiBase* base, int out) {
  Scene s(base, out);
  try {
    story(s);
  } catch (...) {
    s.note("died", "C++ exception");  // an exception left the library, which a C interface must not allow
  }
}

std::vector<std::string> perform(Story story, const OrtApiBase* base, bool quiet) {
  return in_child(quiet, [&](int out) { tell(story, base, out); });
}

/// A known difference: scene (or "group.*"), Retort's line, the official line; and the reason. With "*" for both lines,
/// the transcripts differ throughout: Retort only has to survive the scene.
using Difference = std::tuple<std::string, std::string, std::string>;
using Reasons = std::map<Difference, std::string>;
Reasons read_differences(const std::string& path) {
  Reasons known;
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) {
    std::vector<std::string> cells;
    std::istringstream row(line);
    for (std::string cell; std::getline(row, cell, '\t');) cells.push_back(cell);
    if (cells.size() != 4) {
      std::fprintf(stderr, "%s: a row needs scene, ours, theirs, reason: %s\n", path.c_str(), line.c_str());
      exit(2);
    }
    known.emplace(Difference(cells[0], cells[1], cells[2]), cells[3]);
  }
  return known;
}

/// Whether both lines are of the same count and one has no number ("copied … = -") because its run failed; that failure
/// is a difference of its own.
bool is_untold(const std::string& a, const std::string& b) {
  const size_t equals = a.find(" = ");
  return equals != std::string::npos && a.compare(0, equals, b, 0, equals) == 0 &&
         (a.rfind("copied ", 0) == 0 || a.rfind("parts ", 0) == 0) &&
         (a.substr(equals) == " = -" || b.substr(equals) == " = -");
}

/// Whether both lines are counts of copies ("copied … = N") and Retort's number is larger, which no reason justifies.
bool copies_more(const std::string& ours, const std::string& theirs) {
  const size_t equals = ours.find(" = ");
  if (ours.rfind("copied ", 0) != 0 || equals == std::string::npos || theirs.compare(0, equals, ours, 0, equals) != 0)
    return false;
  return std::stoll(ours.substr(equals + 3)) > std::stoll(theirs.substr(equals + 3));
}

std::vector<std::string> facts(const std::vector<std::string>& lines) {
  std::vector<std::string> kept;
  for (const std::string& line : lines) {
    if (line.rfind('#', 0) != 0) kept.push_back(line);
  }
  return kept;
}

struct Engines {
  const OrtApiBase* ours;
  const OrtApiBase* theirs;
  Reasons known;
  Reasons must_occur;
  mutable std::set<Difference> met;
};

class Compare : public testing::Test {
 public:
  Compare(const Engines& engines, const Registered& scene) : engines_(engines), scene_(scene) {}
  void TestBody() override {
    const auto ours = facts(perform(scene_.story, engines_.ours, true));
    if (!ours.empty() && ours.back().rfind("pending = ", 0) == 0) GTEST_SKIP() << ours.back();
    auto theirs = facts(perform(scene_.story, engines_.theirs, true));
    for (const std::string& line : ours)
      EXPECT_NE(line.rfind("died", 0), 0u) << line << " after " << ours.size() << " lines";
    // After the official library has died, nothing is compared: Retort only has to survive.
    const bool died = !theirs.empty() && theirs.back().rfind("died", 0) == 0;
    if (died) theirs.pop_back();
    if (ours != theirs && is_known("*", "*")) return;
    for (size_t i = 0; i < theirs.size() || (!died && i < ours.size()); ++i) {
      const std::string a = i < ours.size() ? ours[i] : "(end)", b = i < theirs.size() ? theirs[i] : "(end)";
      if (a == b || is_untold(a, b)) continue;
      if (!is_known(a, b)) {
        ADD_FAILURE() << "line " << i + 1 << "\n  ours:   " << a << "\n  theirs: " << b;
      }
    }
  }

 private:
  bool is_known(const std::string& ours, const std::string& theirs) const {
    for (const std::string& name : {scene_.name, scene_.name.substr(0, scene_.name.find('.')) + ".*"}) {
      const Difference difference{name, ours, theirs};
      const auto reason = engines_.known.find(difference);
      if (reason == engines_.known.end()) continue;
      engines_.met.insert(difference);
      EXPECT_FALSE(copies_more(ours, theirs)) << ours << " | " << theirs;
      return true;
    }
    return false;
  }

  const Engines& engines_;
  const Registered& scene_;
};

/// Retort's two libraries and the official one, used side by side in one process.
class Together : public testing::Test {
 public:
  explicit Together(const Engines& engines) : engines_(engines) {}
  void TestBody() override {
    const std::vector<const OrtApiBase*> bases{engines_.ours, engines_.theirs, load(RETORT_OTHER_LIBRARY_PATH)};
    const Story story = find("run.dense");
    const auto alone = facts(perform(story, engines_.ours, true));
    std::vector<std::string> wanted;
    for (int i = 0; i < 2; ++i) {
      for (size_t k = 0; k < bases.size(); ++k) wanted.insert(wanted.end(), alone.begin(), alone.end());
    }
    EXPECT_FALSE(alone.empty());
    EXPECT_EQ(facts(in_child(true,
                             [&](int out) {
                               for (int i = 0; i < 2; ++i) {
                                 for (const OrtApiBase* base : bases) tell(story, base, out);
                               }
                             })),
              wanted);
  }

 private:
  static Story find(std::string_view name) {
    for (const Registered& scene : registry()) {
      if (scene.name == name) return scene.story;
    }
    return nullptr;
  }
  const Engines& engines_;
};

/// A listed difference that no longer occurs must be removed from the list.
class NoStaleDifference : public testing::Test {
 public:
  explicit NoStaleDifference(const Engines& engines) : engines_(engines) {}
  void TestBody() override {
    for (const auto& [d, reason] : engines_.must_occur) {
      EXPECT_TRUE(engines_.met.count(d)) << std::get<0>(d) << ": " << std::get<1>(d) << " | " << std::get<2>(d);
    }
  }

 private:
  const Engines& engines_;
};

int dump(const std::string& library, const std::string& filter) {
  const OrtApiBase* base = load(library);
  for (const Registered& scene : registry()) {
    if (scene.name.find(filter) == std::string::npos) continue;
    std::printf("== %s\n", scene.name.c_str());
    for (const std::string& line : perform(scene.story, base, false)) std::printf("%s\n", line.c_str());
    std::fflush(stdout);
  }
  return 0;
}

int compare_all() {
  const char* oracle = std::getenv("RETORT_ORACLE");
  if (!oracle || !*oracle) {
    std::printf("abi differential: 1 skipped (RETORT_ORACLE names no official library), %zu scenes not compared\n",
                registry().size());
    return 0;
  }
  const char* library = std::getenv("RETORT_LIBRARY");
  static Engines engines{
      load(library ? library : RETORT_LIBRARY_PATH), load(oracle), read_differences(RETORT_DIFFERENCES), {}, {}};
  const char* more = std::getenv("RETORT_MORE_DIFFERENCES");
  engines.must_occur = more && *more ? read_differences(more) : engines.known;
  engines.known.insert(engines.must_occur.begin(), engines.must_occur.end());
  for (const Registered& scene : registry()) {
    const size_t dot = scene.name.find('.');
    testing::RegisterTest(scene.name.substr(0, dot).c_str(), scene.name.substr(dot + 1).c_str(), nullptr, nullptr,
                          __FILE__, __LINE__, [&scene]() -> testing::Test* { return new Compare(engines, scene); });
  }
  testing::RegisterTest("Together", "in_one_process", nullptr, nullptr, __FILE__, __LINE__,
                        []() -> testing::Test* { return new Together(engines); });
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  const bool as_usual = false;  // the official library gets other results from a sanitizer's malloc
#else
  const bool as_usual = true;
#endif
  if (as_usual && testing::GTEST_FLAG(filter) == "*") {
    testing::RegisterTest("Differences", "none_is_stale", nullptr, nullptr, __FILE__, __LINE__,
                          []() -> testing::Test* { return new NoStaleDifference(engines); });
  }
  return RUN_ALL_TESTS();
}

}  // namespace
}  // namespace scenes

int main(int argc, char** argv) {
  if (argc > 2 && std::strcmp(argv[1], "--dump") == 0) return scenes::dump(argv[2], argc > 3 ? argv[3] : "");
  testing::InitGoogleTest(&argc, argv);
  return scenes::compare_all();
}
