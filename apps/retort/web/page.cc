#include "web/page.h"

#include <fstream>
#include <string_view>

#include "engine/engine.h"
#include "web_files.h"

namespace retort::cli {
namespace {

void replace(std::string& text, const std::string& what, std::string_view by) {
  const size_t at = text.find(what);
  if (at == std::string::npos) throw Failure("the page's template has no place for " + what);
  text.replace(at, what.size(), by);
}

/// JSON that can stand inside a script element: without end tags and comments.
std::string embedded(const nlohmann::json& data) {
  std::string text = data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  for (size_t at = 0; (at = text.find('<', at)) != std::string::npos; at += 6) text.replace(at, 1, "\\u003c");
  return text;
}

void put_file(const std::string& path, const std::string& page) {
  std::ofstream file(path, std::ios::binary);
  file << page;
  file.close();
  if (!file) throw Failure("cannot write '" + path + "'");
}

}  // namespace

void write_page(const std::string& path, const nlohmann::json& data) {
  std::string page(web::page_html);
  replace(page, "/*style*/", web::style_css);
  replace(page, "/*layout*/", web::dagre_min_js);
  replace(page, "/*scripts*/",
          std::string(web::elements_js) + std::string(web::layout_js) + std::string(web::graph_js) +
              std::string(web::timeline_js) + std::string(web::page_js));
  replace(page, "/*data*/", embedded(data));
  put_file(path, page);
}

void write_suite_page(const std::string& path, const nlohmann::json& report) {
  std::string page(web::suite_html);
  replace(page, "/*style*/", std::string(web::style_css) + std::string(web::suite_css));
  replace(page, "/*scripts*/", std::string(web::elements_js) + std::string(web::suite_js));
  replace(page, "/*data*/", embedded(report));
  put_file(path, page);
}

}  // namespace retort::cli
