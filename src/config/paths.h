// The user's folders, after the XDG base directory specification 0.8, from the environment.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace corral::config {

struct Paths {
  std::filesystem::path home;
  std::filesystem::path config_home;  // ${XDG_CONFIG_HOME:-~/.config}
  std::filesystem::path state_home;   // ${XDG_STATE_HOME:-~/.local/state}
  std::filesystem::path runtime_dir;  // $XDG_RUNTIME_DIR, else a folder of this user in the temporary folder

  static Paths from(const std::function<std::optional<std::string>(std::string_view)>& environment);

  // Replaces a leading "~", "$XDG_RUNTIME_DIR" or "$XDG_STATE_HOME"; a relative path starts at `base`.
  std::filesystem::path expand(const std::string& text, const std::filesystem::path& base) const;
  // Shortens paths for messages: "~/x" for a path below home.
  std::string shorten(const std::filesystem::path& path) const;
};

}  // namespace corral::config
