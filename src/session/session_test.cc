#include "session/session.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <thread>

#include "onnx/writer.h"
#include "session/binding.h"
#include "session/session_testing.h"

namespace retort {
namespace {

constexpr size_t kManyRuns = 200;  // several times the number of runs between two trims
constexpr int64_t kLong = 1 << 19, kShort = 16;

/// A model of one input x, whose shape is `shape`, and one output.
class OneToOne {
 public:
  explicit OneToOne(Shape (*shape)(DimTable&), DType type = DType::f32) {
    model_->ir_version = 8;
    model_->opsets[""] = 13;
    graph().inputs.push_back(graph().add_value("x", ValueType::tensor(type, shape(graph().dims()))));
  }
  ValueId x() { return graph().inputs[0]; }
  ValueId node(const char* type, std::vector<ValueId> inputs, Attributes attributes = {}) {
    const NodeId id =
        graph().add({.type = type, .inputs = std::move(inputs), .attributes = std::move(attributes), .version = 13});
    return graph().node(id).outputs[0];
  }
  ValueId constant(const char* name, Tensor t) { return graph().add_constant(name, std::move(t)); }
  std::shared_ptr<Model> model(ValueId y) {
    graph().value(y).name = "y";
    graph().outputs.push_back(y);
    return model_;
  }
  std::unique_ptr<Session> session(ValueId y) {
    SessionOptions options;
    options.threads.intra_threads = 1;
    return std::make_unique<Session>(std::make_shared<Environment>(EnvironmentOptions{}), model(y), options);
  }

 private:
  Graph& graph() { return *model_->graph; }
  std::shared_ptr<Model> model_ = std::make_shared<Model>();
};

/// y = softmax(x) + x for a vector of any length: the softmax lies in the workspace.
std::unique_ptr<Session> softmax_session() {
  OneToOne m([](DimTable& dims) { return Shape{dims.symbol("n")}; });
  return m.session(m.node("Add", {m.node("Softmax", {m.x()}), m.x()}));
}

/// The last element of y for an x of ones.
float run(Session& session, const Shape& shape) {
  Value x(Tensor(DType::f32, shape)), y(Tensor(DType::f32, shape));
  const size_t n = x.tensor()->count();
  std::fill_n(x.get<Tensor>()->mutable_data<float>(), n, 1.0f);
  const Value* inputs[] = {&x};
  Value* outputs[] = {&y};
  session.run(inputs, outputs, {}, nullptr);
  return y.tensor()->data<float>()[n - 1];
}

void run(Session& session, int64_t n) { EXPECT_FLOAT_EQ(run(session, Shape{n}), 1.0f + 1.0f / float(n)); }

TEST(Session, WorkspaceShrinksWhenRunsDo) {
  const auto owner = softmax_session();
  Session& session = *owner;
  run(session, kLong);
  EXPECT_GE(session.idle_bytes().workspaces, size_t(kLong) * sizeof(float));
  for (size_t i = 0; i < kManyRuns; ++i) run(session, kShort);
  EXPECT_LT(session.idle_bytes().workspaces, size_t(1) << 20);
}

TEST(Session, ScratchShrinksWhenRunsDo) {
  OneToOne m([](DimTable& dims) { return Shape{dims.symbol("n"), dims.symbol("n")}; });
  const auto owner = m.session(m.node("MatMul", {m.x(), m.x()}));  // packs its second operand into scratch memory
  Session& session = *owner;
  constexpr int64_t kLarge = 1024, kSmall = 8;
  EXPECT_EQ(run(session, Shape{kLarge, kLarge}), float(kLarge));
  EXPECT_GE(session.idle_bytes().workspaces, size_t(kLarge * kLarge) * sizeof(float));
  for (size_t i = 0; i < kManyRuns; ++i) EXPECT_EQ(run(session, Shape{kSmall, kSmall}), float(kSmall));
  EXPECT_LT(session.idle_bytes().workspaces, size_t(1) << 20);
}

/// [n, n] with 0, 1, 2, … on its diagonal.
Tensor counting_diagonal(int64_t n) {
  std::vector<float> v(size_t(n * n), 0.0f);
  for (int64_t i = 0; i < n; ++i) v[size_t(i * n + i)] = float(i);
  return Tensor::of<float>({n, n}, v);
}

Tensor waves(const Shape& shape) {
  Tensor t(DType::f32, shape);
  for (size_t i = 0; i < t.count(); ++i) t.mutable_data<float>()[i] = std::sin(float(i) * 0.7f);
  return t;
}

// softmax(a) · diagonal + a in the memory of a: the workspace holds only a and its softmax.
TEST(Session, AnAddendThatIsNotNeededAgainTakesTheSum) {
  constexpr int64_t kColumns = 32, kRows = 1 << 14;
  OneToOne m([](DimTable& dims) { return Shape{dims.symbol("n"), kColumns}; });
  const ValueId a = m.node("Softmax", {m.x()});
  const ValueId product = m.node("MatMul", {m.node("Softmax", {a}), m.constant("w", counting_diagonal(kColumns))});
  const auto session = m.session(m.node("Sqrt", {m.node("Add", {product, a})}));
  Value x = waves({kRows, kColumns}), y;
  const Value* inputs[] = {&x};
  Value* outputs[] = {&y};
  session->run(inputs, outputs, {}, nullptr);
  EXPECT_LT(session->idle_bytes().workspaces, 5 * size_t(kRows * kColumns) * sizeof(float) / 2);
  const auto softmax = [](std::vector<double> v) {
    double sum = 0;
    for (double& e : v) sum += e = std::exp(e);
    for (double& e : v) e /= sum;
    return v;
  };
  for (const int64_t row : {int64_t(0), kRows / 2 + 5, kRows - 1}) {
    const float* given = x.tensor()->data<float>() + row * kColumns;
    const std::vector<double> first = softmax({given, given + kColumns}), second = softmax(first);
    for (size_t j = 0; j < size_t(kColumns); ++j)
      EXPECT_NEAR(y.tensor()->data<float>()[size_t(row * kColumns) + j], std::sqrt(second[j] * double(j) + first[j]),
                  1e-5);
  }
}

// y = r' · w + r for a view r' of r, with y bound over r: a written sum must not be read as an element of r'.
TEST(Session, AnAddendThatAViewReadsTooIsNotWrittenOver) {
  constexpr int64_t kColumns = 96, kRows = 240;
  OneToOne m([](DimTable& dims) { return Shape{dims.symbol("n"), kColumns}; });
  const ValueId product = m.node("MatMul", {m.node("Flatten", {m.x()}), m.constant("w", counting_diagonal(kColumns))});
  const auto session = m.session(m.node("Add", {product, m.x()}));
  Value x = waves({kRows, kColumns}), y = x;
  const Value* inputs[] = {&x};
  Value* outputs[] = {&y};
  session->run(inputs, outputs, {}, nullptr);
  const Tensor given = waves({kRows, kColumns});
  for (size_t i = 0; i < given.count(); ++i)
    ASSERT_NEAR(y.tensor()->data<float>()[i], given.data<float>()[i] * float(i % kColumns + 1), 1e-4) << i;
}

TEST(Session, WorkspaceStaysWhileItIsUsedNowAndThen) {
  const auto owner = softmax_session();
  Session& session = *owner;
  for (size_t i = 0; i < kManyRuns; ++i) run(session, i % 8 == 0 ? kLong : kShort);
  EXPECT_GE(session.idle_bytes().workspaces, size_t(kLong) * sizeof(float));
}

TEST(Session, FramesOfABurstGoAway) {
  const auto owner = softmax_session();
  Session& session = *owner;
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&] {
      for (int i = 0; i < 20; ++i) run(session, kLong);
    });
  }
  for (auto& c : callers) c.join();
  for (size_t i = 0; i < kManyRuns; ++i) run(session, kLong);
  EXPECT_LT(session.idle_bytes().workspaces, 2 * size_t(kLong) * sizeof(float));
}

