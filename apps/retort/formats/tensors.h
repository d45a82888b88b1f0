// Tensors in files and at random.
#pragma once
#include <string>

#include "engine/engine.h"

namespace retort::cli {

/// How pictures and sound become tensors.
struct MediaOptions {
  std::vector<float> mean, std;  ///< per channel, or one for all; applied after `scale`
  float scale = 1;               ///< what the brightest pixel value becomes, where the input has floats
  int width = 0, height = 0;     ///< pixels to resize to; 0: as the picture is
  std::string layout;            ///< "nchw", "nhwc"; "": by the input's shape
  bool bgr = false;              ///< blue first
  bool fit = false;              ///< sound is cut, or filled with silence, to the length that the input has
};

/// Arrays by name: .npz has many, other files one without a name. By the suffix: .npy, .npz, .pb; .png, .jpg, .jpeg and
/// .wav are brought to the type and shape of `port`; sequences and maps are in .pb files. Throws Failure naming the file.
HostValues read_value_file(const std::string& path, const PortInfo& port, const MediaOptions& media);
/// Throws Failure when the file, or a folder of that name with files in it, could not be written; makes nothing.
void check_can_write(const std::string& to, bool file);
/// Into the folder `to`, a .npy each (.pb for what numpy lacks, the other of the two is removed), or into the file where
/// `to` ends in .npz. Throws Failure, before anything is written, where a value cannot be saved so.
void write_values(const std::string& to, const HostValues& values);
/// Normal floats, integers 0 and 1; the same for the same seed. Free extents become 1 where `shape` is empty.
HostTensor random_tensor(const PortInfo& port, const std::vector<int64_t>& shape, uint64_t seed);

/// Whether the elements are real numbers: not strings, not complex.
bool is_real(ONNXTensorElementDataType type);
bool is_complex(ONNXTensorElementDataType type);
/// A tensor of complex numbers as one of real numbers with another axis, of 2.
HostTensor parts(const HostTensor& tensor);
/// Element i of a tensor of real numbers; 64-bit integers are rounded.
double number(const HostTensor& tensor, size_t i);
/// Makes element i the number, rounded to the type: floats, or integers of up to 32 bits. Throws Failure for others.
void set_number(HostTensor& tensor, size_t i, double value);

}  // namespace retort::cli
