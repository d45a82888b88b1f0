// Einsum: products of the inputs' elements, summed over the labels that the output does not have. A repeated label in
// one input takes its diagonal; "..." stands for axes that broadcast.
#include <algorithm>
#include <cmath>

#include "ops/elementwise.h"
#include "ops/math/arithmetic.h"
#include "ops/math/common/contraction.h"
#include "ops/op.h"

namespace retort::ops {
namespace {

constexpr size_t kLabels = 52, kMostAxes = 16;
constexpr size_t kTermsBetweenChecks = 4096;  // between checks for cancellation

/// Labels are numbers: letters first, then the axes of "..." counted from its end.
struct Equation : State {
  std::vector<std::vector<size_t>> inputs;
  std::vector<size_t> output;
};

/// The inputs of a run as factors of a product.
struct Factors {
  static constexpr size_t kMost = 8;
  std::array<Labelled, kMost> at{};
  std::array<int64_t, kMostLabels> extents{};
  LabelList output;
  size_t count = 0;
};

size_t label_of(char c) {
  if (c >= 'a' && c <= 'z') return size_t(c - 'a');
  if (c >= 'A' && c <= 'Z') return size_t(c - 'A') + 26;
  fail(ErrorCode::invalid_argument, "'{}' is not a label", c);
}

struct Einsum {
  std::string equation;
  static constexpr std::tuple attributes{required("equation", &Einsum::equation)};

  std::string plain() const {
    std::string text = equation;
    std::erase(text, ' ');
    return text;
  }
  void check() const {
    const std::string text = plain();
    const size_t arrow = text.find("->");
    for (size_t i = 0; i < text.size(); ++i) {
      if (text.compare(i, 3, "...") == 0)
        i += 2;
      else if (i == arrow)
        i += 1;
      else if (text[i] != ',')
        label_of(text[i]);
    }
  }

  // Returns the labels of a term; "..." takes the remaining axes of `rank`. `axes` is updated to the length of the
  // longest "..." so far.
  static std::vector<size_t> term(std::string_view text, size_t rank, size_t& axes) {
    const size_t dots = text.find("...");
    const size_t letters = text.size() - (dots == text.npos ? 0 : 3), hidden = dots == text.npos ? 0 : rank - letters;
    require(dots == text.npos ? letters == rank : letters <= rank, ErrorCode::invalid_argument,
            "term \"{}\" does not match an input of rank {}", text, rank);
    require(hidden <= kMostAxes, ErrorCode::not_implemented,
            "... stands for {} axes, expected at most {}; remove axes of extent 1, or use a Reshape", hidden,
            kMostAxes);
    axes = std::max(axes, hidden);
    std::vector<size_t> labels;
    for (size_t i = 0; i < text.size(); ++i) {
      if (i != dots) {
        labels.push_back(label_of(text[i]));
        continue;
      }
      for (size_t k = hidden; k-- > 0;) labels.push_back(kLabels + k);
      i += 2;
    }
    return labels;
  }

