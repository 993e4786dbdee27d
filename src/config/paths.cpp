#include "config/paths.h"

#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace corral::config {
namespace fs = std::filesystem;

Paths Paths::from(const std::function<std::optional<std::string>(std::string_view)>& environment) {
  // The specification: a value that isn't an absolute path is to be ignored.
  const auto folder = [&](std::string_view variable, fs::path otherwise) {
    const auto value = environment(variable);
    return value && fs::path(*value).is_absolute() ? fs::path(*value) : std::move(otherwise);
  };
  Paths paths;
  paths.home = folder("HOME", "/");
  paths.config_home = folder("XDG_CONFIG_HOME", paths.home / ".config");
  paths.state_home = folder("XDG_STATE_HOME", paths.home / ".local/state");
  const fs::path temporary = folder("TMPDIR", "/tmp");
  paths.runtime_dir = folder("XDG_RUNTIME_DIR", temporary / fmt::format("corral-{}", ::getuid()));
  return paths;
}

fs::path Paths::expand(const std::string& text, const fs::path& base) const {
  const std::pair<std::string_view, const fs::path&> starts[] = {
      {"~", home}, {"$XDG_RUNTIME_DIR", runtime_dir}, {"$XDG_STATE_HOME", state_home}};
  for (const auto& [start, folder] : starts) {
    if (text == start) return folder;
    if (text.starts_with(start) && text[start.size()] == '/') return folder / text.substr(start.size() + 1);
  }
  const fs::path path(text);
  return (path.is_absolute() || base.empty() ? path : base / path).lexically_normal();
}

std::string Paths::shorten(const fs::path& path) const {
  const std::string text = path.string();
  const std::string start = home.string() + "/";
  if (home == "/" || !text.starts_with(start)) return text;
  return "~/" + text.substr(start.size());
}

}  // namespace corral::config
