#include "results/top.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "cli/text.h"

namespace retort::cli {
namespace {

constexpr size_t kMostRows = 16;

}  // namespace

std::vector<std::string> read_labels(const std::string& path) {
  std::ifstream file = open_file(path);
  std::vector<std::string> labels;
  for (std::string line; std::getline(file, line);) {
    if (line.ends_with('\r')) line.pop_back();
    labels.push_back(line);
  }
  if (labels.empty()) throw Failure("'" + path + "' has no labels: it needs one in each line");
  return labels;
}

nlohmann::json top_classes(const HostTensor& scores, size_t count, const std::vector<std::string>& labels) {
  const size_t classes = scores.shape.empty() ? 1 : size_t(scores.shape.back());
  if (!is_real(scores.type) || classes < 2 || scores.count() == 0) return nullptr;
  nlohmann::json rows = nlohmann::json::array();
  for (size_t r = 0; r < scores.count() / classes; ++r) {
    const auto score = [&](size_t c) {
      const double s = number(scores, r * classes + c);
      return std::isnan(s) ? -INFINITY : s;
    };
    std::vector<size_t> order(classes);
    std::iota(order.begin(), order.end(), size_t(0));
    const size_t n = std::min(count, classes);
    std::partial_sort(order.begin(), order.begin() + ptrdiff_t(n), order.end(),
                      [&](size_t a, size_t b) { return score(a) > score(b) || (score(a) == score(b) && a < b); });
    nlohmann::json row = nlohmann::json::array();
    for (size_t i = 0; i < n; ++i) {
      row.push_back({{"class", order[i]}, {"score", number(scores, r * classes + order[i])}});
      if (order[i] < labels.size()) row.back()["label"] = labels[order[i]];
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string top_text(const nlohmann::json& rows) {
  std::string text;
  for (size_t r = 0; r < std::min(rows.size(), kMostRows); ++r) {
    Table table({{""}, {"", true}, {"", true}, {""}});
    for (size_t i = 0; i < rows[r].size(); ++i) {
      const auto& c = rows[r][i];
      char score[32];
      std::snprintf(score, sizeof score, "%.6g", c["score"].is_null() ? NAN : c["score"].get<double>());
      table.row({i == 0 && rows.size() > 1 ? "row " + std::to_string(r) : "", "class " + c["class"].dump(), score,
                 clean(c.value("label", ""))});
    }
    text += table.text();
  }
  if (rows.size() > kMostRows) text += "  " + std::to_string(rows.size() - kMostRows) + " more rows; --json has all\n";
  return text;
}

}  // namespace retort::cli
