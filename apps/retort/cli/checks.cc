#include "cli/checks.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>
#include <string_view>

namespace retort::cli {
namespace {

std::string plain(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.15g", number);
  return text;
}

std::string before(const std::string& text, char mark) { return text.substr(0, text.find(mark)); }

/// What a value of an option is about, of which there can be one: KEY of KEY=VALUE, the name of a provider; otherwise
/// the value itself.
std::string subject(const CLI::Option& option, const std::string& value) {
  if (option.check_name("--provider")) return provider_name(value);
  if (option.check_name("--shape")) return value.substr(0, value.rfind('='));
  const bool entry = option.check_name("--config") || option.check_name("--plugin");
  return entry ? before(value, '=') : value;
}

std::string existing(const std::string& path, bool folder) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (path.empty()) return "the name is empty";
  if (error == std::errc::permission_denied) return "'" + path + "': " + error.message();
  if (!std::filesystem::exists(status)) return (folder ? "there is no folder '" : "there is no file '") + path + "'";
  // A device may have no end: /dev/zero.
  if (std::filesystem::is_character_file(status) || std::filesystem::is_block_file(status))
    return "'" + path + "' is a device, not a " + (folder ? "folder" : "file");
  const bool is_folder = std::filesystem::is_directory(status);
  if (is_folder != folder) return "'" + path + (folder ? "' is not a folder" : "' is a directory, not a file");
  return "";
}

/// The option or argument that the parser's message is about.
std::string option_in(const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find_first_of(" :,", at), text.size());
    const std::string word = text.substr(at, end - at);
    const bool argument = word.size() > 1 && std::all_of(word.begin(), word.end(), [](char c) {
                            return std::isupper(static_cast<unsigned char>(c)) || c == '_';
                          });
    if (word.starts_with("-") || argument) return word;
    at = end + 1;
  }
  return "an argument";
}

}  // namespace

std::string provider_name(const std::string& text) {
  constexpr std::string_view kSuffix = "ExecutionProvider";  // may be left out
  const std::string name = before(text, ':');
  return name.size() > kSuffix.size() && name.ends_with(kSuffix) ? name.substr(0, name.size() - kSuffix.size()) : name;
}

CLI::Validator existing_file(bool standard_input) {
  return CLI::Validator(
      [standard_input](const std::string& path) { return standard_input && path == "-" ? "" : existing(path, false); },
      "");
}

CLI::Validator existing_folder() {
  return CLI::Validator([](const std::string& path) { return existing(path, true); }, "");
}

CLI::Validator whole(int64_t least, int64_t most) {
  return CLI::Validator(
      [=](const std::string& text) -> std::string {
        int64_t number = 0;
        const char* end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data(), end, number);
        const bool digits = !text.empty() && stop == end;
        if (digits && error == std::errc() && number >= least && number <= most) return "";
        return "'" + text + "' is not an integer from " + std::to_string(least) + " to " + std::to_string(most);
      },
      "");
}

CLI::Validator real(double least, double most, bool above) {
  return CLI::Validator(
      [=](const std::string& text) -> std::string {
        char* end = nullptr;
        const double number = std::strtod(text.c_str(), &end);
        const bool read = !text.empty() && *end == 0 && text.find_first_of("xXpP \t\n") == std::string::npos;
        if (read && std::isfinite(number) && number <= most && (above ? number > least : number >= least)) return "";
        return "'" + text + "' is not a number " +
               (above ? "above " + plain(least) + " and up" : "from " + plain(least)) + " to " + plain(most);
      },
      "");
}

CLI::Validator one_of(std::vector<std::string> names) {
  return CLI::Validator(
      [names](const std::string& text) -> std::string {
        if (std::find(names.begin(), names.end(), text) != names.end()) return "";
        std::string all;
        for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
        return "'" + text + "' is not one of " + all;
      },
      "");
}

void refuse_empty_values(CLI::App& command) {
  const CLI::Validator given([](const std::string& text) { return text.empty() ? "the value is empty" : ""; }, "");
  for (CLI::Option* option : command.get_options()) {
    if (option->get_items_expected_max() > 0 && !option->check_name("--input")) option->check(given);
  }
}

void refuse_repeated_values(CLI::App& command) {
  for (CLI::Option* option : command.get_options()) {
    if (option->get_items_expected_max() <= 1) continue;
    const auto known = std::make_shared<std::set<std::string>>();
    const CLI::Validator once(
        [known, option](const std::string& text) {
          const std::string name = subject(*option, text);
          return known->insert(name).second ? "" : "'" + name + "' is given twice; leave one of them out";
        },
        "");
    option->check(once);
  }
}

std::string parse_error_text(const CLI::ParseError& error) {
  const std::string said = error.what(), kind = error.get_name(), option = option_in(said);
  if (kind == "ValidationError") return said;  // the validators are ours
  if (kind == "RequiredError") return option + " is missing";
  if (kind == "ExcludesError" && said.find(" excludes ") != std::string::npos)
    return option + " and " + option_in(said.substr(said.find(" excludes ") + 9)) + " exclude each other";
  if (kind == "ArgumentMismatch" && said.find("missing") != std::string::npos) return option + ": the value is missing";
  if (kind == "ArgumentMismatch" && said.find("flag override") != std::string::npos) {
    const std::string name = said.substr(0, said.find(' '));  // without its dashes
    return (name.size() == 1 ? "-" : "--") + name + " takes no value";
  }
  if (kind == "ArgumentMismatch") return option + " is given more often than it can be";
  if (kind == "ConversionError") return option + ": its value cannot be read";
  return option + " cannot be understood here";
}

}  // namespace retort::cli