  Equation resolve(std::span<const size_t> ranks) const {
    const std::string text = plain();
    const size_t arrow = text.find("->");
    std::string_view left = std::string_view(text).substr(0, arrow);
    Equation e;
    size_t axes = 0;
    for (size_t i = 0; i < ranks.size(); ++i) {
      const size_t comma = left.find(',');
      require((comma == left.npos) == (i + 1 == ranks.size()), ErrorCode::invalid_argument,
              "equation \"{}\" for {} inputs", equation, ranks.size());
      e.inputs.push_back(term(left.substr(0, comma), ranks[i], axes));
      if (comma != left.npos) left.remove_prefix(comma + 1);
    }
    if (arrow != text.npos) {
      const std::string_view right = std::string_view(text).substr(arrow + 2);
      const size_t hidden = right.find("...") == right.npos ? 0 : axes;
      e.output = term(right, right.size() - (right.find("...") == right.npos ? 0 : 3) + hidden, axes);
    } else {  // "..." and then, in order, every label that occurs only once
      std::array<size_t, kLabels> seen{};
      for (size_t k = axes; k-- > 0;) e.output.push_back(kLabels + k);
      for (const auto& input : e.inputs) {
        for (const size_t l : input) seen[std::min(l, kLabels - 1)] += l < kLabels;
      }
      std::string order = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
      for (const char c : order) {
        if (seen[label_of(c)] == 1) e.output.push_back(label_of(c));
      }
    }
    return e;
  }

  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    std::vector<size_t> ranks;
    for (size_t i = 0; i < c.input_count(); ++i) ranks.push_back(c.rank(i));
    const Equation e = resolve(ranks);
    std::array<Dim, kLabels + kMostAxes> extents;
    extents.fill(1);
    std::array<bool, kLabels + kMostAxes> seen{};
    for (size_t i = 0; i < ranks.size(); ++i) {
      for (size_t d = 0; d < ranks[i]; ++d) {
        const size_t l = e.inputs[i][d];
        extents[l] = c.dims().broadcast(extents[l], c.shape(i)[d]);
        seen[l] = true;
      }
    }
    Shape y;
    for (const size_t l : e.output) {
      require(seen[l] || l >= kLabels, ErrorCode::invalid_argument,
              "equation \"{}\" has an output label that no input has", equation);
      require(std::ranges::count(e.output, l) == 1, ErrorCode::invalid_argument,
              "equation \"{}\" repeats a label in the output", equation);
      y.push_back(extents[l]);
    }
    c.set(0, c.dtype(0), y);
  }
  // The cost of more than two factors depends on the order that the kernel chooses.
  Cost cost(const CostContext& c) const {
    std::vector<size_t> ranks;
    for (; c.has(ranks.size()); ranks.push_back(c.rank(ranks.size()))) {
      if (std::isnan(c.count(ranks.size()))) return {.operations = kUnknown};
    }
    if (ranks.size() > 2) return {.operations = kUnknown};
    const Equation e = resolve(ranks);
    std::array<double, kLabels + kMostAxes> extents;
    extents.fill(1);
    for (size_t i = 0; i < ranks.size(); ++i) {
      for (size_t d = 0; d < ranks[i]; ++d) {
        double& extent = extents[e.inputs[i][d]];
        if (extent == 1) extent = c.extent(i, int(d));
      }
    }
    double terms = 1;
    for (const double extent : extents) terms *= extent;
    if (ranks.size() == 2) return {.multiply_adds = terms, .tiles = true};
    return {.operations = terms == c.out_count() ? 0 : terms};  // without a sum, elements are copied
  }

  std::unique_ptr<State> prepare(PrepareContext& c) const {
    std::vector<size_t> ranks;
    for (size_t i = 0; c.has(i); ++i) {
      if (!c.type(i).ranked) return nullptr;
      ranks.push_back(c.type(i).shape.rank());
    }
    return std::make_unique<Equation>(resolve(ranks));
  }

  size_t scratch(const RunContext& c) const {
    if (c.dtype(0) != DType::f32 && c.dtype(0) != DType::f64) return 0;
    auto f = factors(c);
    if (!f) return 0;
    const ContractionSpace none{.rehearsal = true, .type = c.dtype(0)};
    Contraction rehearsal(f->extents, f->output, none, c.parallel());
    rehearsal.run(std::span(f->at.data(), f->count));
    return rehearsal.bytes();
  }

  template <OneOf<float, double> T>
  void fast(RunContext& c, std::type_identity<T>) const {
    auto f = factors(c);
    if (!f) return reference<T>(c);
    for (size_t i = 0; i < f->count; ++i) f->at[i].data = c.data(i);
    const ContractionSpace space{.output = c.out_data(), .scratch = c.scratch(), .type = dtype_of<T>};
    Contraction(f->extents, f->output, space, c.parallel()).run(std::span(f->at.data(), f->count));
  }

