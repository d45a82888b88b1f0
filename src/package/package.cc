#include "package/package.h"

#include <strings.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>

#include "package/json.h"

namespace retort {
namespace {

namespace fs = std::filesystem;
using Kind = JsonValue::Kind;
using Must = PackagePaths::Must;

constexpr int64_t kSchemaMajor = 1;
constexpr uintmax_t kMostBytes = 16 << 20;  // more than any description needs; device files never end

/// Options that write files or change the purpose of a session belong to the program, not to the package.
constexpr std::array<std::string_view, 6> kOptionsOfPrograms = {
    "session.optimized_model_filepath",    "session.enable_profiling",     "session.collect_node_memory_stats_to_file",
    "session.debug_layout_transformation", "session.packed_weights_cache", "session.copy_ledger_file"};

JsonValue read_json(const fs::path& file) {
  std::error_code error;
  require(fs::is_regular_file(file, error), ErrorCode::fail, "'{}' is not a file; a package needs it", file.string());
  const uintmax_t size = fs::file_size(file, error);
  require(!error && size <= kMostBytes, ErrorCode::fail, "'{}' is larger than {} bytes; make it smaller", file.string(),
          kMostBytes);
  // Not a stream: the library links the standard library statically, and streams add 400 KB.
  const std::unique_ptr<FILE, int (*)(FILE*)> in(std::fopen(file.c_str(), "rbe"), &std::fclose);
  std::string text(size, '\0');
  require(in && std::fread(text.data(), 1, size, in.get()) == size, ErrorCode::fail,
          "'{}' cannot be read; check its permissions", file.string());
  try {
    return parse_json(text);
  } catch (Error& e) {
    e.add_context(file.string());
    throw;
  }
}

const JsonValue& need_kind(const JsonValue& value, Kind kind, std::string_view what, std::string_view wanted) {
  require(value.is(kind), ErrorCode::fail, "{} is not {}; correct it", what, wanted);
  return value;
}

/// Returns the object `value`; throws for members other than `known`, since an unknown member may change the meaning of
/// others.
const JsonValue& need_object(const JsonValue& value, std::string_view what,
                             std::initializer_list<std::string_view> known) {
  need_kind(value, Kind::object, what, "an object");
  for (const auto& [key, member] : value.members) {
    require(std::find(known.begin(), known.end(), key) != known.end(), ErrorCode::fail,
            "{} has an unknown member '{}'; put members of your own into additional_metadata", what, key);
  }
  return value;
}

std::optional<std::string> text_of(const JsonValue& object, std::string_view key) {
  const JsonValue* value = object.find(key);
  if (!value) return std::nullopt;
  return need_kind(*value, Kind::string, cat("'{}'", key), "a string").text;
}

const JsonValue& need_member(const JsonValue& object, std::string_view key) {
  const JsonValue* value = object.find(key);
  require(value != nullptr, ErrorCode::fail, "'{}' is missing; add it", key);
  return need_kind(*value, Kind::object, cat("'{}'", key), "an object");
}

/// The major version: "1.0", "1" or 1.
int64_t schema_major(const JsonValue& manifest) {
  const JsonValue* value = manifest.find("schema_version");
  require(value != nullptr, ErrorCode::fail, "'schema_version' is missing; set it to \"{}.0\"", kSchemaMajor);
  if (value->integer) return *value->integer;
  const std::string& text = value->text;
  const size_t dot = std::min(text.find('.'), text.size());
  const auto is_number = [](std::string_view digits) {
    return !digits.empty() && digits.size() < 19 && digits.find_first_not_of("0123456789") == std::string_view::npos;
  };
  require(is_number(text.substr(0, dot)) && (dot == text.size() || is_number(text.substr(dot + 1))), ErrorCode::fail,
          "'schema_version' is not of the form \"{}.0\"; write that", kSchemaMajor);
  return std::stoll(text.substr(0, dot));
}

std::map<std::string, std::string> options_of(const JsonValue& from, const char* key) {
  std::map<std::string, std::string> options;
  if (!from.find(key)) return options;
  for (const auto& [name, value] : need_member(from, key).members) {
    require(name.find('\0') == std::string::npos, ErrorCode::fail, "a name in '{}' has a zero inside; leave it out",
            key);
    options[name] = need_kind(value, Kind::string, cat("'{}' of '{}'", name, key), "a string").text;
  }
  return options;
}

/// Reads the entries of `components`; `base` is the folder of the component.
class ComponentReader {
 public:
  ComponentReader(const PackagePaths& paths, fs::path base) : paths_(paths), base_(std::move(base)) {}

