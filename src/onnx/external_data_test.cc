// Tests external data: where it may be, which bytes belong to a tensor, and who owns them.
#include "onnx/external_data.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <numeric>

#include "onnx/model_testing.h"

namespace retort::onnx {
namespace {

namespace fs = std::filesystem;

using Entries = std::vector<std::pair<std::string, std::string>>;

MessageWriter external_tensor(const std::string& name, const Entries& entries, int64_t extent) {
  MessageWriter t;
  t.integer(tag::tensor::dims, extent);
  t.integer(tag::tensor::data_type, 1);
  t.bytes(tag::tensor::name, name);
  for (const auto& [key, value] : entries) {
    MessageWriter e;
    e.bytes(tag::entry::key, key);
    e.bytes(tag::entry::value, value);
    t.message(tag::tensor::external_data, e);
  }
  t.integer(tag::tensor::data_location, 1);
  return t;
}

std::string with_tensors(const std::vector<MessageWriter>& tensors) {
  return model_bytes(GraphSpec{.nodes = {node("Identity", {"c"}, {"y"})},
                               .inputs = {},
                               .outputs = {info("y", MessageWriter())},
                               .initializers = tensors});
}

/// `c` is a vector of four floats.
std::string with_external(const Entries& entries) { return with_tensors({external_tensor("c", entries, 4)}); }

/// model/ contains the model and weights.bin; secret.bin is beside that folder.
struct External : testing::Test {
  External() {
    data.resize(64);
    std::iota(data.begin(), data.end(), '\0');
    folder.write("model/weights.bin", data);
    folder.write("model/sub/weights.bin", data);
    folder.write("secret.bin", data);
  }
  std::string path() const { return folder / "model/m.onnx"; }
  Tensor load(const Entries& entries, const ReadOptions& options = {}) const {
    folder.write("model/m.onnx", with_external(entries));
    return constant_named(*read_model(path(), options)->graph, "c");
  }
  void refuse(const Entries& entries, ErrorCode code, const std::string& text) const {
    for (bool trusted : {true, false}) expect_error(code, text, [&] { load(entries, {.trusted = trusted}); });
  }
  void expect_data(const Tensor& t, size_t offset) const {
    EXPECT_EQ(std::string_view(t.data<char>(), t.bytes()), data.substr(offset, 16));
  }

