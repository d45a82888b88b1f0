// Text for terminals: without characters that a terminal acts upon, as wide as it may be, in lines and in tables.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace retort::cli {

/// The text with control characters, bytes that are not UTF-8 and marks of the direction of writing as \x1b or \u202e,
/// so that a name from a model cannot move the cursor or break a line.
std::string clean(const std::string& text);
/// The same, but line breaks stay, for messages.
std::string clean_lines(const std::string& text);
/// All texts and keys cleaned.
nlohmann::json clean(const nlohmann::json& data);

/// Prints the JSON with line breaks; bytes that are not UTF-8 become U+FFFD.
void print_json(const nlohmann::json& data);

/// The number of columns that the text takes, without its colours.
size_t columns_of(const std::string& text);
/// The text with "…" in its middle if it takes more columns.
std::string shortened(const std::string& text, size_t columns);
/// Words in lines of up to `width` columns; lines after the first begin with `indent` spaces.
std::string wrapped(const std::string& text, size_t width, size_t indent);

/// A table whose columns are as wide as their content. On a terminal, long cells are shortened until it fits; elsewhere
/// they stay complete.
class Table {
 public:
  struct Column {
    std::string title;
    bool right = false;  ///< aligned at the right, never shortened: numbers
  };
  explicit Table(std::vector<Column> columns, size_t indent = 2) : columns_(std::move(columns)), indent_(indent) {}
  /// One cell per column; missing ones are empty.
  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  /// Lines with the titles, if any, and the rows.
  std::string text() const;
  void print() const;

 private:
  std::vector<size_t> widths() const;
  std::string line(const std::vector<std::string>& cells, const std::vector<size_t>& widths) const;
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
  size_t indent_;
};

}  // namespace retort::cli