  PackageComponent component(const std::string& name, const JsonValue& value) {
    const JsonValue& all = need_object(value, "the component", {"component_name", "variants", "additional_metadata"});
    text_of(all, "component_name");
    PackageComponent made{name, {}};
    for (const auto& [key, body] : need_member(all, "variants").members) {
      try {
        made.variants.push_back(variant(key, body));
      } catch (Error& e) {
        e.add_context(cat("variant '{}'", key));
        throw;
      }
    }
    return made;
  }

 private:
  PackageVariant variant(const std::string& name, const JsonValue& value) {
    const JsonValue& all = need_object(
        value, "the variant",
        {"variant_directory", "ep", "device", "compatibility_string", "executor_info", "additional_metadata"});
    PackageVariant made;
    made.name = name;
    made.provider = text_of(all, "ep");
    made.device = text_of(all, "device").value_or("");
    made.compatibility = text_of(all, "compatibility_string").value_or("");
    made.folder = folder_of(name, text_of(all, "variant_directory"));
    const JsonValue* info = all.find("executor_info");
    if (!info) return made;
    for (const auto& [engine, entry] : need_kind(*info, Kind::object, "'executor_info'", "an object").members) {
      const JsonValue setup = engine_entry(engine, entry, made.folder);
      if (engine == "ort") set_up(made, setup);
    }
    return made;
  }

  /// A folder that is named must exist; one with the name of the variant may exist.
  std::string folder_of(const std::string& name, const std::optional<std::string>& named) const {
    if (named) return paths_.resolve(base_, *named, Must::exist).string();
    std::error_code error;
    const fs::path folder = paths_.resolve(base_, name, Must::be_allowed);
    return fs::exists(folder, error) ? folder.string() : "";
  }

  /// The entry for one engine: given here, or in a file of the variant's folder.
  JsonValue engine_entry(const std::string& engine, const JsonValue& entry, const std::string& folder) const {
    if (entry.is(Kind::object)) return entry;
    const std::string what = cat("executor_info['{}']", engine);
    require(entry.is(Kind::string), ErrorCode::fail,
            "{} is neither an object nor the path of a file; write one of them", what);
    require(!folder.empty(), ErrorCode::fail,
            "{} is a file, but the variant has no folder for it to be in; make the folder", what);
    return read_json(paths_.resolve(folder, entry.text, Must::exist));
  }

  void set_up(PackageVariant& made, const JsonValue& setup) const {
    need_kind(setup, Kind::object, "executor_info['ort']", "an object");
    made.session_options = options_of(setup, "session_options");
    made.provider_options = options_of(setup, "provider_options");
    for (std::string_view key : kOptionsOfPrograms) {
      require(!made.session_options.contains(std::string(key)), ErrorCode::fail,
              "'{}' makes a session write files, or is for tests; leave it to the program", key);
    }
    const auto model = text_of(setup, "model_file");
    const fs::path base = made.folder.empty() ? paths_.root() : fs::path(made.folder);
    if (model) made.model = paths_.resolve_reference(base, *model, Must::be_allowed).string();
  }

