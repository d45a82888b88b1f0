// What options accept, with messages of our own: those of the library that parses the command line are never shown.
#pragma once
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

namespace retort::cli {

/// The provider's name in "NAME:key=value", without "ExecutionProvider".
std::string provider_name(const std::string& text);
/// An existing file; "-" as well if `standard_input`.
CLI::Validator existing_file(bool standard_input = false);
CLI::Validator existing_folder();
/// An integer in decimal digits from `least` to `most`.
CLI::Validator whole(int64_t least, int64_t most);
/// A finite number from `least` to `most`; more than `least` if `above`.
CLI::Validator real(double least, double most, bool above = false);
CLI::Validator one_of(std::vector<std::string> names);

/// Adds an option whose value is a list with commas between; `each` checks every item.
template <typename Number>
CLI::Option* add_list(CLI::App& app, const std::string& name, std::vector<Number>& to, const std::string& what,
                      CLI::Validator each) {
  const auto read = [&to, name, each](const std::string& text) mutable {
    to.clear();
    for (size_t at = 0; at <= text.size();) {
      const size_t end = std::min(text.find(',', at), text.size());
      std::string item = text.substr(at, end - at);
      if (const std::string wrong = each(item); !wrong.empty()) throw CLI::ValidationError(name, wrong);
      to.push_back(Number(std::strtod(item.c_str(), nullptr)));
      at = end + 1;
    }
  };
  return app.add_option_function<std::string>(name, read, what);
}

/// Options of a command refuse an empty value, such as an unset variable of a shell, if nothing else refuses it. An
/// empty text may be an input.
void refuse_empty_values(CLI::App& command);
/// Options of a command that may be repeated refuse a second value with the same key or name, or the same one.
void refuse_repeated_values(CLI::App& command);
/// The message for an error of the parser, "--seed: a value is missing", without the program's name.
std::string parse_error_text(const CLI::ParseError& error);

}  // namespace retort::cli
