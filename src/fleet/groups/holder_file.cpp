#include "fleet/groups/holder_file.h"

#include <fmt/format.h>

#include "base/log.h"
#include "base/state_file.h"

namespace corral::fleet {
namespace {

constexpr std::string_view kNoHost = "nobody";

std::string_view first_line(std::string_view text) { return text.substr(0, text.find('\n')); }

}  // namespace

HolderFile::HolderFile(async::Executor executor, async::Timers& timers, async::ThreadPool& disk,
                       const std::filesystem::path& folder, KeptFile::Write write)
    : file_(executor, timers, disk, folder / kHolderFile, std::move(write)) {}

std::optional<mesh::NodeId> HolderFile::read() {
  const auto text = read_state_file(file_.path());
  if (text && !*text) return std::nullopt;
  if (text) {
    const auto line = first_line(**text);
    if (line == kNoHost) return std::nullopt;
    if (const auto host = mesh::parse_node_id(line)) return host;
    const auto aside = set_aside(file_.path());
    log::warning("mesh", "'{}' contains no valid node id and was renamed to '{}'", file_.path().native(),
                 aside.native());
  } else {
    log::warning("mesh", "{}", text.error().message);
  }
  return mesh::NodeId{};
}

void HolderFile::write(const std::optional<mesh::NodeId>& host, KeptFile::Done done) {
  file_.write(fmt::format("{}\n", host ? mesh::to_text(*host) : std::string(kNoHost)), std::move(done));
}

}  // namespace corral::fleet
