#include "web/page.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "formats/tensors.h"
#include "web_files.h"

namespace retort::cli {
namespace {

void replace(std::string& text, const std::string& what, std::string_view by) {
  const size_t at = text.find(what);
  if (at == std::string::npos) throw Failure("the page's template has no place for " + what);
  text.replace(at, what.size(), by);
}

std::string joined(const std::vector<std::string_view>& files) {
  std::string all;
  for (const std::string_view file : files) all += file;
  return all;
}

/// JSON that can stand inside a script element: without end tags and comments.
std::string embedded(const nlohmann::json& data) {
  std::string text = data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  for (size_t at = 0; (at = text.find('<', at)) != std::string::npos; at += 6) text.replace(at, 1, "\\u003c");
  return text;
}

/// Text that can stand between tags.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '&')
      out += "&amp;";
    else
      out += c;
  }
  return out;
}

/// The name of the model's file; of a model that is in none, the name of its graph.
std::string model_title(const nlohmann::json& data) {
  const std::string file = std::filesystem::path(data.value("file", "")).filename().string();
  const std::string name = file.empty() || file == "-" ? data.value("name", "model") : file;
  return data.contains("profile") ? name + ": profile" : name;
}

/// A name for a title: a long one without its middle.
std::string short_name(const std::string& name) {
  constexpr size_t kMost = 48, kBegin = 30, kEnd = 12;  // bytes
  if (name.size() <= kMost) return name;
  const auto within = [&](size_t at) {  // not inside a character
    while (at < name.size() && (static_cast<unsigned char>(name[at]) & 0xc0) == 0x80) ++at;
    return at;
  };
  return name.substr(0, within(kBegin)) + "…" + name.substr(within(name.size() - kEnd));
}

/// The model of a scenario, whose name is MODEL/SCENARIO, or the model's place in the folder.
std::string model_of(const nlohmann::json& scenario) {
  const std::string name = scenario.value("name", "");
  return scenario.value("model", "").ends_with(name) ? name : name.substr(0, name.find_last_of('/'));
}

/// Names up to three models.
std::string suite_title(const nlohmann::json& report) {
  constexpr size_t kNamed = 3;
  std::vector<std::string> models;
  for (const auto& scenario : report["scenarios"]) {
    const std::string model = model_of(scenario);
    if (std::find(models.begin(), models.end(), model) == models.end()) models.push_back(model);
  }
  std::string title =
      models.size() > kNamed ? "Benchmark of " + std::to_string(models.size()) + " models: " : "Benchmark of ";
  for (size_t i = 0; i < std::min(kNamed, models.size()); ++i) title += (i == 0 ? "" : ", ") + short_name(models[i]);
  return title + (models.empty() ? "no model" : models.size() > kNamed ? ", …" : "");
}

}  // namespace

void write_page(const std::string& path, const nlohmann::json& data) {
  std::string page(web::page_html);
  replace(page, "/*style*/", web::style_css);
  replace(page, "/*layout*/", web::dagre_min_js);
  replace(page, "/*scripts*/",
          joined({web::elements_js, web::table_js, web::layout_js, web::layered_js, web::minimap_js, web::legend_js,
                  web::scene_js, web::graph_js, web::timeline_js, web::page_js}));
  replace(page, "/*data*/", embedded(data));
  replace(page, "/*title*/", escaped(model_title(data)));  // last: a name may look like one of the places
  write_file(path, page);
}

void write_suite_page(const std::string& path, const nlohmann::json& report) {
  std::string page(web::suite_html);
  replace(page, "/*style*/", joined({web::style_css, web::suite_css}));
  replace(page, "/*scripts*/",
          joined({web::elements_js, web::table_js, web::chart_js, web::suite_tables_js, web::suite_js}));
  replace(page, "/*data*/", embedded(report));
  replace(page, "/*title*/", escaped(suite_title(report)));  // last, as above
  write_file(path, page);
}

}  // namespace retort::cli
