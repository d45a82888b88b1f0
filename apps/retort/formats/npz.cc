// numpy's .npz: a zip file of .npy files.
#include <minizip/unzip.h>
#include <minizip/zip.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "formats/formats.h"
#include "formats/new_file.h"

namespace retort::cli {
namespace {

// Limit of one array: a zip file may declare more bytes than there is memory.
constexpr size_t kMostBytes = size_t(1) << 36;

std::string read_entry(unzFile zip, size_t size) {
  if (unzOpenCurrentFile(zip) != UNZ_OK) throw Failure("an entry of the zip file cannot be opened");
  std::string bytes;
  std::string piece(size_t(1) << 20, '\0');
  int n = 0;
  while ((n = unzReadCurrentFile(zip, piece.data(), unsigned(piece.size()))) > 0) {
    bytes.append(piece, 0, size_t(n));
    if (bytes.size() > kMostBytes) throw Failure("an entry of the zip file is too large");
  }
  if (n < 0 || unzCloseCurrentFile(zip) != UNZ_OK || bytes.size() != size)
    throw Failure("an entry of the zip file is damaged");
  return bytes;
}

}  // namespace

std::map<std::string, HostTensor> read_npz(const std::string& path) {
  if (access(path.c_str(), R_OK) != 0) throw Failure(std::strerror(errno));
  if (std::filesystem::is_fifo(path)) throw Failure("an .npz file cannot come from a pipe: it is not read in order");
  const std::unique_ptr<void, int (*)(unzFile)> zip(unzOpen64(path.c_str()), unzClose);
  if (!zip) throw Failure("not an .npz file, or it cannot be opened");
  std::map<std::string, HostTensor> all;
  for (int more = unzGoToFirstFile(zip.get()); more == UNZ_OK; more = unzGoToNextFile(zip.get())) {
    char name[1024];
    unz_file_info64 info;
    if (unzGetCurrentFileInfo64(zip.get(), &info, name, sizeof name, nullptr, 0, nullptr, 0) != UNZ_OK)
      throw Failure("the directory of the zip file is damaged");
    std::string key = name;
    if (!key.ends_with(".npy")) continue;
    key.resize(key.size() - 4);
    if (all.contains(key)) throw Failure("there are two arrays '" + key + "'; save each under a name of its own");
    try {
      if (info.compression_method != 0 && info.compression_method != Z_DEFLATED)
        throw Failure("it is compressed by method " + std::to_string(info.compression_method) +
                      ", which is not supported; save it with numpy.savez or savez_compressed");
      all[key] = parse_npy(read_entry(zip.get(), info.uncompressed_size));
    } catch (const Failure& f) {
      throw Failure("array '" + key + "': " + f.what());
    }
  }
  if (all.empty()) throw Failure("the file has no array");
  return all;
}

void write_npz(const std::string& path, const std::map<std::string, HostTensor>& tensors) {
  NewFile file(path);
  errno = EIO;  // what is told if minizip fails without a call of the system that does
  const auto close = [](zipFile zip) { zipClose(zip, nullptr); };
  std::unique_ptr<void, decltype(close)> zip(zipOpen64(file.place().c_str(), APPEND_STATUS_CREATE), close);
  bool good = bool(zip);
  for (const auto& [name, tensor] : tensors) {
    const std::string bytes = npy_bytes(tensor);
    const zip_fileinfo info{};
    // Not compressed, as by numpy.savez.
    good = good && zipOpenNewFileInZip64(zip.get(), (name + ".npy").c_str(), &info, nullptr, 0, nullptr, 0, nullptr, 0,
                                         0, bytes.size() > 0xffff0000u) == ZIP_OK;
    constexpr size_t kPiece = size_t(1) << 30;
    for (size_t at = 0; good && at < bytes.size(); at += kPiece)
      good = zipWriteInFileInZip(zip.get(), bytes.data() + at, unsigned(std::min(kPiece, bytes.size() - at))) == ZIP_OK;
    good = good && zipCloseFileInZip(zip.get()) == ZIP_OK;
  }
  if (!good || zipClose(zip.release(), nullptr) != ZIP_OK) file.fail();
  file.finish();
}

}  // namespace retort::cli
