#include "downloads/hub/hub_answers.h"

#include <fmt/format.h>

#include "downloads/errors.h"
#include "downloads/names.h"
#include "json/peek.h"

namespace corral::downloads {
namespace {

std::unexpected<Error> malformed(std::string_view what) {
  return fail(errc::upstream_malformed, fmt::format("invalid response of the hub: {}", what));
}

std::uint64_t count_of(const json::View& value) {
  const auto number = value.as_integer();
  return number > 0 ? static_cast<std::uint64_t>(number) : 0;
}

// The size of a file, in bytes. Sizes beyond any disk are ignored.
std::optional<std::uint64_t> size_of(const json::View& value) {
  constexpr std::int64_t kMax = std::int64_t{1} << 50;
  if (value.kind() != json::Kind::integer || value.as_integer() < 0 || value.as_integer() > kMax) return std::nullopt;
  return static_cast<std::uint64_t>(value.as_integer());
}

// The value is `false`, or the kind: "auto", "manual".
bool is_gated(const json::View& value) { return value.is_string() || value.as_bool(); }

std::optional<TreeFile> read_file(const json::View& entry) {
  if (entry.find("type").as_string() != "file") return std::nullopt;
  TreeFile file{.path = std::string(entry.find("path").as_string())};
  const json::View lfs = entry.find("lfs");
  const auto size = size_of(lfs.is_object() ? lfs.find("size") : entry.find("size"));
  if (!size) return std::nullopt;
  file.size = *size;
  if (lfs.is_object()) {
    file.oid = lfs.find("oid").as_string();
    file.hash = HashKind::sha256;
    if (file.oid.size() != 64) return std::nullopt;
  } else {
    file.oid = entry.find("oid").as_string();
    file.hash = HashKind::git_sha1;
    if (file.oid.size() != 40) return std::nullopt;
  }
  if (!is_safe_path(file.path) || !is_safe_oid(file.oid)) return std::nullopt;
  return file;
}

}  // namespace

Result<Revision> read_revision(std::string_view text) {
  const auto peek = json::Peek::open(std::string(text));
  if (!peek) return malformed(peek.error().message);
  const json::View root = peek->root();
  Revision revision{.commit = std::string(root.find("sha").as_string()), .gated = is_gated(root.find("gated"))};
  if (!is_safe_oid(revision.commit)) return malformed("it has no commit");
  const json::View card = root.find("cardData");
  if (card.is_object()) revision.licence = card.find("license").as_string();
  return revision;
}

Result<std::vector<TreeFile>> read_tree(std::string_view text) {
  const auto peek = json::Peek::open(std::string(text));
  if (!peek) return malformed(peek.error().message);
  if (!peek->root().is_array()) return malformed("the list of files is not a list");
  std::vector<TreeFile> files;
  peek->root().each_element([&](const json::View& entry) {
    if (auto file = read_file(entry)) files.push_back(std::move(*file));
  });
  return files;
}

Result<std::vector<FoundRepo>> read_search(std::string_view text) {
  const auto peek = json::Peek::open(std::string(text));
  if (!peek) return malformed(peek.error().message);
  if (!peek->root().is_array()) return malformed("the search result is not a list");
  std::vector<FoundRepo> found;
  peek->root().each_element([&](const json::View& entry) {
    FoundRepo repo{.repo = std::string(entry.find("id").as_string()),
                   .downloads = count_of(entry.find("downloads")),
                   .likes = count_of(entry.find("likes")),
                   .gated = is_gated(entry.find("gated"))};
    if (is_repo(repo.repo)) found.push_back(std::move(repo));
  });
  return found;
}

std::string_view origin_of(std::string_view url) {
  const auto scheme = url.find("://");
  if (scheme == url.npos) return {};
  return url.substr(0, url.find_first_of("/?#", scheme + 3));
}

std::string next_page(std::string_view link, std::string_view from) {
  // <address>; rel="next", <address>; rel="last"
  while (true) {
    const auto open = link.find('<');
    const auto close = open == link.npos ? open : link.find('>', open);
    if (close == link.npos) return {};
    const std::string_view address = link.substr(open + 1, close - open - 1);
    link.remove_prefix(close + 1);
    const std::string_view about = link.substr(0, link.find('<'));
    if (about.find("rel=\"next\"") == about.npos && about.find("rel=next") == about.npos) continue;
    if (address.starts_with('/') && !address.starts_with("//")) return std::string(origin_of(from)).append(address);
    return origin_of(address) == origin_of(from) ? std::string(address) : std::string();
  }
}

}  // namespace corral::downloads
