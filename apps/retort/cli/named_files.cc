// The files that a command reads and writes: the model, and where its outputs go.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "cli/commands.h"

namespace retort::cli {
namespace {

/// A model that came through a pipe: the file in memory that holds it, and what the user calls it.
struct PipedModel {
  std::string file, name;
};
PipedModel& piped_model() {
  static PipedModel piped;
  return piped;
}

std::vector<std::string*>& models_to_read() {
  static std::vector<std::string*> all;
  return all;
}

std::string file_key(const std::string& path) {
  std::error_code error;
  // Absolute first: of a path that does not exist, only then ./x is the same as x.
  const auto canonical = std::filesystem::weakly_canonical(std::filesystem::absolute(path, error), error);
  return error ? path : canonical.string();
}

}  // namespace

std::string model_file(const std::string& name) {
  std::error_code error;
  const bool standard = name == "-";
  if (!standard && !std::filesystem::is_fifo(name, error)) return name;
  PipedModel& piped = piped_model();
  piped.name = standard ? "standard input" : name;
  const int from = standard ? STDIN_FILENO : open(name.c_str(), O_RDONLY | O_CLOEXEC);
  const auto cannot_read = [&] { return Failure("cannot read " + piped.name + ": " + std::strerror(errno)); };
  if (from < 0) throw cannot_read();
  const int file = memfd_create("model", 0);
  char piece[1 << 16];
  size_t all = 0;
  for (ssize_t n = 0; (n = read(from, piece, sizeof piece)) != 0; all += size_t(n)) {
    if (n < 0) throw cannot_read();
    if (file < 0 || write(file, piece, size_t(n)) != n) throw Failure("cannot keep " + piped.name + " in memory");
  }
  if (!standard) close(from);
  if (all == 0) throw Failure(piped.name + " is empty: there is no model in it");
  return piped.file = "/proc/self/fd/" + std::to_string(file);
}

void read_when_parsed(std::string& model) { models_to_read().push_back(&model); }

void read_piped_models() {
  for (std::string* model : models_to_read()) *model = model_file(*model);
}

std::string with_given_names(std::string text) {
  const PipedModel& piped = piped_model();
  if (piped.file.empty()) return text;
  for (size_t at = 0; (at = text.find(piped.file, at)) != std::string::npos;) {
    const size_t end = at + piped.file.size();
    const bool longer = end < text.size() && std::isdigit(static_cast<unsigned char>(text[end]));  // another number
    if (!longer) text.replace(at, piped.file.size(), piped.name);
    at += longer ? piped.file.size() : piped.name.size();
  }
  return text;
}

void refuse_dash(const std::string& option, const std::string& path) {
  if (path == "-") throw WrongUsage(option + " cannot be standard output; name a file, or ./- for a file of that name");
}

void check_distinct_files(const std::vector<NamedFile>& files, const std::vector<NamedFile>& read) {
  std::map<std::string, std::string> options;
  for (const NamedFile& file : read) {
    if (!file.path.empty()) options.emplace(file_key(file.path), file.option);
  }
  for (const NamedFile& file : files) {
    if (file.path.empty()) continue;
    refuse_dash(file.option, file.path);
    const auto [at, added] = options.emplace(file_key(file.path), file.option);
    if (!added)
      throw WrongUsage(file.option + " would write '" + file.path + "', which " + at->second +
                       " names as well; give it another name");
  }
}

void refuse_same_files(const std::string& option, const std::vector<std::string>& paths) {
  std::map<std::string, std::string> known;
  for (const std::string& path : paths) {
    const auto [at, added] = known.emplace(file_key(path), path);
    if (!added) throw WrongUsage(option + " names '" + at->second + "' again as '" + path + "'; leave one of them out");
  }
}

void add_read_file(std::vector<NamedFile>& read, const std::string& option, const std::string& value) {
  std::error_code error;
  for (size_t from = 0; from != std::string::npos;) {
    const std::string path = value.substr(from);
    if (std::filesystem::is_regular_file(path, error)) {
      read.push_back({option, path});
      return;
    }
    const size_t equals = value.find('=', from);  // names may have "=" in them
    from = equals == std::string::npos ? equals : equals + 1;
  }
}

std::vector<NamedFile> Common::files_read() const {
  std::vector<NamedFile> read{{"MODEL", model}};
  for (const std::string& input : inputs) add_read_file(read, "--input", input);
  return read;
}

void check_output_files(const std::vector<NamedFile>& files, const std::vector<NamedFile>& read) {
  check_distinct_files(files, read);
  for (const NamedFile& file : files) {
    if (!file.path.empty()) check_can_write(file.path, true);
  }
}

}  // namespace retort::cli
