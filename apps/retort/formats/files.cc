// Chooses the format by the suffix of a file, and adds the file's name to errors.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <protozero/exception.hpp>

#include "formats/formats.h"

namespace retort::cli {
namespace {

std::string slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Failure(std::strerror(errno));
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), std::streamsize(bytes.size()));
  file.close();
  if (!file) throw Failure("cannot write '" + path + "'");
}

std::string file_name(std::string name) {
  for (char& c : name) {
    if (c == '/' || c == ':' || c == '\\') c = '_';
  }
  return name;
}

}  // namespace

HostValues read_value_file(const std::string& path, const PortInfo& port, const MediaOptions& media) {
  const auto one = [](HostTensor tensor) {
    return HostValues{{"", {.kind = HostValue::Kind::tensor, .tensor = std::move(tensor)}}};
  };
  const bool tensor = port.kind != ONNX_TYPE_SEQUENCE && port.kind != ONNX_TYPE_MAP;
  try {
    const std::string bytes = slurp(path);
    if (path.ends_with(".pb")) return {{"", parse_pb(bytes, port.kind)}};
    if (!tensor) throw Failure("input '" + port.name + "' is not a tensor: give it as a .pb file");
    if (path.ends_with(".npy")) return one(parse_npy(bytes));
    if (path.ends_with(".npz")) {
      HostValues all;
      for (auto& [name, array] : read_npz(path))
        all[name] = {.kind = HostValue::Kind::tensor, .tensor = std::move(array)};
      return all;
    }
    if (path.ends_with(".wav")) return one(parse_wav(bytes, port, media));
    for (const char* suffix : {".png", ".jpg", ".jpeg"}) {
      if (path.ends_with(suffix)) return one(parse_image(bytes, port, media));
    }
  } catch (const protozero::exception& e) {
    throw Failure(path + ": malformed " + (tensor ? "TensorProto" : "SequenceProto or MapProto") + ": " + e.what());
  } catch (const Failure& f) {
    throw Failure(path + ": " + f.what());
  }
  throw Failure(path + ": the suffix must be .npy, .npz, .pb, .png, .jpg, .jpeg or .wav");
}

void check_can_write(const std::string& to, bool file) {
  namespace fs = std::filesystem;
  const fs::path target = fs::absolute(to);
  fs::path place = target;  // the existing part of the path; a file needs its folder
  std::error_code error;
  while (!fs::exists(place, error) && place.has_relative_path() && (!file || place == target))
    place = place.parent_path();
  const bool exists = file && place == target;
  if (fs::is_directory(place, error) == exists)
    throw Failure("cannot write '" + to + "': '" + place.string() + (exists ? "' is a folder" : "' is not a folder"));
  if (access(place.c_str(), W_OK) != 0)
    throw Failure("cannot write '" + to + "': '" + place.string() + "': " + std::strerror(errno));
}

namespace {

void check_can_save(const std::string& name, const HostValue& value) {
  if (value.kind == HostValue::Kind::other)
    throw Failure("output '" + name + "' cannot be saved: it is neither a tensor nor a sequence or map");
  for (const HostValue& item : value.items) check_can_save(name, item);
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

void write_values(const std::string& to, const HostValues& values) {
  for (const auto& [name, value] : values) check_can_save(name, value);
  if (to.ends_with(".npz")) return write_npz(to, arrays(values));
  std::error_code error;
  std::filesystem::create_directories(to, error);
  if (error) throw Failure("cannot make the folder '" + to + "': " + error.message());
  for (const auto& [name, value] : values) {
    const std::string path = to + "/" + file_name(name);
    const bool npy = value.kind == HostValue::Kind::tensor && numpy_has(value.tensor.type);
    write_file(path + (npy ? ".npy" : ".pb"), npy ? npy_bytes(value.tensor) : pb_bytes(value, name));
    const std::string stale = path + (npy ? ".pb" : ".npy");
    std::filesystem::remove(stale, error);
    if (error) throw Failure("cannot remove '" + stale + "' of an earlier run: " + error.message());
  }
}

}  // namespace retort::cli
