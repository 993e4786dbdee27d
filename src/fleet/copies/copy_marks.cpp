#include "fleet/copies/copy_marks.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/log.h"
#include "base/secret.h"
#include "base/state_file.h"

namespace corral::fleet {

namespace {

constexpr std::string_view kFile = ".corral-for-requests";

}  // namespace

std::set<Sha256> read_copy_marks(const std::filesystem::path& folder) {
  std::set<Sha256> marks;
  const auto text = read_state_file(folder / kFile);
  if (!text || !*text) return marks;
  std::string_view rest = **text;
  while (!rest.empty()) {
    const auto line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (const auto content = parse_sha256(line)) marks.insert(*content);
  }
  return marks;
}

void write_copy_marks(const std::filesystem::path& folder, const std::set<Sha256>& marks) {
  std::error_code ignored;
  if (marks.empty()) {
    std::filesystem::remove(folder / kFile, ignored);
    return;
  }
  std::string text;
  for (const auto& content : marks) text += to_hex(content) + "\n";
  if (auto kept = write_state_file(folder / kFile, text); !kept) log::warning("mesh", "{}", kept.error().message);
}

}  // namespace corral::fleet
