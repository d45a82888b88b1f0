// Chooses the format by the suffix of a file, and adds the file's name to errors.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <protozero/exception.hpp>
#include <set>
#include <vector>

#include "engine/large_memory.h"
#include "formats/formats.h"
#include "formats/new_file.h"

namespace retort::cli {
namespace {

/// The names of files for these values, without suffixes: each differs from all others.
std::map<std::string, std::string> file_names(const std::set<std::string>& all) {
  constexpr size_t kMost = 200;  // bytes, of the 255 that file systems allow
  std::map<std::string, std::string> names;
  std::set<std::string> taken;
  for (const std::string& name : all) {
    std::string plain = name.substr(0, kMost);
    for (char& c : plain) {
      if (c == '/' || c == ':' || c == '\\' || static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = '_';
    }
    std::string file = plain;
    for (int i = 2; file.empty() || taken.contains(file); ++i) file = plain + "_" + std::to_string(i);
    taken.insert(names[name] = file);
  }
  return names;
}

}  // namespace

std::ifstream open_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Failure("'" + path + "': " + std::strerror(errno));
  return file;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Failure(std::strerror(errno));
  std::error_code unknown;
  const uintmax_t size = std::filesystem::file_size(path, unknown);
  std::string bytes;
  if (!unknown) bytes.reserve(size);  // tensors may have gigabytes, and growing copies them
  expect_large(bytes.data(), bytes.capacity());
  std::vector<char> piece(size_t(1) << 20);
  while (file.read(piece.data(), std::streamsize(piece.size())) || file.gcount() > 0)
    bytes.append(piece.data(), size_t(file.gcount()));
  if (file.bad()) throw Failure("the file cannot be read");
  return bytes;
}

HostValues read_value_file(const std::string& path, const PortInfo& port, const MediaOptions& media) {
  const auto one = [](HostTensor tensor) {
    HostValues all;  // an initializer list would copy the tensor
    all[""] = {.kind = HostValue::Kind::tensor, .tensor = std::move(tensor)};
    return all;
  };
  const bool tensor = port.kind != ONNX_TYPE_SEQUENCE && port.kind != ONNX_TYPE_MAP;
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) throw Failure(path + ": this is a directory, not a file");
  if (!has_known_suffix(path))
    throw Failure(path +
                  (std::filesystem::exists(path, error)
                       ? ": the suffix must be .npy, .npz, .pb, .csv, .png, .jpg, .jpeg or .wav"
                       : ": this is neither a file nor a value of the input") +
                  "; a value is a number, a list such as [[1,2],[3,4]], or a text for an input of strings");
  try {
    if (!tensor && !has_suffix(path, ".pb"))
      throw Failure("input '" + port.name + "' is not a tensor: give it as a .pb file");
    if (has_suffix(path, ".npy")) return one(read_npy(path));
    if (has_suffix(path, ".npz")) {
      HostValues all;
      for (auto& [name, array] : read_npz(path))
        all[name] = {.kind = HostValue::Kind::tensor, .tensor = std::move(array)};
      return all;
    }
    const std::string bytes = read_file(path);
    if (has_suffix(path, ".pb")) {
      HostValues all;
      all[""] = parse_pb(bytes, port.kind);
      return all;
    }
    if (has_suffix(path, ".csv")) return one(parse_csv(bytes, port));
    if (has_suffix(path, ".wav")) return one(parse_wav(bytes, port, media));
    return one(parse_image(bytes, port, media));
  } catch (const protozero::exception&) {
    throw Failure(path + ": malformed " + (tensor ? "TensorProto" : "SequenceProto or MapProto") +
                  ": the file is cut off or damaged");
  } catch (const Failure& f) {
    throw Failure(path + ": " + f.what());
  }
}

void write_file(const std::string& path, const std::string& bytes) {
  NewFile file(path);
  file.write(bytes);
  file.finish();
}

void check_can_write(const std::string& to, bool file) {
  namespace fs = std::filesystem;
  const fs::path target = fs::absolute(to);
  fs::path place = target;  // the existing part of the path; a file needs its folder
  std::error_code error;
  while (!fs::exists(place, error) && place.has_relative_path() && (!file || place == target))
    place = place.parent_path();
  const bool exists = file && place == target;
  const bool folder = fs::is_directory(place, error);
  if (error == std::errc::permission_denied)
    throw Failure("cannot write '" + to + "': '" + place.string() + "': " + error.message());
  if (folder == exists)
    throw Failure("cannot write '" + to + "': '" + place.string() + (exists ? "' is a folder" : "' is not a folder"));
  if (access(place.c_str(), W_OK) != 0)
    throw Failure("cannot write '" + to + "': '" + place.string() + "': " + std::strerror(errno));
}

namespace {

void check_can_save(const std::string& name, const HostValue& value, bool csv) {
  if (csv && (value.kind != HostValue::Kind::tensor || is_complex(value.tensor.type)))
    throw Failure("output '" + name + "' cannot be saved as .csv: it is not a tensor of numbers or texts");
  if (value.kind == HostValue::Kind::other)
    throw Failure("output '" + name + "' cannot be saved: it is neither a tensor nor a sequence or map");
  for (const HostValue& item : value.items) check_can_save(name, item, csv);
}

/// The arrays for an .npz file, which can hold only what numpy supports.
std::map<std::string, HostTensor> arrays(const HostValues& values) {
  std::map<std::string, HostTensor> all;
  for (const auto& [name, value] : values) {
    const bool tensor = value.kind == HostValue::Kind::tensor;
    if (!tensor || !numpy_has(value.tensor.type))
      throw Failure("output '" + name + "' cannot be saved in an .npz file, which has no " +
                    (tensor ? std::string("elements of type ") + type_name(value.tensor.type) : "sequences or maps") +
                    "; give --save a folder, where it becomes a .pb");
    all[name] = value.tensor;
  }
  return all;
}

}  // namespace

std::map<std::string, std::string> written_files(const std::string& folder, const std::set<std::string>& names) {
  std::map<std::string, std::string> files;
  for (const auto& [name, file] : file_names(names)) {
    for (const char* suffix : {".csv", ".pb", ".npy"}) {
      const std::string path = folder + "/" + file + suffix;
      if (std::filesystem::exists(path)) files[name] = path;
    }
  }
  return files;
}

void write_values(const std::string& to, const HostValues& values, bool csv) {
  for (const auto& [name, value] : values) check_can_save(name, value, csv || has_suffix(to, ".csv"));
  if (has_suffix(to, ".npz")) return write_npz(to, arrays(values));
  if (has_suffix(to, ".csv")) return write_file(to, csv_text(values.begin()->second.tensor));
  NewFolder folder(to);
  std::set<std::string> all;
  for (const auto& [name, value] : values) all.insert(name);
  const auto names = file_names(all);
  for (const auto& [name, value] : values) {
    const std::string& file = names.at(name);
    const bool npy = value.kind == HostValue::Kind::tensor && numpy_has(value.tensor.type);
    const std::string suffix = csv ? ".csv" : npy ? ".npy" : ".pb";
    folder.write(file + suffix, csv ? csv_text(value.tensor) : npy ? npy_bytes(value.tensor) : pb_bytes(value, name));
    if (csv) continue;
    const std::string stale = to + "/" + file + (npy ? ".pb" : ".npy");
    std::error_code error;
    std::filesystem::remove(stale, error);
    if (error) throw Failure("cannot remove '" + stale + "' of an earlier run: " + error.message());
  }
  folder.finish();
}

}  // namespace retort::cli
