// Tensors from files, and random tensors.
#pragma once
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "engine/engine.h"

namespace retort::cli {

/// How pictures and sound are converted to tensors.
struct MediaOptions {
  std::vector<float> mean, std;  ///< per channel, or one for all; applied after `scale`
  float scale = 1;               ///< value of the brightest pixel, if the input has floats
  int width = 0, height = 0;     ///< size in pixels to resize to; 0: the picture's own
  std::string layout;            ///< "nchw", "nhwc"; "": follows from the input's shape
  bool bgr = false;              ///< blue first
  bool fit = false;              ///< sound is cut, or padded with silence, to the length of the input
};

/// Reads arrays by name: .npz files have many, other files have one without a name. The suffix gives the format: .npy,
/// .npz, .pb, .csv; .png, .jpg, .jpeg and .wav are converted to the type and shape of `port`; sequences and maps are in .pb
/// files. Throws Failure naming the file.
HostValues read_value_file(const std::string& path, const PortInfo& port, const MediaOptions& media);
/// A file or pipe to read from. Throws Failure naming it.
std::ifstream open_file(const std::string& path);
/// All bytes of a file or pipe. Throws Failure without the file's name.
std::string read_file(const std::string& path);
/// Writes a whole file. Throws Failure.
void write_file(const std::string& path, const std::string& bytes);
/// Throws Failure if the file, or a folder of that name with files in it, could not be written; creates nothing.
void check_can_write(const std::string& to, bool file);
/// Writes values to the folder `to`, each as .npy (or .pb if numpy does not support it; an older file with the
/// other suffix is removed), or as .csv if `csv`; or to the file `to` if that ends in .npz or .csv. Names that become the same
/// file name get numbers. Throws Failure, before anything is written, if a value cannot be saved.
void write_values(const std::string& to, const HostValues& values, bool csv = false);
/// The files in `folder` that write_values() made for values of these names, by name, as far as there are some.
std::map<std::string, std::string> written_files(const std::string& folder, const std::set<std::string>& names);
/// Normally distributed floats, integers 0 and 1; the same for the same seed. Free extents become 1 if `shape` is
/// empty.
HostTensor random_tensor(const PortInfo& port, const std::vector<int64_t>& shape, uint64_t seed);

/// Whether read_value_file() knows the format.
bool has_known_suffix(const std::string& path);
/// Whether the path ends in `suffix`, ".npy", in letters of any case.
bool has_suffix(const std::string& path, std::string_view suffix);
/// Whether `text` is a value and not the name of a file: it begins like one, or the input takes strings and no format
/// has its suffix.
bool is_value(const std::string& text, const PortInfo& port);
/// "16000", "1,2,3", "[[1,2],[3,4]]", "true", "hello", "[\"a\",\"b\"]" as a tensor of the input's type. Numbers without
/// their own shape get the input's, whose last free extent takes as many as there are. Throws Failure.
HostTensor parse_values(const std::string& text, const PortInfo& port);
/// A tensor of these elements, which have the shape `natural` unless the input's shape fits their number. Throws Failure
/// for an element that the type cannot have.
HostTensor tensor_of(const std::vector<std::string>& elements, const std::vector<int64_t>& natural,
                     const PortInfo& port);

/// float16, bfloat16, float32 or float64.
bool is_float(ONNXTensorElementDataType type);
/// Whether the elements are real numbers: not strings, not complex.
bool is_real(ONNXTensorElementDataType type);
bool is_complex(ONNXTensorElementDataType type);
/// A tensor of complex numbers as one of real numbers with an additional axis of 2.
HostTensor parts(const HostTensor& tensor);
/// Element i of a tensor of real numbers; 64-bit integers are rounded.
double number(const HostTensor& tensor, size_t i);
/// Sets element i to the number, rounded to the type: floats, or integers of up to 32 bits. Throws Failure for other
/// types.
void set_number(HostTensor& tensor, size_t i, double value);

}  // namespace retort::cli
