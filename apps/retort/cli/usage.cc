#include "cli/usage.h"

#include <algorithm>
#include <cctype>
#include <numeric>

namespace retort::cli {
namespace {

bool same(char a, char b) {
  return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

/// The edit distance of two words, in which small letters equal capitals.
size_t slips(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t before = row[0]++;
    for (size_t j = 1; j <= b.size(); ++j)
      before = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, before + !same(a[i - 1], b[j - 1])}));
  }
  return row.back();
}

std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* o : app.get_options()) {
    for (const std::string& name : o->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!sub->get_group().empty()) names.push_back(sub->get_name());
  }
  return names;
}

/// The first unexpected word, without the value of --option=value.
std::string first_unexpected(const CLI::App& app, int argc, const char* const* argv) {
  const std::vector<std::string> left = app.remaining(true);
  const auto end = argv + argc;
  const auto found = std::find_if(
      argv + 1, end, [&](const char* word) { return std::find(left.begin(), left.end(), word) != left.end(); });
  const std::string word = found != end ? *found : left.empty() ? "" : left[0];
  return word.starts_with("-") ? word.substr(0, word.find('=')) : word;
}

std::string meant(const std::string& name) { return name.empty() ? "" : "; did you mean " + name + "?"; }

std::string no_command(const CLI::App& app, const std::string& word) {
  if (word.ends_with(".onnx") || word.ends_with(".ort"))
    return "retort: '" + word + "' is not a command; retort inspect " + word + " shows its contents, retort run " +
           word + " runs it";
  std::string all;
  const auto names = commands_of(app);
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  return "retort: '" + word + "' is not a command" + meant(likely(word, names)) + "\nThe commands are " + all + ".";
}

}  // namespace

std::string likely(const std::string& word, const std::vector<std::string>& names) {
  const auto begins = [&](const std::string& name) { return word.size() > 2 && name.starts_with(word); };
  if (std::count_if(names.begin(), names.end(), begins) == 1) return *std::find_if(names.begin(), names.end(), begins);
  std::string best;
  size_t least = std::max<size_t>(word.size() / 3, 1) + 1;
  for (const std::string& name : names) {
    if (const size_t n = slips(word, name); n < least) {
      least = n;
      best = name;
    }
  }
  return best;
}

std::string unexpected_text(const CLI::App& app, int argc, const char* const* argv) {
  const std::string word = first_unexpected(app, argc, argv);
  const auto chosen = app.get_subcommands();
  const bool option = word.size() > 1 && word.starts_with("-");
  if (chosen.empty()) {
    if (!option) return no_command(app, word);
    const std::string near = likely(word, options_of(app));
    return "retort: there is no option " + word + " before the command" +
           (near.empty() ? "; write options of a command after it" : meant(near));
  }
  const std::string command = "retort " + chosen[0]->get_name();
  const auto options = options_of(*chosen[0]);
  if (std::find(options.begin(), options.end(), word) != options.end())
    return command + ": " + word + " stands before the command; write it after " + command;
  return command +
         (option ? ": there is no option " + word + meant(likely(word, options))
                 : ": '" + word + "' is an unexpected argument") +
         "\n" + command + " --help lists its options.";
}

}  // namespace retort::cli
