#include "downloads/transfer/progress_file.h"

#include "base/state_file.h"
#include "downloads/cache_layout.h"
#include "json/count.h"
#include "json/value.h"
#include "json/writer.h"

namespace corral::downloads {
namespace {

constexpr int kVersion = 1;
constexpr std::size_t kMaxBytes = 4 << 20;

std::optional<std::uint64_t> count_of(const json::Value& value) {
  if (!value.is_number()) return std::nullopt;
  return json::to_count(value.to_number<double>());
}

}  // namespace

std::string write_progress(const Progress& progress) {
  std::string text;
  json::Writer json(text);
  json.begin_object().field("version", kVersion).field("size", progress.size).key("done").begin_array();
  for (const Range& range : progress.done.ranges()) json.begin_array().value(range.begin).value(range.end).end_array();
  json.end_array().end_object();
  return text;
}

std::optional<Progress> read_progress(std::string_view text, std::uint64_t size) {
  if (text.size() > kMaxBytes) return std::nullopt;
  const auto root = json::parse(text);
  if (!root || json::number_or(*root, "version", 0) != kVersion) return std::nullopt;
  const json::Value* const recorded = json::find(*root, "size");
  if (!recorded || count_of(*recorded) != size) return std::nullopt;
  const json::Value* const done = json::find(*root, "done");
  if (!done || !done->is_array()) return std::nullopt;
  Progress progress{.size = size};
  for (const json::Value& pair : done->as_array()) {
    if (!pair.is_array() || pair.as_array().size() != 2) return std::nullopt;
    const auto begin = count_of(pair.as_array()[0]), end = count_of(pair.as_array()[1]);
    if (!begin || !end || *begin > *end || *end > size) return std::nullopt;
    progress.done.add({*begin, *end});
  }
  return progress;
}

Progress load_progress(const std::filesystem::path& path, std::uint64_t size) {
  const auto text = read_state_file(path);
  if (text && *text)
    if (auto progress = read_progress(**text, size)) return std::move(*progress);
  return {.size = size};
}

Result<> save_progress(const std::filesystem::path& path, const Progress& progress) {
  auto written = write_state_file(path, write_progress(progress), Durability::power_loss);
  if (!written) return std::unexpected(disk_error(written.error().code.value(), "writing", path));
  return {};
}

}  // namespace corral::downloads
