// Where the Hugging Face hub cache is and what it holds: models--ORG--REPO/snapshots/REVISION/FILE, with refs/main
// naming the revision in use. The environment comes in as a value, so that tests and the composition root decide it.
// Blocking file access.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace corral::models {

// The value of a variable of the environment; empty: it isn't set.
using HubEnvironment = std::function<std::string(std::string_view name)>;

// A folder or file as huggingface_hub reads it from a variable (os.path.expanduser, expandvars): a "~" in front is
// HOME, then $NAME and ${NAME} are variables, unless they aren't set. A relative path starts at the working directory.
std::filesystem::path expand_hub_path(const std::string& text, const HubEnvironment& environment);

// HF_HOME, else XDG_CACHE_HOME/huggingface, else HOME/.cache/huggingface; empty when none is set.
std::filesystem::path hub_home_dir(const HubEnvironment& environment);

// HF_HUB_CACHE, or its older name HUGGINGFACE_HUB_CACHE, else the folder "hub" of hub_home_dir(), if that isn't empty.
std::filesystem::path hub_cache_dir(const HubEnvironment& environment);

// Models of Ollama's registry lie there, too, as repositories of three parts: "ollama.com/library/x", whose files are
// called "x-TAG.gguf".
inline constexpr std::string_view kOllamaRepos = "ollama.com/";

// Files from addresses lie there, too, each address in a repository of its own: "web.address/HOST/ID". No owner of the
// hub has a '.' in its name.
inline constexpr std::string_view kAddressRepos = "web.address/";

// The host ("nas_8080"), if the repository holds a file from an address.
std::optional<std::string> address_host_of(std::string_view repo);

// "org/repo" for a directory named models--org--repo, nothing for other names.
std::optional<std::string> hub_repo_of(std::string_view directory_name);

// The snapshots of one repository, the revision of refs/main first, then the newest first. Empty when there are none.
std::vector<std::filesystem::path> hub_snapshots(const std::filesystem::path& repo_dir);

}  // namespace corral::models
