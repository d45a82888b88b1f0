// The inputs of a run: from files, from values on the command line, random.
#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <set>

#include "cli/commands.h"

namespace retort::cli {
namespace {

constexpr const char* kPicture[] = {"--resize", "--layout", "--bgr"};
constexpr const char* kPixels[] = {"--mean", "--std"};

const PortInfo& find_port(const std::vector<PortInfo>& ports, const std::string& name) {
  std::string known;
  for (const PortInfo& port : ports) {
    if (port.name == name) return port;
    known += (known.empty() ? "'" : ", '") + port.name + "'";
  }
  throw Failure("the model has no input '" + name + "'; it has " + (known.empty() ? "none" : known));
}

/// The array of that name, or the only one.
HostValue take(HostValues&& arrays, const std::string& name, const std::string& file) {
  const auto found = arrays.find(name);
  if (found != arrays.end()) return std::move(found->second);
  if (arrays.size() == 1) return std::move(arrays.begin()->second);
  throw Failure(file + " has no array '" + name + "'");
}

bool is_picture(const std::string& file) {
  return has_suffix(file, ".png") || has_suffix(file, ".jpg") || has_suffix(file, ".jpeg");
}

class InputReader {
 public:
  InputReader(const Common& options, const std::vector<PortInfo>& ports) : o_(options), ports_(ports) {}

  HostValues read() {
    for (const auto& [name, shape] : o_.wanted_shapes()) learn_wanted(name, shape);
    for (const std::string& text : o_.inputs) read_given(text);
    if (!o_.input_folder.empty()) read_folder();
    fill();
    refuse_unused();
    return std::move(all_);
  }

 private:
  /// The inputs that --input does not give.
  void read_folder() {
    bool used = ports_.empty();
    for (size_t i = 0; i < ports_.size(); ++i) {
      const std::string file = numbered_file(o_.input_folder, "input_", i);
      if (all_.contains(ports_[i].name)) continue;
      give(ports_[i], take(read_file(file, ports_[i]), ports_[i].name, file));
      used = true;
    }
    if (!used) throw WrongUsage("--inputs is not used: --input gives all inputs; leave it out");
    refuse_more_files(o_.input_folder, "input_", ports_.size());
  }

  HostValues read_file(const std::string& file, const PortInfo& port) {
    if (is_picture(file)) use(port);
    if (has_suffix(file, ".wav")) used_.insert("--fit");
    return read_value_file(file, port, o_.media);
  }

  /// A picture uses --scale only if the input has floats.
  void use(const PortInfo& port) {
    used_.insert(std::begin(kPicture), std::end(kPicture));
    used_.insert(std::begin(kPixels), std::end(kPixels));
    if (is_float(port.type)) used_.insert("--scale");
  }

  /// The rest of the inputs is random.
  void fill() {
    const bool given = !all_.empty();
    for (size_t i = 0; i < ports_.size(); ++i) {
      const PortInfo& port = ports_[i];
      if (all_.contains(port.name)) continue;
      if (given && !o_.random)
        throw Failure("input '" + port.name + "' is not given; --random fills inputs that no file gives");
      const std::vector<int64_t> shape = random_shape(port);
      all_[port.name] = {.kind = HostValue::Kind::tensor,
                         .tensor = random_tensor(port, shape, o_.seed + i),
                         .guessed = std::find(shape.begin(), shape.end(), -1) != shape.end()};
      used_.insert({"--seed", "--random"});
    }
  }

  void read_given(const std::string& text) {
    if (ports_.empty()) throw WrongUsage("--input is not used: the model has no inputs; leave it out");
    const bool named = is_named(text);
    if (!named && has_suffix(text, ".npz")) {
      for (auto& [name, value] : read_file(text, {})) give(find_port(ports_, name), std::move(value));
      return;
    }
    const bool one = ports_.size() == 1 && !named;
    const auto [name, value] = one ? std::pair(ports_[0].name, text) : split_name(text);
    const PortInfo& port = find_port(ports_, name);
    if (value.empty() && port.type != ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING)
      throw Failure("input '" + name + "' is given without a file or a value");
    if (is_value(value, port))
      give(port, {.kind = HostValue::Kind::tensor, .tensor = parse_values(value, port)});
    else
      give(port, take(read_file(value, port), name, value));
  }

  /// Splits a name from what follows; names of inputs may have "=" in them.
  std::pair<std::string, std::string> split_name(const std::string& text) const {
    const PortInfo* longest = nullptr;
    for (const PortInfo& port : ports_) {
      if (text.starts_with(port.name + "=") && (!longest || port.name.size() > longest->name.size())) longest = &port;
    }
    if (longest) return {longest->name, text.substr(longest->name.size() + 1)};
    return split_at(text, '=', "NAME=FILE or NAME=VALUE");
  }

  /// Whether the text begins with an input's name, and not with a file's name or a text that has "=" in it.
  bool is_named(const std::string& text) const {
    const size_t equals = text.find('=');
    if (equals == std::string::npos) return false;
    if (ports_.size() != 1 || has_port(text.substr(0, equals))) return true;
    std::error_code error;
    return ports_[0].type != ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING && !std::filesystem::exists(text, error);
  }

  bool has_port(const std::string& name) const {
    return std::any_of(ports_.begin(), ports_.end(), [&](const PortInfo& p) { return p.name == name; });
  }

