// The text of the kernel that runs a loop of an expression.
#include <algorithm>
#include <cctype>
#include <map>

#include "elementwise.h"
#include "expressions.h"

namespace providers::cuda {
namespace {

// Names: operands are p0, p1…, as vectors x0…, as values c0…; values of elements v0…; results q0…, y0….
class Writer {
 public:
  Writer(const Expression& expression, const Loop& loop) : expression_(expression), loop_(loop) {}

  std::string write() {
    begin();
    once();
    line("  " + vectors("x", true));
    line("#pragma unroll");
    line("  for (int u = 0; u < U; ++u) {");
    index();
    read();
    line("  }");
    line("#pragma unroll");
    line("  for (int u = 0; u < U; ++u) {");
    index();
    compute();
    line("  }");
    line("}");
    return text_;
  }

 private:
  using Operand = Loop::Operand;

  void line(const std::string& s) { text_ += s + "\n"; }
  static std::string n(size_t i) { return std::to_string(i); }
  static bool is_vector(Access a) { return a == Access::flat || a == Access::row || a == Access::each; }
  static bool is_strided(Access a) { return a == Access::row || a == Access::shared || a == Access::each; }
  static std::string parameter_type(Type type) {
    if (!is_real_type(type)) return "long long";
    return type == ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE ? "double" : "float";
  }
  static std::string loaded(Type type, const std::string& element) {
    return std::string("Compute<") + kernel_type(type) + ">::load(" + element + ")";
  }
  Type type_of(Term term) const {
    return term < 0 ? expression_.sources[size_t(~term)].type : expression_.steps[size_t(term)].type;
  }

  void begin() {
    std::string arguments;
    for (size_t i = 0; i < loop_.operands.size(); ++i) {
      const Operand& o = loop_.operands[i];
      if (o.access == Access::parameter)
        arguments += parameter_type(o.type) + " p" + n(i) + ", ";
      else
        arguments += std::string("const ") + kernel_type(o.type) + "* __restrict__ p" + n(i) + ", ";
    }
    for (size_t i = 0; i < loop_.results.size(); ++i)
      arguments += std::string(kernel_type(type_of(loop_.results[i]))) + "* __restrict__ q" + n(i) + ", ";
    arguments += "long long count";
    if (loop_.rank) arguments += ", Axes axes";
    for (size_t i = 0; i < loop_.operands.size(); ++i)
      if (is_strided(loop_.operands[i].access)) arguments += ", Strides t" + n(i);
    line(std::string("typedef ") + (loop_.large ? "i64" : "u32") + " Index;");
    line("static const int V = " + std::to_string(loop_.elements) + ", U = " + std::to_string(loop_.vectors) + ";");
    line("extern \"C\" __global__ void __launch_bounds__(256) elementwise(" + arguments + ") {");
    line("  begin_kernel();");
  }

  // What is the same for all elements.
  void once() {
    std::string aligned = "true";
    for (size_t i = 0; i < loop_.operands.size(); ++i) {
      const Access a = loop_.operands[i].access;
      if (a == Access::flat || a == Access::row) aligned += " && fits<V>(p" + n(i) + ")";
    }
    for (size_t i = 0; i < loop_.results.size(); ++i) aligned += " && fits<V>(q" + n(i) + ")";
    line("  const bool aligned = " + aligned + ";");
    line("  const Index first = Index(blockIdx.x) * blockDim.x * U + threadIdx.x;");
    for (size_t i = 0; i < loop_.operands.size(); ++i) {
      const Operand& o = loop_.operands[i];
      const std::string type = computed_type(o.type);
      if (o.access == Access::parameter)
        line("  const " + type + " c" + n(i) + " = static_cast<" + type + ">(p" + n(i) + ");");
      if (o.access == Access::uniform)
        line("  const " + type + " c" + n(i) + " = " + loaded(o.type, "p" + n(i) + "[0]") + ";");
      if (o.access == Access::shared) line("  " + type + " c" + n(i) + "[U];");
    }
  }

  // Declarations of vectors.
  std::string vectors(const std::string& name, bool operands) const {
    std::string s;
    const size_t size = operands ? loop_.operands.size() : loop_.results.size();
    for (size_t i = 0; i < size; ++i) {
      if (operands && !is_vector(loop_.operands[i].access)) continue;
      const Type type = operands ? loop_.operands[i].type : type_of(loop_.results[i]);
      s += std::string("Vector<") + kernel_type(type) + ", V> " + name + n(i) + (operands ? "[U]; " : "; ");
    }
    return s;
  }

  void index() {
    line("    const Index i = (first + Index(u) * blockDim.x) * V;");
    line("    if (i >= count) break;");
  }

  void read() {
    bool strided = false;
    for (size_t i = 0; i < loop_.operands.size(); ++i) {
      const Access a = loop_.operands[i].access;
      strided = strided || is_strided(a);
      if (a == Access::flat) line("    fetch<V>(x" + n(i) + "[u], p" + n(i) + " + i, count - i, aligned);");
    }
    if (!strided) return;
    if (loop_.divided) {
      offsets("i / V");
      return;
    }
    line("#pragma unroll");
    line("    for (int k = 0; k < V; ++k) {");
    line("      if (i + k >= count) break;");
    offsets("i + k");
    line("    }");
  }

