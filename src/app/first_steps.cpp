#include "app/first_steps.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/human_bytes.h"
#include "base/shell_word.h"

namespace corral::app {
namespace {

std::string download_line(const config::KnownModels& known, std::uint64_t room, bool offline) {
  if (offline) return "no models are here, and the setting offline forbids downloads";
  const auto fitting = config::suggested_models(known, room);
  if (fitting.empty())
    return "no models are here, and no known model fits this machine's memory: find a smaller one with corral search";
  const auto& first = *fitting.front();
  const auto size = config::estimated_size(first);
  std::vector<std::string> others;
  for (std::size_t i = 1; i < fitting.size(); ++i) others.push_back("corral run " + shell_word(fitting[i]->name));
  return fmt::format(
      "no models are here; download one with: corral run {} (about {} on disk, {} of memory; {}; licence: {}){}{}",
      shell_word(first.name), human_bytes(size), human_bytes(config::estimated_memory(size)),
      fmt::join(first.labels, ", "), first.licence, others.empty() ? "" : ", or ", fmt::join(others, ", "));
}

std::string file_line(const FirstPlaces& places) {
  if (places.models_dirs.empty())
    return fmt::format("or name a folder with GGUF files: --models-dir DIR, or models_dir = [\"DIR\"] in {}",
                       places.config_file.native());
  return fmt::format("or copy GGUF files into {}; corral doctor shows folders and files that cannot be read",
                     places.models_dirs.front().native());
}

}  // namespace

std::array<std::string, 2> first_steps(const config::KnownModels& known, std::uint64_t room,
                                       const FirstPlaces& places) {
  return {download_line(known, room, places.offline), file_line(places)};
}

}  // namespace corral::app
