// Files that the program writes.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace retort::cli {

/// A file that appears under its name once it is complete, in place of the one that was there, through symbolic links.
/// If the program is killed before, nothing is left of it where the file system has files without a name. A device or a
/// pipe is written directly, and so is what a link in /proc leads to, a file of another user, one with several names,
/// one whose group or permissions another file cannot get, and one whose folder the user may not write to.
class NewFile {
 public:
  /// Throws Failure if the file cannot be made.
  explicit NewFile(const std::string& path);
  ~NewFile();
  NewFile(const NewFile&) = delete;

  /// Throws Failure.
  void write(const std::string& bytes);
  /// A path to the unfinished file, for code that opens it itself.
  std::string place() const;
  /// Gives the file its name. Throws Failure.
  void finish();
  /// Throws the Failure of a write, with the reason that errno tells.
  [[noreturn]] void fail() const;

 private:
  /// Opens the new file in the folder of the old one; file_ is negative if it cannot be made.
  void open_beside();
  void open_named();
  /// Gives a file without a name its own, if no file has that: then nothing is left of a process that is killed.
  bool take_free_name();
  void give_name();
  void discard();
  std::string path_, target_, temporary_;  ///< temporary_: empty as long as the file has no name
  int file_ = -1;
  bool direct_ = false;
};

/// A folder that is made if it does not exist. Unless all its files could be written, it removes those that it made new,
/// and the folders.
class NewFolder {
 public:
  /// All functions throw Failure.
  explicit NewFolder(const std::string& path);
  ~NewFolder();
  NewFolder(const NewFolder&) = delete;

  void write(const std::string& name, const std::string& bytes);
  void finish() { made_.clear(); }

 private:
  void remove_made();
  std::filesystem::path path_;
  std::vector<std::filesystem::path> made_;  ///< outer folders first
};

}  // namespace retort::cli