  Folder folder;
  std::string data;
};

TEST_F(External, IsMappedOrRead) {
  for (bool trusted : {true, false}) {
    expect_data(load({{"location", "weights.bin"}}, {.trusted = trusted}), 0);
    expect_data(load({{"location", "weights.bin"}, {"offset", "48"}}, {.trusted = trusted}), 48);
    expect_data(load({{"location", "./sub//weights.bin"}, {"offset", "8"}, {"length", "16"}, {"checksum", "?"}},
                     {.trusted = trusted}),
                8);
    expect_data(load({{"location", "weights.bin"}, {"offset", "5"}}, {.trusted = trusted}), 5);  // not aligned
  }
}

TEST_F(External, RangesAreChecked) {
  const auto code = ErrorCode::invalid_graph;
  const auto at = [](const char* offset) { return Entries{{"location", "weights.bin"}, {"offset", offset}}; };
  const auto of = [](const char* length) { return Entries{{"location", "weights.bin"}, {"length", length}}; };
  refuse(at("49"), code, "has 64 bytes, but the tensor needs 16 from byte 49");
  refuse(at("64"), code, "but the tensor needs 16 from byte 64");
  refuse(at("9223372036854775807"), code, "from byte 9223372036854775807");
  for (const char* text : {"-1", "x", "", " 4", "0x10", "1e3", "+1", "9223372036854775808", "18446744073709551616"}) {
    refuse(at(text), code, "not a number of bytes");
    refuse(of(text), code, "not a number of bytes");
  }
  refuse(of("15"), code, "15 bytes long, but the tensor needs 16");
  refuse(of("17"), code, "17 bytes long, but the tensor needs 16");
  refuse(of("0"), code, "0 bytes long");
  folder.write("model/empty.bin", "");
  refuse({{"location", "empty.bin"}}, code, "has 0 bytes");
}

TEST_F(External, PathsDoNotLeaveTheFolder) {
  fs::create_symlink("../secret.bin", folder / "model/link.bin");
  fs::create_symlink(folder / "secret.bin", folder / "model/absolute_link.bin");
  fs::create_symlink("..", folder / "model/up");
  const auto argument = ErrorCode::invalid_argument;
  for (const std::string& location :
       {std::string("../secret.bin"), std::string("sub/../../secret.bin"), folder / "secret.bin",
        std::string("link.bin"), std::string("absolute_link.bin"), std::string("up/secret.bin"),
        std::string("/etc/passwd"), std::string("/proc/self/mem"), std::string("/dev/zero")}) {
    refuse({{"location", location}}, argument, "could leave the model's folder");
    expect_error(argument, location, [&] { File::open_beneath(folder / "model", location, true); });
  }
  refuse({{"location", ""}}, ErrorCode::invalid_graph, "no location");
  refuse({{"offset", "0"}}, ErrorCode::invalid_graph, "no location");
  refuse({{"location", std::string("weights.bin\0x", 13)}}, argument, "NUL");
}

TEST_F(External, OnlyRegularFiles) {
  ASSERT_EQ(mkfifo((folder / "model/fifo.bin").c_str(), 0600), 0);
  for (const char* location : {"fifo.bin", "sub", "."}) {
    refuse({{"location", location}}, ErrorCode::invalid_protobuf, "not a regular file");
    expect_error(ErrorCode::invalid_protobuf, "not a regular file",
                 [&] { File::open_beneath(folder / "model", location, true); });
  }
  for (const std::string& location : {std::string("missing.bin"), std::string("missing/w.bin"), std::string(5000, 'a'),
                                      std::string("*/_ORT_MEM_ADDR_/*"), std::string("weights.bin/x")}) {
    refuse({{"location", location}}, ErrorCode::no_such_file, "does not exist");
    expect_error(ErrorCode::no_such_file, "does not exist",
                 [&] { File::open_beneath(folder / "model", location, true); });
  }
}

TEST_F(External, LinksWithinTheFolderAreFollowed) {
  fs::create_symlink("sub/weights.bin", folder / "model/link.bin");
  if (syscall(SYS_openat2, -1, nullptr, nullptr, 0) >= 0 || errno != ENOSYS)  // old kernels and emulators
    expect_data(load({{"location", "link.bin"}}), 0);
  expect_error(ErrorCode::invalid_argument, "could leave",
               [&] { File::open_beneath(folder / "model", "link.bin", true); });
}

// The layout of download caches: snapshot/m.onnx and snapshot/w.bin are links into blobs/.
TEST_F(External, LinkedModelsMayHaveLinkedData) {
  folder.write("blobs/0a", with_external({{"location", "w.bin"}}));
  folder.write("blobs/0b", data);
  fs::create_directory(folder / "snapshot");
  fs::create_symlink("../blobs/0a", folder / "snapshot/m.onnx");
  fs::create_symlink("../blobs/0b", folder / "snapshot/w.bin");
  expect_data(constant_named(*read_model(folder / "snapshot/m.onnx")->graph, "c"), 0);
  fs::remove(folder / "snapshot/w.bin");
  fs::create_symlink("../secret.bin", folder / "snapshot/w.bin");
  expect_error(ErrorCode::invalid_argument, "could leave", [&] { read_model(folder / "snapshot/m.onnx"); });
}

TEST_F(External, AnotherFolderMayBeGiven) {
  folder.write("other/weights.bin", "0123456789abcdef");
  const Tensor t = load({{"location", "weights.bin"}}, {.external_folder = folder / "other"});
  EXPECT_EQ(std::string_view(t.data<char>(), 16), "0123456789abcdef");
}

TEST_F(External, FilesInMemoryComeFirst) {
  const std::string other = "0123456789abcdef";
  ReadOptions options;
  options.memory_files["weights.bin"] = {std::as_bytes(std::span(other)), nullptr};
  const std::string bytes = with_external({{"location", "weights.bin"}});
  const Tensor copied = constant_named(*read(bytes, options)->graph, "c");
  EXPECT_EQ(std::string_view(copied.data<char>(), 16), other);
  EXPECT_NE(copied.data<char>(), other.data());
  options.memory_files["weights.bin"].owner = std::make_shared<int>(0);
  EXPECT_EQ(constant_named(*read(bytes, options)->graph, "c").data<char>(), other.data());
}

TEST_F(External, ModelsFromBytesUseTheGivenFolder) {
  const std::string bytes = with_external({{"location", "weights.bin"}});
  expect_data(constant_named(*read(bytes, {.external_folder = folder / "model"})->graph, "c"), 0);
  expect_unreadable(bytes, ErrorCode::no_such_file, "does not exist", {.external_folder = folder / "nowhere"});
}

TEST_F(External, MappedWeightsKnowTheirFile) {
  const Tensor in_place = load({{"location", "weights.bin"}, {"offset", "16"}});
  const Tensor again = load({{"location", "weights.bin"}, {"offset", "16"}});
  const Tensor copied = load({{"location", "weights.bin"}, {"offset", "17"}});
  ASSERT_TRUE(file_range(in_place) && file_range(copied));
  EXPECT_EQ(file_range(in_place)->offset, 16u);
  EXPECT_EQ(file_range(in_place)->length, 16u);
  EXPECT_EQ(file_range(in_place), file_range(again));
  EXPECT_EQ(file_range(copied)->offset, 17u);
  EXPECT_TRUE(is_aligned(DType::f32, copied.data()));
  EXPECT_FALSE(file_range(load({{"location", "weights.bin"}}, {.trusted = false})));
  const Tensor late = load({{"location", "weights.bin"}, {"offset", "17"}}, {.unaligned_from = 0});
  EXPECT_FALSE(is_aligned(DType::f32, late.data()));
  const Tensor fixed = aligned(late);
  EXPECT_TRUE(is_aligned(DType::f32, fixed.data()));
  EXPECT_EQ(file_range(late), file_range(copied));
  expect_data(fixed, 17);
}

TEST_F(External, RangesMayOverlap) {
  const auto model = read(with_tensors({external_tensor("c", {{"location", "weights.bin"}, {"offset", "8"}}, 4),
                                        external_tensor("d", {{"location", "weights.bin"}, {"offset", "16"}}, 4)}),
                          {.external_folder = folder / "model"});
  const Tensor &c = constant_named(*model->graph, "c"), &d = constant_named(*model->graph, "d");
  expect_data(c, 8);
  expect_data(d, 16);
  EXPECT_EQ(c.data<char>() + 8, d.data<char>());
}

TEST_F(External, CopiesAreCounted) {
  std::vector<MessageWriter> tensors{external_tensor("c", {{"location", "weights.bin"}}, 4)};
  for (int i = 0; i < 8; ++i) {
    tensors.push_back(external_tensor("c" + std::to_string(i), {{"location", "weights.bin"}, {"offset", "1"}}, 15));
  }
  const std::string bytes = with_tensors(tensors);
  ReadOptions options{.external_folder = folder / "model"};
  read(bytes, options);
  options.limits.memory_bytes = 7 * 60;
  expect_unreadable(bytes, ErrorCode::invalid_graph, "more than the limit of 420", options);
  options.unaligned_from = 0;
  read(bytes, options);
}

TEST_F(External, FilesAreOpenedOnce) {
  ReadOptions options{.external_folder = folder / "model"};
  ExternalFiles files(options, "");
  const Source a = files.find({.location = "weights.bin"}, 8),
               b = files.find({.location = "weights.bin", .offset = 8}, 8);
  EXPECT_EQ(a.owner, b.owner);
  EXPECT_EQ(a.bytes.data() + 8, b.bytes.data());
  EXPECT_EQ(files.total(), 64u);
}

}  // namespace
}  // namespace retort::onnx
