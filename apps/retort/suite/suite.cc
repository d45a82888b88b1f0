#include "suite/suite.h"

#include <fnmatch.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <set>

#include "cli/commands.h"
#include "cli/interrupt.h"

namespace retort::cli {
namespace {

std::string read_all(int fd) {
  std::string text;
  char piece[4096];
  for (ssize_t n = 0; (n = read(fd, piece, sizeof piece)) > 0;) text.append(piece, size_t(n));
  return text;
}

struct Ended {
  int code = 0;
  std::string out, err;
};

/// Starts this program again. Standard error goes to a file, so that a child with much output never waits for a reader.
Ended run_self(const std::vector<std::string>& arguments) {
  std::vector<char*> argv{const_cast<char*>("retort")};
  for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  int out[2];
  std::FILE* err = std::tmpfile();
  if (!err || pipe(out) != 0) throw Failure("cannot make a pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(err), STDERR_FILENO);
  posix_spawn_file_actions_addclose(&actions, out[0]);
  pid_t child = 0;
  const int failed = posix_spawn(&child, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(out[1]);
  if (failed) throw Failure("cannot start a process");
  int status = 0;
  Ended ended;
  {
    InterruptedChild also(child);
    ended.out = read_all(out[0]);
    status = also.wait();
  }
  close(out[0]);
  ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  lseek(fileno(err), 0, SEEK_SET);
  ended.err = read_all(fileno(err));
  std::fclose(err);
  return ended;
}

/// A row of the index. Errors name its number and the field. A field that is null counts as left out.
class IndexRow {
 public:
  IndexRow(const nlohmann::json& row, std::string where) : row_(row), where_(std::move(where)) {}

  /// Throws Failure for a field that nothing reads: it may be a misspelling of one.
  void refuse_unknown() const {
    constexpr std::array kKnown{"model", "scenario",  "path",  "inputs",    "expected", "expected_from",
                                "kind",  "precision", "flops", "hand_back", "tolerance"};
    constexpr std::array kAbout{"input_shapes", "params", "dynamic_dims", "nodes", "domains", "opset"};  // for readers
    for (const auto& [key, unused] : row_.items()) {
      const auto named = [&](const char* name) { return key == name; };
      if (std::ranges::any_of(kKnown, named) || std::ranges::any_of(kAbout, named)) continue;
      std::string names;
      for (const char* name : kKnown) names += (names.empty() ? "" : ", ") + std::string(name);
      throw Failure(where_ + " has the field '" + key + "', which does not exist; there are " + names);
    }
  }

  std::string text(const char* key, bool needed = false) const {
    return value<std::string>(key, needed, "string", &nlohmann::json::is_string);
  }
  double number(const char* key) const { return value<double>(key, false, "number", &nlohmann::json::is_number); }
  bool flag(const char* key) const { return value<bool>(key, false, "boolean", &nlohmann::json::is_boolean); }

 private:
  template <typename T>
  T value(const char* key, bool needed, const char* kind, bool (nlohmann::json::*is)() const noexcept) const {
    const auto field = row_.find(key);
    if (field == row_.end() || field->is_null()) {
      if (needed) throw Failure(where_ + " has no field '" + key + "'");
      return {};
    }
    if (!((*field).*is)())
      throw Failure(where_ + ": '" + key + "' is of type " + field->type_name() + "; it must be of type " + kind);
    return field->template get<T>();
  }

  const nlohmann::json& row_;
  std::string where_;
};

Scenario listed_scenario(const std::filesystem::path& folder, const IndexRow& row) {
  const auto path = [&](const std::string& name) { return name.empty() ? "" : (folder / name).string(); };
  const std::string model = row.text("model", true), name = model + "/" + row.text("scenario", true);
  row.refuse_unknown();
  return {.name = name,
          .model = path(row.text("path", true)),
          .inputs = path(row.text("inputs")),
          .expected = path(row.text("expected")),
          .expected_from = row.text("expected_from"),
          .kind = row.text("kind"),
          .precision = row.text("precision"),
          .flops = row.number("flops"),
          .hand_back = row.flag("hand_back"),
          .tolerance = row.number("tolerance")};
}

std::vector<Scenario> listed_scenarios(const std::filesystem::path& folder) {
  const std::string index = (folder / "index.json").string();
  std::ifstream file = open_file(index);
  const nlohmann::json rows = nlohmann::json::parse(file, nullptr, false);
  if (!rows.is_array())
    throw Failure(index + " is not a list of scenarios with model, scenario, path and inputs; make zoo writes one");
  if (rows.empty()) throw Failure(index + " lists no scenarios");
  std::vector<Scenario> all;
  std::set<std::string> names;
  for (const auto& row : rows) {
    const std::string where = index + ": scenario " + std::to_string(all.size() + 1);
    all.push_back(listed_scenario(folder, {row, where}));
    if (!names.insert(all.back().name).second)
      throw Failure(where + " is '" + all.back().name + "', as one before it; give each another name");
  }
  return all;
}

std::vector<Scenario> found_scenarios(const std::filesystem::path& folder) {
  std::vector<Scenario> all;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const auto& path = entry.path();
    if (path.extension() != ".onnx") continue;
    const std::string beside = path.has_parent_path() ? path.parent_path().string() : ".";
    const bool answered = !find_numbered_file(beside, "output_", 0).empty();
    all.push_back({.name = std::filesystem::relative(path, folder).string(),
                   .model = path.string(),
                   .inputs = find_numbered_file(beside, "input_", 0).empty() ? std::string() : beside,
                   .expected = answered ? beside : "",
                   .expected_from = answered ? "stored outputs" : ""});
  }
  std::sort(all.begin(), all.end(), [](const Scenario& a, const Scenario& b) { return a.model < b.model; });
  return all;
}

bool matches(const std::vector<std::string>& globs, const std::string& text) {
  return std::any_of(globs.begin(), globs.end(),
                     [&](const auto& glob) { return fnmatch(glob.c_str(), text.c_str(), 0) == 0; });
}

bool is_named(const Scenario& s, const std::vector<std::string>& globs) {
  return matches(globs, s.name) || matches(globs, s.name.substr(0, s.name.find_last_of('/')));
}

bool chosen(const Scenario& s, const Choice& choice) {
  return (choice.only.empty() || is_named(s, choice.only)) &&
         (choice.precisions.empty() || matches(choice.precisions, s.precision));
}

std::string names_of(const std::vector<Scenario>& all) {
  std::string names;
  for (const Scenario& s : all) names += (names.empty() ? "" : ", ") + s.name;
  return names;
}

/// Throws Failure for a pattern that chooses nothing.
void refuse_idle(const std::vector<Scenario>& all, const Choice& choice, const std::string& places) {
  for (const std::string& glob : choice.only) {
    if (std::none_of(all.begin(), all.end(), [&](const Scenario& s) { return is_named(s, {glob}); }))
      throw Failure("--only '" + glob + "' matches no scenario of " + places + "; there are " + names_of(all));
  }
  std::set<std::string> precisions;
  for (const Scenario& s : all) precisions.insert(s.precision);
  precisions.erase("");
  std::string known;
  for (const std::string& precision : precisions) known += (known.empty() ? "there are " : ", ") + precision;
  for (const std::string& glob : choice.precisions) {
    if (std::none_of(all.begin(), all.end(), [&](const Scenario& s) { return matches({glob}, s.precision); }))
      throw Failure("--precision '" + glob + "' matches no scenario of " + places + "; " +
                    (known.empty() ? "none of them has a precision" : known));
  }
}

}  // namespace

std::vector<Scenario> find_scenarios(const std::vector<std::string>& folders, const Choice& choice) {
  std::vector<Scenario> all;
  std::string places;
  for (const std::string& folder : folders) {
    const bool listed = std::filesystem::exists(std::filesystem::path(folder) / "index.json");
    std::vector<Scenario> some = listed ? listed_scenarios(folder) : found_scenarios(folder);
    if (some.empty()) throw Failure("there is no .onnx file in " + folder);
    std::move(some.begin(), some.end(), std::back_inserter(all));
    places += (places.empty() ? "" : ", ") + folder;
  }
  refuse_idle(all, choice, places);
  const std::string known = names_of(all);
  std::erase_if(all, [&](const Scenario& s) { return !chosen(s, choice); });
  if (all.empty())
    throw Failure("--only and --precision together leave no scenario of " + places + "; there are " + known);
  return all;
}

namespace {

/// What a scenario's process says of its end, without the advice to read the help, as the user did not write its words.
std::string error_of(const Ended& ended) {
  const nlohmann::json told = nlohmann::json::parse(ended.out, nullptr, false);
  const std::string text = told.is_object() ? told.value("error", "") : ended.err;
  const std::string kept = text.substr(0, text.find("\nretort bench --help"));
  return kept.empty() ? "ended with " + std::to_string(ended.code) : kept.substr(0, kept.find_last_not_of('\n') + 1);
}

}  // namespace

nlohmann::json measure_scenario(const Scenario& s, const std::vector<std::string>& words) {
  nlohmann::json row = {{"name", s.name},           {"model", s.model}, {"kind", s.kind},
                        {"precision", s.precision}, {"flops", s.flops}, {"tolerance", s.tolerance}};
  if (!s.expected.empty()) row["expected_from"] = s.expected_from;
  const Ended ended = run_self(words);
  if (ended.code == 0) {
    row["report"] = nlohmann::json::parse(ended.out);
    std::fputs(ended.err.c_str(), stderr);  // warnings
  } else
    row["error"] = error_of(ended);
  return row;
}

}  // namespace retort::cli
