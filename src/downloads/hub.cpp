#include "downloads/hub.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/secret.h"
#include "base/sha256.h"
#include "downloads/errors.h"
#include "models/hub_cache.h"

namespace corral::downloads {
namespace {

constexpr std::size_t kMostPages = 1000;
constexpr std::size_t kMostFiles = 100'000;

}  // namespace

Hub::Hub(Fetcher& fetcher, async::Timers& timers, HubSettings settings, RetryRules rules, Dice dice)
    : fetcher_(fetcher), timers_(timers), settings_(std::move(settings)), rules_(rules), dice_(std::move(dice)) {}

std::string Hub::token_for(std::string_view address) const {
  return origin_of(address) == origin_of(settings_.endpoint) ? settings_.token : std::string();
}

std::string Hub::address_of(const Listing& listing, const TreeFile& file) const {
  if (listing.source == SourceKind::address) return listing.revision;
  if (listing.source == SourceKind::ollama) {
    const std::string_view name = std::string_view(listing.repo).substr(models::kOllamaRepos.size());
    return fmt::format("{}/v2/{}/blobs/sha256:{}", settings_.ollama, name, file.oid);
  }
  return fmt::format("{}/{}/resolve/{}/{}", settings_.endpoint, listing.repo, listing.at.commit,
                     escape_path(file.path));
}

std::string Hub::endpoint_of(const Listing& listing) const {
  if (listing.source == SourceKind::hub) return settings_.endpoint;
  return listing.source == SourceKind::ollama ? settings_.ollama : std::string(origin_of(listing.revision));
}

async::Task<Result<FetchAnswer>> Hub::ask(FetchRequest request, Asked asked) {
  if (settings_.offline) co_return std::unexpected(offline_error(settings_));
  request.token = token_for(request.url);
  if (asked.endpoint.empty()) asked.endpoint = settings_.endpoint;
  Attempts attempts(rules_);
  while (true) {
    FetchRequest attempt = request;
    FetchAnswer answer = co_await fetcher_.fetch(std::move(attempt));
    Outcome outcome = answer.outcome(request);
    Decision next = attempts.decide(asked, outcome, dice_());
    if (next.step == Step::done) co_return answer;
    if (next.step == Step::fail) co_return std::unexpected(std::move(*next.error));
    request.fresh_connection = next.fresh_connection;
    co_await timers_.sleep_for(next.pause);
  }
}

async::Task<Result<Listing>> Hub::list(std::string repo, std::string revision) {
  Listing listing{.repo = repo, .revision = revision};
  const std::string base = fmt::format("{}/api/models/{}", settings_.endpoint, repo);
  FetchRequest request{.url = fmt::format("{}/revision/{}", base, escape_path(revision))};
  Asked asked{.repo = repo, .revision = revision, .what = "the revision"};
  auto answer = co_await ask(std::move(request), asked);
  if (!answer) co_return std::unexpected(std::move(answer.error()));
  auto at = read_revision(answer->body);
  if (!at) co_return std::unexpected(std::move(at.error()));
  listing.at = std::move(*at);

  asked.what = "the list of files";
  std::string page = fmt::format("{}/tree/{}?recursive=true", base, listing.at.commit);
  for (std::size_t pages = 0; !page.empty(); ++pages) {
    if (pages == kMostPages || listing.tree.size() > kMostFiles)
      co_return fail(errc::upstream_malformed, fmt::format("'{}' has more files than can be listed", repo));
    FetchRequest next{.url = page};
    auto part = co_await ask(std::move(next), asked);
    if (!part) co_return std::unexpected(std::move(part.error()));
    auto files = read_tree(part->body);
    if (!files) co_return std::unexpected(std::move(files.error()));
    std::ranges::move(*files, std::back_inserter(listing.tree));
    page = next_page(part->head.field("link"), page);
  }
  co_return listing;
}

async::Task<Result<std::string>> Hub::read(const Listing& listing, TreeFile file, Range range) {
  std::string bytes;
  if (range.empty()) co_return bytes;
  if (settings_.offline) co_return std::unexpected(offline_error(settings_));
  Asked asked{.repo = file.hash == HashKind::none ? std::string() : listing.repo,
              .revision = listing.revision,
              .what = file.path,
              .endpoint = endpoint_of(listing),
              .size = file.size};
  FetchRequest request{.url = address_of(listing, file)};
  request.token = token_for(request.url);
  Attempts attempts(rules_);
  while (true) {
    const Range left{range.begin + bytes.size(), range.end};
    asked.range = request.range = left;
    FetchRequest attempt = request;
    attempt.sink = [&bytes, left, size = file.size, range](const FetchHead& head, std::string_view text) {
      const auto got = head.content_range();
      const bool fits = head.status == 206 ? got && got->begin == left.begin : left.begin == 0;
      if (!fits || head.total().value_or(size) != size) return Take::enough;  // see attempts.h
      bytes.append(text.substr(0, static_cast<std::size_t>(range.size() - bytes.size())));
      return bytes.size() < range.size() ? Take::more : Take::enough;
    };
    const FetchAnswer answer = co_await fetcher_.fetch(std::move(attempt));
    Outcome outcome = answer.outcome(request);
    outcome.received = range.begin + bytes.size() - left.begin;
    Decision next = attempts.decide(asked, outcome, dice_());
    if (next.step == Step::fail) co_return std::unexpected(std::move(*next.error));
    if (bytes.size() == range.size()) co_return bytes;
    if (next.step == Step::one_piece)
      co_return fail(errc::upstream_failed, fmt::format("'{}': the server gives no ranges", file.path));
    request.fresh_connection = next.fresh_connection;
    co_await timers_.sleep_for(next.pause);
  }
}

async::Task<Result<std::vector<FoundRepo>>> Hub::search(std::string words, std::size_t most) {
  std::string escaped = escape_path(words);
  FetchRequest request{.url = fmt::format("{}/api/models?search={}&filter=gguf&sort=downloads&direction=-1&limit={}",
                                          settings_.endpoint, escaped, std::clamp<std::size_t>(most, 1, 100))};
  Asked asked{.what = "the search"};
  auto answer = co_await ask(std::move(request), std::move(asked));
  if (!answer) co_return std::unexpected(std::move(answer.error()));
  co_return read_search(answer->body);
}

async::Task<Result<Listing>> Hub::look_at(std::string address) {
  const std::string_view plain = std::string_view(address).substr(0, address.find('?'));
  const std::string_view name = plain.substr(plain.rfind('/') + 1);
  Asked asked{.what = address, .endpoint = std::string(origin_of(address)), .range = Range{0, 1}};
  // One byte: its answer tells the size, and whether the server gives ranges. Who gives none is hung up on.
  std::uint64_t got = 0;
  FetchRequest request{.url = address, .range = Range{0, 1}};
  request.sink = [](const FetchHead&, std::string_view) { return Take::enough; };
  if (settings_.offline) co_return std::unexpected(offline_error(settings_));
  request.token = token_for(address);
  Attempts attempts(rules_);
  std::optional<std::uint64_t> size;
  std::string stamp;
  while (true) {
    FetchRequest attempt = request;
    FetchAnswer answer = co_await fetcher_.fetch(std::move(attempt));
    Outcome outcome = answer.outcome(request);
    outcome.received = outcome.fault == Fault::none && (outcome.status == 200 || outcome.status == 206) ? 1 : got;
    Decision next = attempts.decide(asked, outcome, dice_());
    if (next.step == Step::fail) co_return std::unexpected(std::move(*next.error));
    if (next.step == Step::done) {
      size = answer.head.total();
      stamp = answer.head.stamp();
      break;
    }
    request.fresh_connection = next.fresh_connection;
    co_await timers_.sleep_for(next.pause);
  }
  if (!size || *size == 0)
    co_return fail(errc::upstream_malformed, fmt::format("{} doesn't say how large it is", address));
  // Another file at the same address is another blob.
  const std::string id = to_hex(sha256({address, "\n", stamp}));
  std::string host(origin_of(address));
  host = host.substr(host.find("://") + 3);
  std::ranges::replace(host, ':', '_');
  Listing listing{.repo = host, .revision = address, .at = {.commit = id.substr(0, 40)}, .source = SourceKind::address};
  listing.tree.push_back({.path = std::string(name), .size = *size, .oid = id, .hash = HashKind::none, .stamp = stamp});
  co_return listing;
}

}  // namespace corral::downloads