/// y = the sum of softmax(x), with x expanded to n rows and columns: x is small, the workspace is not.
class Square : public ::testing::Test {
 protected:
  Square() {
    OneToOne m([](DimTable&) { return Shape{1}; }, DType::i64);
    const ValueId twice = m.node("Concat", {m.x(), m.x()}, {{"axis", int64_t(0)}});
    const ValueId rows = m.node("Expand", {m.node("Cast", {m.x()}, {{"to", int64_t(DType::f32)}}), twice});
    session_ = m.session(m.node("ReduceSum", {m.node("Softmax", {rows})}, {{"keepdims", int64_t(0)}}));
  }
  float run(int64_t n) {
    Tensor x(DType::i64, {1});
    x.mutable_data<int64_t>()[0] = n;
    return retort::run(*session_, {Value(x)})[0].tensor()->data<float>()[0];
  }
  std::unique_ptr<Session> session_;
};

TEST_F(Square, WithoutMemoryNamesNodeAndShapeAndRunsAgain) {
  EXPECT_NEAR(run(100), 100, 1e-3);
  for (const int64_t n : {int64_t(1) << 25, int64_t(1) << 31, int64_t(1) << 33}) {
    try {
      run(n);
      ADD_FAILURE() << n << " x " << n << " floats";
    } catch (const Error& e) {
      EXPECT_CONTAINS(std::string(e.what()), "node of output '");
      EXPECT_CONTAINS(std::string(e.what()), cat("[{},{}]", n, n));
    }
    EXPECT_NEAR(run(100), 100, 1e-3);
    EXPECT_NEAR(run(50), 50, 1e-3);
  }
}

