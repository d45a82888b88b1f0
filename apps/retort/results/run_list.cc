#include "results/run_list.h"

#include <iostream>

#include "formats/tensors.h"

namespace retort::cli {
namespace {

std::vector<std::string> words_of_line(const std::string& line) {
  std::vector<std::string> words;
  std::string word;
  bool some = false;
  char quote = 0;
  for (const char c : line + " ") {
    if (quote ? c == quote : c == '"' || c == '\'') {
      quote = quote ? char(0) : c;
      some = true;
    } else if (quote == 0 && (c == ' ' || c == '\t' || c == '\r')) {
      if (some) words.push_back(word);
      word.clear();
      some = false;
    } else {
      word += c;
      some = true;
    }
  }
  if (quote) throw Failure("a quote is not closed");
  return words;
}

}  // namespace

std::vector<std::vector<std::string>> read_run_list(const std::string& path) {
  std::ifstream file;
  if (path != "-") file = open_file(path);
  std::istream& lines = path == "-" ? std::cin : file;
  const std::string name = path == "-" ? "standard input" : "'" + path + "'";
  std::vector<std::vector<std::string>> runs;
  size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (number == 1 && line.starts_with("\xef\xbb\xbf")) line.erase(0, 3);  // the mark of UTF-8
    if (line.find('\0') != std::string::npos)
      throw Failure(name + ", line " + std::to_string(number) + " has a zero byte: the list must be text in UTF-8");
    const size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string::npos || line[begin] == '#') continue;
    try {
      runs.push_back(words_of_line(line));
    } catch (const Failure& e) {
      throw Failure(name + ", line " + std::to_string(number) + ": " + e.what());
    }
  }
  if (runs.empty()) throw Failure(name + " has no runs: it needs a line of inputs for each");
  return runs;
}

}  // namespace retort::cli
