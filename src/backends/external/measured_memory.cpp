#include "backends/external/measured_memory.h"

#include <algorithm>

#include "base/log.h"
#include "base/state_file.h"
#include "json/count.h"
#include "json/value.h"
#include "json/writer.h"

namespace corral::backends {
namespace {

constexpr std::size_t kMaxMeasured = 4096;

std::uint64_t bytes_of(const json::Value& entry, std::string_view name) {
  return json::to_count(json::number_or(entry, name, 0)).value_or(0);
}

}  // namespace

MeasuredMemory::MeasuredMemory(std::filesystem::path file) : file_(std::move(file)) {
  if (file_.empty()) return;
  const auto text = read_state_file(file_);
  if (!text || !*text) return;
  const auto parsed = json::parse(**text);
  const auto* entries = parsed ? parsed->if_object() : nullptr;
  if (entries == nullptr) {
    const auto aside = set_aside(file_);
    log::warning("backends", "{} cannot be read and is renamed to {}", file_.native(), aside.native());
    return;
  }
  for (const auto& [key, entry] : *entries) {
    if (known_.size() < kMaxMeasured) known_[std::string(key)] = {bytes_of(entry, "host"), bytes_of(entry, "gpu")};
  }
}

std::optional<Measured> MeasuredMemory::of(const std::string& key) const {
  const auto found = known_.find(key);
  return found == known_.end() ? std::nullopt : std::optional(found->second);
}

void MeasuredMemory::note(const std::string& key, Measured seen) {
  const auto before = of(key).value_or(Measured{});
  const Measured peak{std::max(before.host, seen.host), std::max(before.gpu, seen.gpu)};
  // A slightly higher value isn't worth a write.
  const auto grew = [](std::uint64_t now, std::uint64_t then) { return now > then + then / 50; };
  if (peak == Measured{} || (!grew(peak.host, before.host) && !grew(peak.gpu, before.gpu))) return;
  if (!known_.contains(key) && known_.size() >= kMaxMeasured) known_.erase(known_.begin());
  known_[key] = peak;
  write();
}

void MeasuredMemory::write() const {
  if (file_.empty()) return;
  std::string text;
  json::Writer out(text);
  out.begin_object();
  for (const auto& [key, seen] : known_)
    out.any_key(key).begin_object().field("host", seen.host).field("gpu", seen.gpu).end_object();
  out.end_object();
  const auto written = write_state_file(file_, text);
  if (!written) log::warning("backends", "measured memory cannot be saved: {}", written.error().message);
}

}  // namespace corral::backends