  void give(const PortInfo& port, HostValue value) {
    if (all_.contains(port.name)) throw WrongUsage("--input gives '" + port.name + "' twice; leave one of them out");
    if (wanted_.contains(port.name))
      throw WrongUsage("--shape " + port.name + "=" + dims_text(wanted_[port.name]) + " is not used: the input '" +
                       port.name + "' is given with its shape; leave --shape out");
    std::vector<int64_t>& shape = value.tensor.shape;
    // Engines differ in accepting this.
    if (port.ranked && port.shape.empty() && shape == std::vector<int64_t>{1}) shape.clear();
    learn(port, shape);
    all_[port.name] = std::move(value);
  }

  /// An entry of --shape: the shape of an input, or one of the extents that the model names.
  void learn_wanted(const std::string& name, const std::vector<int64_t>& shape) {
    if (shape.size() == 1 && !has_port(name) && is_extent(name)) {
      extents_[name] = shape[0];
      asked_.insert(name);
      return;
    }
    learn(find_port(ports_, name), wanted_[name] = shape);
  }

  bool is_extent(const std::string& name) const {
    return std::any_of(ports_.begin(), ports_.end(), [&](const PortInfo& p) {
      return std::find(p.symbols.begin(), p.symbols.end(), name) != p.symbols.end();
    });
  }

  /// Records named extents, which are the same in all inputs.
  void learn(const PortInfo& port, const std::vector<int64_t>& shape) {
    for (size_t i = 0; i < shape.size() && i < port.symbols.size(); ++i) {
      const std::string& symbol = port.symbols[i];
      if (symbol.empty()) continue;
      const int64_t known = extents_.emplace(symbol, shape[i]).first->second;
      if (asked_.contains(symbol) && known != shape[i])
        throw WrongUsage("--shape " + symbol + "=" + std::to_string(known) + " contradicts input '" + port.name +
                         "', which has " + std::to_string(shape[i]) + " there; leave one of them out");
    }
  }

  std::vector<int64_t> random_shape(const PortInfo& port) {
    const auto wanted = wanted_.find(port.name);
    if (wanted != wanted_.end()) return wanted->second;
    std::vector<int64_t> shape = port.shape;
    for (size_t i = 0; i < shape.size(); ++i) {
      const auto known = extents_.find(port.symbols[i]);
      if (shape[i] < 0 && known != extents_.end()) {
        shape[i] = known->second;
        asked_.erase(known->first);
      }
    }
    return shape;
  }

  void refuse_unused() const {
    if (!asked_.empty())
      throw WrongUsage("--shape " + *asked_.begin() +
                       "=… is not used: no random input takes that extent; leave it out");
    const auto refuse = [&](const char* option, const char* why) {
      if (o_.given(option) && !used_.contains(option))
        throw WrongUsage(std::string(option) + " is not used: " + why + "; leave it out");
    };
    for (const char* option : kPicture) refuse(option, "no input is a picture");
    for (const char* option : kPixels) refuse(option, "no input is a picture");
    refuse("--scale", "no input of floats is a picture");
    refuse("--fit", "no input is sound");
    refuse("--seed", "no input is random");
    refuse("--random", "all inputs are given");
  }

  const Common& o_;
  const std::vector<PortInfo>& ports_;
  HostValues all_;
  std::map<std::string, std::vector<int64_t>> wanted_;
  std::map<std::string, int64_t> extents_;
  std::set<std::string> asked_;  ///< extents that --shape gives and no random input has used yet
  std::set<std::string> used_;   ///< options
};

}  // namespace

std::string find_numbered_file(const std::string& folder, const char* prefix, size_t index) {
  const std::string number = prefix + std::to_string(index), name = folder + "/" + number;
  const bool pb = std::filesystem::exists(name + ".pb"), npy = std::filesystem::exists(name + ".npy");
  if (pb && npy) throw Failure(folder + " has both " + number + ".pb and " + number + ".npy; remove one of them");
  return pb ? name + ".pb" : npy ? name + ".npy" : "";
}

std::string numbered_file(const std::string& folder, const char* prefix, size_t index) {
  const std::string file = find_numbered_file(folder, prefix, index);
  if (file.empty()) throw Failure(folder + " has no " + prefix + std::to_string(index) + ".pb or .npy");
  return file;
}

void refuse_more_files(const std::string& folder, const char* prefix, size_t count) {
  std::string file;  // the first by name, for a message that does not depend on the order of the folder
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string kind = entry.path().extension(), name = entry.path().stem();
    if ((kind != ".pb" && kind != ".npy") || !name.starts_with(prefix)) continue;
    const char *digits = name.data() + std::strlen(prefix), *end = name.data() + name.size();
    size_t number = 0;
    const auto [rest, wrong] = std::from_chars(digits, end, number);
    if (wrong != std::errc() || rest != end || number < count) continue;
    if (const std::string path = folder + "/" + name + kind; file.empty() || path < file) file = path;
  }
  const std::string what = std::string(prefix).substr(0, std::string(prefix).find('_')) + (count == 1 ? "" : "s");
  if (!file.empty())
    throw Failure(file + " is not used: the model has " + std::to_string(count) + " " + what +
                  "; choose a folder that was made for it");
}

std::string dims_text(const std::vector<int64_t>& shape) {
  std::string text;
  for (int64_t d : shape) text += (text.empty() ? "" : "x") + std::to_string(d);
  return text.empty() ? "scalar" : text;
}

HostValues Common::read_inputs(const std::vector<PortInfo>& ports) const { return InputReader(*this, ports).read(); }

}  // namespace retort::cli