  const PackagePaths& paths_;
  const fs::path base_;
};

PackageComponent read_component(const PackagePaths& paths, const std::string& name, const JsonValue& value) {
  if (value.is(Kind::object)) return ComponentReader(paths, paths.root()).component(name, value);
  require(value.is(Kind::string), ErrorCode::fail,
          "it is neither an object nor the path of a file with one; write one of them");
  fs::path file = paths.resolve(paths.root(), value.text, Must::exist);
  std::error_code error;
  if (fs::is_directory(file, error)) file = paths.resolve(file, "component.json", Must::exist);
  return ComponentReader(paths, file.parent_path()).component(name, read_json(file));
}

void read_assets(PackagePaths& paths, const JsonValue& manifest) {
  if (manifest.find("shared_assets")) {
    for (const auto& [name, path] : need_member(manifest, "shared_assets").members) {
      require(is_asset_name(name), ErrorCode::fail,
              "'{}' of 'shared_assets' is not of the form sha256:<64 hexadecimal digits>; correct it", name);
      need_kind(path, Kind::string, cat("the path of shared asset '{}'", name), "a string");
      fs::path folder = paths.resolve(paths.root(), path.text, Must::be_allowed);
      require(paths.installed() || folder != paths.root(), ErrorCode::fail,
              "shared asset '{}' is the package itself, which the portable layout forbids; give it a folder of its own",
              name);
      paths.add_asset(name, std::move(folder));
    }
  }
  paths.find_assets();
}

std::vector<PackageComponent> read_manifest(PackagePaths& paths) {
  const JsonValue manifest = read_json(paths.root() / "manifest.json");
  need_object(manifest, "manifest.json",
              {"schema_version", "package_name", "package_version", "description", "layout", "components",
               "shared_assets", "additional_metadata"});
  const int64_t major = schema_major(manifest);
  require(major == kSchemaMajor, ErrorCode::fail, "schema version {} is not known; use version {}", major,
          kSchemaMajor);
  for (const char* key : {"package_name", "package_version", "description"}) text_of(manifest, key);
  const std::string layout = text_of(manifest, "layout").value_or("portable");
  require(layout == "portable" || layout == "installed", ErrorCode::fail,
          "layout '{}' is not known; use \"portable\" or \"installed\"", layout);
  if (layout == "installed") paths.set_installed();
  read_assets(paths, manifest);
  std::vector<PackageComponent> components;
  for (const auto& [name, value] : need_member(manifest, "components").members) {
    try {
      components.push_back(read_component(paths, name, value));
    } catch (Error& e) {
      e.add_context(cat("component '{}'", name));
      throw;
    }
  }
  return components;
}

template <typename List>
std::string names_of(const List& list) {
  std::string names;
  for (const auto& item : list) names += cat("{}'{}'", names.empty() ? "" : ", ", item.name);
  return names.empty() ? "none" : names;
}

}  // namespace

ModelPackage::ModelPackage(const std::string& root) try : paths_(root), components_(read_manifest(paths_)) {
} catch (Error& e) {
  e.add_context(cat("model package '{}'", root));
  throw;
}

const PackageComponent& ModelPackage::component(const std::string& name) const {
  const auto at = std::find_if(components_.begin(), components_.end(), [&](const auto& c) { return c.name == name; });
  require(at != components_.end(), ErrorCode::invalid_argument,
          "the model package has no component '{}'; choose one of {}", name, names_of(components_));
  return *at;
}

std::string ModelPackage::resolve(const char* base, const std::string& name, bool must_exist) const {
  const fs::path from = base && *base ? fs::path(base) : paths_.root();
  return paths_.resolve_reference(from, name, must_exist ? Must::exist : Must::be_allowed).string();
}

int rank_for_cpu(const PackageVariant& variant) {
  return variant.device.empty() || strcasecmp(variant.device.c_str(), "cpu") == 0 ? 0 : -1;
}

const PackageVariant& select_variant(const PackageComponent& component, const std::string& provider, VariantRank rank) {
  const PackageVariant* best = nullptr;
  int highest = -1;
  for (const PackageVariant& v : component.variants) {
    const int fits = v.provider == provider ? rank(v) : -1;
    if (fits > highest) best = &v;
    highest = std::max(highest, fits);
  }
  if (best) return *best;
  std::string offers;
  for (const PackageVariant& v : component.variants) {
    offers += cat("{}'{}' ({}{}{})", offers.empty() ? "" : ", ", v.name, v.provider.value_or("no provider"),
                  v.device.empty() ? "" : " on device ", v.device);
  }
  fail(ErrorCode::fail,
       "component '{}' has no variant for {}; it has {}; give a variant that provider as 'ep', and no other 'device'",
       component.name, provider, offers.empty() ? "none" : offers);
}

}  // namespace retort