  // The coordinates of one index, innermost axis first, and what is read there.
  void offsets(const std::string& index) {
    line("      Index rest = " + index + ";");
    for (size_t o = 0; o < loop_.operands.size(); ++o)
      if (is_strided(loop_.operands[o].access)) line("      i64 at" + n(o) + " = 0;");
    for (int axis = loop_.rank - 1; axis >= 0; --axis) {
      const std::string a = std::to_string(axis);
      line("      {");
      if (axis > 0) line("        const Index outer = quotient(rest, axes, " + a + ");");
      line(std::string("        const Index at = ") + (axis > 0 ? "rest - outer * axes.extent[" + a + "];" : "rest;"));
      for (size_t o = 0; o < loop_.operands.size(); ++o)
        if (is_strided(loop_.operands[o].access)) line("        at" + n(o) + " += at * t" + n(o) + ".at[" + a + "];");
      if (axis > 0) line("        rest = outer;");
      line("      }");
    }
    for (size_t o = 0; o < loop_.operands.size(); ++o) {
      const Operand& operand = loop_.operands[o];
      const std::string p = "p" + n(o), at = "at" + n(o);
      if (operand.access == Access::row) line("      fetch<V>(x" + n(o) + "[u], " + p + " + " + at + ", V, aligned);");
      if (operand.access == Access::shared)
        line("      c" + n(o) + "[u] = " + loaded(operand.type, p + "[" + at + "]") + ";");
      if (operand.access == Access::each) line("      x" + n(o) + "[u].element[k] = " + p + "[" + at + "];");
    }
  }

  void compute() {
    line("    " + vectors("y", false));
    line("#pragma unroll");
    line("    for (int k = 0; k < V; ++k) {");
    std::map<Term, std::string> names;
    for (size_t i = 0; i < loop_.operands.size(); ++i) {
      const Operand& o = loop_.operands[i];
      std::string name = "c" + n(i);
      if (o.access == Access::shared) name += "[u]";
      if (is_vector(o.access)) {
        name = "e" + n(i);
        line("      const " + computed_type(o.type) + " " + name + " = " +
             loaded(o.type, "x" + n(i) + "[u].element[k]") + ";");
      }
      names[o.term] = name;
    }
    for (size_t i = 0; i < loop_.steps.size(); ++i) {
      const int step = loop_.steps[i];
      line("      const " + computed_type(type_of(step)) + " v" + n(i) + " = " + step_text(step, names) + ";");
      names[step] = "v" + n(i);
    }
    for (size_t i = 0; i < loop_.results.size(); ++i) {
      const Type type = type_of(loop_.results[i]);
      line("      y" + n(i) + ".element[k] = Compute<" + kernel_type(type) + ">::store(" + names.at(loop_.results[i]) +
           ");");
    }
    line("    }");
    for (size_t i = 0; i < loop_.results.size(); ++i)
      line("    put<V>(y" + n(i) + ", q" + n(i) + " + i, count - i, aligned);");
  }

  std::string step_text(int number, const std::map<Term, std::string>& names) const {
    const Step& step = expression_.steps[size_t(number)];
    std::string pattern = step.text;
    const auto exponent = loop_.exponents.find(number);
    if (exponent != loop_.exponents.end()) pattern = power_text(pattern, exponent->second, computed_type(step.type));
    std::string out;
    for (size_t i = 0; i < pattern.size(); ++i) {
      if (pattern[i] != '$') {
        out += pattern[i];
        continue;
      }
      out += names.at(step.arguments[size_t(pattern[++i] - '0')]);
    }
    return out;
  }

  // The exponents that have a shorter text. Squares and cubes are exact to half a unit more than powf.
  static std::string power_text(const std::string& otherwise, double exponent, const std::string& type) {
    const bool real = type == "float" || type == "double";
    const std::string suffix = type == "float" ? "f" : "";
    if (exponent == 1) return "$0";
    if (exponent == 2) return "op::mul($0, $0)";
    if (exponent == 3) return "op::mul(op::mul($0, $0), $0)";
    if (real && exponent == -1) return "op::div(" + type + "(1), $0)";
    if (real && exponent == 0.5) return "sqrt" + suffix + "($0)";
    return otherwise;
  }

  const Expression& expression_;
  const Loop& loop_;
  std::string text_;
};

}  // namespace

std::string loop_text(const Expression& expression, const Loop& loop) {
  const auto has_float8 = [](const auto& list) {
    return std::any_of(list.begin(), list.end(), [](const auto& item) { return is_float8(item.type); });
  };
  const bool more = has_float8(expression.sources) || has_float8(expression.steps);
  return kernel_text("functions.cuh") + (more ? kernel_text("floats8.cuh") : "") + Writer(expression, loop).write();
}

}  // namespace providers::cuda
