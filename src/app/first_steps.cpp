#include "app/first_steps.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/human_bytes.h"

namespace corral::app {

std::vector<std::string> first_steps(const config::KnownModels& known, std::uint64_t room) {
  std::vector<std::string> lines;
  for (const auto* model : config::suggested_models(known, room)) {
    const auto size = config::estimated_size(*model);
    lines.push_back(fmt::format("  corral run {:<18}  about {} on disk, {} of memory; {}; licence: {}", model->name,
                                human_bytes(size), human_bytes(config::estimated_memory(size)),
                                fmt::join(model->labels, ", "), model->licence));
  }
  lines.insert(lines.begin(), lines.empty() ? "no models are here, and no known model fits this machine's memory"
                                            : "no models are here; these known models fit this machine:");
  return lines;
}

}  // namespace corral::app