  // Strides of each input and of the output along each label; the output's labels come first.
  struct Loops {
    std::vector<int64_t> extents;
    std::vector<std::vector<int64_t>> steps;  // [input][label]
    size_t outer = 0;                         // number of labels of the output
  };
  Loops loops(const RunContext& c) const {
    Equation resolved;
    const Equation& e = equation_of(c, resolved);
    std::vector<size_t> labels = e.output;
    for (const auto& input : e.inputs) {
      for (const size_t l : input) {
        if (std::ranges::find(labels, l) == labels.end()) labels.push_back(l);
      }
    }
    Loops all{std::vector<int64_t>(labels.size(), 1), {}, e.output.size()};
    for (size_t i = 0; i < e.inputs.size(); ++i) {
      std::vector<int64_t> steps(labels.size(), 0);
      int64_t stride = 1;
      for (size_t d = c.shape(i).rank(); d-- > 0;) {
        const auto at = size_t(std::ranges::find(labels, e.inputs[i][d]) - labels.begin());
        if (c.shape(i)[d] != 1) {
          steps[at] += stride;
          all.extents[at] = c.shape(i)[d];
        }
        stride *= c.shape(i)[d];
      }
      all.steps.push_back(std::move(steps));
    }
    return all;
  }

  template <typename T>
  void reference(RunContext& c) const {
    using S = std::conditional_t<std::is_floating_point_v<T>, double, T>;
    const Loops l = loops(c);
    const size_t inputs = c.input_count(), labels = l.extents.size();
    T* y = c.output<T>().data();
    size_t terms = 1;
    for (size_t k = l.outer; k < labels; ++k) terms *= size_t(l.extents[k]);
    c.parallel().for_each(c.out_count(), [&](size_t out, int) {
      std::vector<int64_t> at(inputs, 0), place(labels, 0);
      size_t rest = out;
      for (size_t k = l.outer; k-- > 0;) {
        const auto p = int64_t(rest % size_t(l.extents[k]));
        rest /= size_t(l.extents[k]);
        for (size_t i = 0; i < inputs; ++i) at[i] += p * l.steps[i][k];
      }
      S sum = 0;
      for (size_t t = 0; t < terms; ++t) {
        if (t % kTermsBetweenChecks == 0 && c.parallel().cancelled()) return;
        S product = S(c.input<T>(0)[size_t(at[0])]);
        for (size_t i = 1; i < inputs; ++i) product = wrap_mul(product, S(c.input<T>(i)[size_t(at[i])]));
        sum = wrap_add(sum, product);
        for (size_t k = labels; k-- > l.outer;) {
          const bool carry = ++place[k] == l.extents[k];
          for (size_t i = 0; i < inputs; ++i) at[i] += carry ? -l.steps[i][k] * (l.extents[k] - 1) : l.steps[i][k];
          if (!carry) break;
          place[k] = 0;
        }
      }
      y[out] = T(sum);
    });
  }

 private:
  const Equation& equation_of(const RunContext& c, Equation& resolved) const {
    if (const auto* prepared = c.state<Equation>()) return *prepared;
    std::vector<size_t> ranks;
    for (size_t i = 0; i < c.input_count(); ++i) ranks.push_back(c.shape(i).rank());
    return resolved = resolve(ranks);
  }

  // Returns the factors, without data; nullopt if there are more axes or labels than the kernel supports.
  std::optional<Factors> factors(const RunContext& c) const {
    Equation resolved;
    const Equation& e = equation_of(c, resolved);
    std::array<uint8_t, kLabels + kMostAxes> numbers{};  // numbered from 1
    size_t labels = 0;
    Factors f;
    f.count = e.inputs.size();
    if (f.count > Factors::kMost) return std::nullopt;
    for (size_t i = 0; i < f.count; ++i) {
      int64_t stride = 1;
      for (size_t d = e.inputs[i].size(); d-- > 0;) {
        const int64_t extent = c.shape(i)[d];
        if (extent == 1) continue;
        uint8_t& number = numbers[e.inputs[i][d]];
        if (number == 0 && labels == kMostLabels) return std::nullopt;
        if (number == 0) number = uint8_t(++labels);
        f.extents[number - 1u] = extent;
        f.at[i].labels |= LabelSet(1) << (number - 1u);
        f.at[i].strides[number - 1u] += stride;
        stride *= extent;
      }
    }
    for (const size_t l : e.output) {
      if (numbers[l]) f.output.push(numbers[l] - 1u);
    }
    return f;
  }
};

}  // namespace

extern const OpDef op_einsum;
constinit const OpDef op_einsum = define<Einsum>({
    .name = "Einsum",
    .since = {12, 28},
    .inputs = {"Inputs: T..."},
    .outputs = {"Output: T"},
    .types = kNumeric,
});

}  // namespace retort::ops
