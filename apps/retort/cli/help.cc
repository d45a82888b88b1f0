#include "cli/help.h"

#include <algorithm>

#include "cli/text.h"

namespace retort::cli {
namespace {

constexpr size_t kWidest = 100;  // longer lines are hard to read

/// All lines after the first begin in the column.
std::string indented(std::string text, size_t column) {
  for (size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 1 + column)
    text.insert(at + 1, std::string(column, ' '));
  return text;
}

/// "  --name VALUE   text", with the text in a column of its own, on the next line after a long name.
std::string definition(const std::string& name, const std::string& text, size_t column, size_t width) {
  std::string out = "  " + name;
  const size_t used = columns_of(out);
  out += used + 2 <= column ? std::string(column - used, ' ') : "\n" + std::string(column, ' ');
  return out + indented(wrapped(text, width - column, 0), column) + "\n";
}

/// Lines of words that begin with `indent` spaces and end in `end`, except for the last one; those after the first begin
/// with `more` spaces in addition.
std::string broken(const std::string& text, size_t width, size_t indent, const std::string& end, size_t more = 0) {
  std::string out = wrapped(text, width - std::min(width - 1, indent + more + end.size()), 0);
  const std::string space(indent, ' ');
  indent += more;
  for (size_t at = 0; (at = out.find('\n', at)) != std::string::npos; at += end.size() + 1 + indent) {
    out.insert(at, end);
    out.insert(at + end.size() + 1, std::string(indent, ' '));
  }
  return space + out;
}

/// A line of an example as it stands, if it fits. Otherwise a command goes on after a backslash, and what it does, which
/// stands after a gap, begins a line of its own.
std::string example_line(const std::string& line, size_t width) {
  if (columns_of(line) <= width) return line;
  const size_t begin = std::min(line.find_first_not_of(' '), line.size());
  if (begin > 20) return broken(line.substr(begin), width, 6, "");
  const size_t gap = std::min(line.find("  ", begin), line.size());
  const std::string command = line.substr(begin, gap - begin), what = line.substr(gap);
  const std::string first = broken(command, width, std::min<size_t>(begin, 4), " \\", 4);
  return what.empty() ? first : first + "\n" + broken(what, width, 6, "");
}

/// Paragraphs are wrapped; those that begin with "Example" keep their lines.
std::string footer_text(const std::string& footer, size_t width) {
  std::string out;
  for (size_t at = 0; at < footer.size();) {
    const size_t end = std::min(footer.find("\n\n", at), footer.size());
    const std::string paragraph = footer.substr(at, end - at);
    out += "\n";
    if (paragraph.starts_with("Example")) {
      for (size_t from = 0; from < paragraph.size();) {
        const size_t stop = std::min(paragraph.find('\n', from), paragraph.size());
        out += example_line(paragraph.substr(from, stop - from), width) + "\n";
        from = stop + 1;
      }
    } else {
      out += wrapped(paragraph, width, 0) + "\n";
    }
    at = end + 2;
  }
  return out;
}

std::string name_of(const CLI::Option& option) {
  std::string name;
  for (const std::string& n : option.get_snames()) name += (name.empty() ? "-" : ", -") + n;
  for (const std::string& n : option.get_lnames()) name += (name.empty() ? "--" : ", --") + n;
  if (name.empty()) return option.get_name(true);
  if (option.get_type_size() != 0 && !option.get_type_name().empty()) name += " " + option.get_type_name();
  return name;
}

std::string text_of(const CLI::Option& option) {
  std::string text = option.get_description();
  if (!option.get_default_str().empty()) text += " (default: " + option.get_default_str() + ")";
  if (option.get_required()) text += " (required)";
  return text;
}

std::string usage_line(const CLI::App& command) {
  std::string line = "Usage: retort " + command.get_name();
  for (const CLI::Option* o : command.get_options()) {
    if (o->get_positional()) line += o->get_required() ? " " + name_of(*o) : " [" + name_of(*o) + "]";
  }
  return line + " [OPTIONS]";
}

}  // namespace

std::string help_of_program(const CLI::App& app, size_t width) {
  width = std::min(width, kWidest);
  std::string out = wrapped(app.get_description(), width, 0) + "\nUsage: retort COMMAND [OPTIONS]\n\nCommands:\n";
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!sub->get_group().empty()) out += definition(sub->get_name(), sub->get_description(), 14, width);
  }
  return out + footer_text(app.get_footer(), width);
}

std::string help_of_command(const CLI::App& command, size_t width) {
  width = std::min(width, kWidest);
  const size_t column = width < 60 ? 8 : 28;
  std::string text = command.get_description();
  if (!text.empty()) text[0] = char(std::toupper(static_cast<unsigned char>(text[0])));
  std::string out = wrapped(text + ".", width, 0) + "\n" + wrapped(usage_line(command), width, 4) + "\n";
  std::vector<std::string> groups;
  for (const CLI::Option* o : command.get_options()) {
    const std::string group = o->get_positional() ? "" : o->get_group();
    if (std::find(groups.begin(), groups.end(), group) == groups.end()) groups.push_back(group);
  }
  std::stable_sort(groups.begin(), groups.end(), [](const auto& a, const auto& b) { return a.empty() && !b.empty(); });
  for (const std::string& group : groups) {
    out += "\n" + (group.empty() ? "Arguments" : group) + ":\n";
    for (const CLI::Option* o : command.get_options()) {
      if ((o->get_positional() ? "" : o->get_group()) == group)
        out += definition(name_of(*o), text_of(*o), column, width);
    }
  }
  return out + footer_text(command.get_footer(), width);
}

}  // namespace retort::cli