TEST(Binding, MemoryOfAResultThatIsNotHeldIsUsedAgain) {
  OneToOne m([](DimTable& dims) { return Shape{dims.symbol("n")}; });
  const std::shared_ptr<Session> session = m.session(m.node("Softmax", {m.x()}));
  Binding binding(session);
  binding.bind_output("y", MemorySpace{});
  const auto result = [&](int64_t n) {
    binding.bind_input("x", Tensor(DType::f32, {n}));
    binding.run(nullptr);
    return *binding.output_value(0).tensor();
  };
  const void* first = result(kLong).data();
  EXPECT_EQ(result(kLong).data(), first);
  EXPECT_EQ(result(kShort).data(), first);
  const Tensor held = result(kShort);
  EXPECT_EQ(held.data(), first);
  EXPECT_NE(result(kShort).data(), first);
}

/// y = reshape(x, reversed shape of x), which passes remove if the extents of x are equal, as its type declares. As a
/// file.
class SquareModel : public ::testing::Test {
 protected:
  SquareModel() {
    OneToOne m([](DimTable& dims) { return Shape{dims.symbol("n"), dims.symbol("n")}; });
    const ValueId transposed = m.node("Transpose", {m.x()});
    model_ = m.model(m.node("Reshape", {m.x(), m.node("Shape", {transposed})}));
    write_model(*model_, path_, {});
  }
  ~SquareModel() override { std::filesystem::remove(path_); }

  std::vector<char> bytes() {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  /// The shape of y for an x of [2, 3].
  static Shape shape(Session& session) {
    const auto results = run(session, {Value(Tensor(DType::f32, {2, 3}))});
    return results[0].tensor()->shape();
  }
  static std::string refusal(Session& session) {
    try {
      shape(session);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  }

  std::shared_ptr<Model> model_;
  std::string path_ = ::testing::TempDir() + "square_" + std::to_string(getpid()) + ".onnx";
  std::shared_ptr<Environment> environment_ = std::make_shared<Environment>(EnvironmentOptions{});
};

TEST_F(SquareModel, RunsWithExtentsThatDifferOnASecondPlan) {
  std::vector<char> bytes = this->bytes();
  Session from_path(environment_, path_, {}), from_bytes(environment_, std::as_bytes(std::span(bytes)), {});
  Session in_memory(environment_, model_, {});  // a copy is kept, so no file is read again
  std::fill(bytes.begin(), bytes.end(), 'x');
  for (Session* session : {&from_path, &from_bytes, &in_memory}) {
    EXPECT_EQ(shape(*session), (Shape{3, 2}));
    EXPECT_EQ(run(*session, {Value(Tensor(DType::f32, {3, 3}))})[0].tensor()->shape(), (Shape{3, 3}));
  }
  std::filesystem::remove(path_);  // it is read only once
  EXPECT_EQ(shape(from_path), (Shape{3, 2}));
}

TEST_F(SquareModel, SaysWhyThereIsNoSecondPlan) {
  Session gone(environment_, path_, {});
  SessionOptions options;
  const std::string lent(4, '\0');
  options.external_files["w.bin"] = {lent, nullptr};
  Session with_lent(environment_, path_, options);
  EXPECT_CONTAINS(refusal(with_lent), "weights lay in memory that the caller lent");
  std::filesystem::remove(path_);
  EXPECT_CONTAINS(refusal(gone), "extent 'n' is 2 in input 'x' and 3 in input 'x'");
  EXPECT_CONTAINS(refusal(gone), "the file does not exist");
  std::ofstream(path_) << "other";
  EXPECT_CONTAINS(refusal(gone), "model '" + path_ + "'");
}

TEST_F(SquareModel, AChangedFileIsNotTakenForTheModel) {
  Session session(environment_, path_, {});
  const std::vector<char> same = bytes();
  std::filesystem::remove(path_);
  std::ofstream(path_, std::ios::binary).write(same.data(), std::streamsize(same.size()));
  std::filesystem::last_write_time(path_, std::filesystem::file_time_type{});
  EXPECT_CONTAINS(refusal(session), "has changed since");
}

// Whatever was cut short while the flag was set must not be used.
TEST(Session, LoadingFailsIfItWasCancelledForAMoment) {
  for (const bool cancels : {false, true}) {
    OneToOne m([](DimTable& dims) { return Shape{dims.symbol("n")}; });
    SessionOptions options;
    options.choose_providers = [&, flag = options.cancel_load](const Model&) {
      flag->times += cancels;
      flag->on = cancels;
      flag->on = false;
      return std::vector<std::shared_ptr<Provider>>();
    };
    const auto make = [&] {
      Session(std::make_shared<Environment>(EnvironmentOptions{}), m.model(m.node("Neg", {m.x()})), options);
    };
    if (!cancels) {
      make();
      continue;
    }
    try {
      make();
      FAIL() << "loaded";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::model_load_canceled);
    }
  }
}

}  // namespace
}  // namespace retort
