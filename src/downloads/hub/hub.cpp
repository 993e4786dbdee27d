#include "downloads/hub/hub.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/secret.h"
#include "base/sha256.h"
#include "downloads/errors.h"
#include "models/scan/hub_cache.h"

namespace corral::downloads {
namespace {

constexpr std::size_t kMaxPages = 1000;
constexpr std::size_t kMaxTreeFiles = 100'000;
constexpr std::size_t kAddressDigits = 16, kCommitDigits = 40;

}  // namespace

Hub::Hub(Fetcher& fetcher, async::Timers& timers, HubSettings settings, RetryRules rules, Dice dice)
    : fetcher_(fetcher),
      timers_(timers),
      settings_(std::move(settings)),
      token_(settings_.token),
      rules_(rules),
      dice_(std::move(dice)) {}

std::string Hub::token_for(std::string_view address) const {
  return origin_of(address) == origin_of(settings_.endpoint) ? token_ : std::string();
}

void Hub::refresh_token() {
  if (!settings_.token_file.empty()) token_ = read_token(settings_.token_file);
}

std::string Hub::endpoint_variable_of(const Listing& listing) {
  if (listing.source == SourceKind::address) return {};
  return std::string(listing.source == SourceKind::hub ? kHubVariable : kOllamaVariable);
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
  if (asked.endpoint.empty()) {
    asked.endpoint = settings_.endpoint;
    asked.endpoint_variable = kHubVariable;
  }
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
  refresh_token();
  Asked asked{.repo = repo, .revision = revision, .is_file = false};
  auto answer = co_await ask(std::move(request), asked);
  if (!answer) co_return std::unexpected(std::move(answer.error()));
  auto at = read_revision(answer->body);
  if (!at) co_return std::unexpected(std::move(at.error()));
  listing.at = std::move(*at);

  std::string page = fmt::format("{}/tree/{}?recursive=true", base, listing.at.commit);
  for (std::size_t pages = 0; !page.empty(); ++pages) {
    if (pages == kMaxPages || listing.tree.size() > kMaxTreeFiles)
      co_return fail(errc::upstream_malformed, fmt::format("'{}' has more files than corral can list", repo));
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

async::Task<Result<std::vector<FoundRepo>>> Hub::search(std::string words, std::size_t max) {
  std::string escaped = escape_path(words);
  FetchRequest request{.url = fmt::format("{}/api/models?search={}&filter=gguf&sort=downloads&direction=-1&limit={}",
                                          settings_.endpoint, escaped, std::clamp<std::size_t>(max, 1, 100))};
  Asked asked{.what = "search", .is_file = false};
  auto answer = co_await ask(std::move(request), std::move(asked));
  if (!answer) co_return std::unexpected(std::move(answer.error()));
  co_return read_search(answer->body);
}

async::Task<Result<Listing>> Hub::look_at(std::string address) {
  const std::string_view plain = std::string_view(address).substr(0, address.find('?'));
  const std::string_view name = plain.substr(plain.rfind('/') + 1);
  Asked asked{.what = address, .endpoint = std::string(origin_of(address)), .range = Range{0, 1}};
  // Requests one byte: the response has the size, and shows if the server supports ranges. Without ranges the
  // connection is closed.
  std::uint64_t got = 0;
  FetchRequest request{.url = address, .range = Range{0, 1}};
  request.sink = [](const FetchHead&, std::string_view) { return Take::enough; };
  if (settings_.offline) co_return std::unexpected(offline_error(settings_));
  refresh_token();
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
    co_return fail(errc::upstream_malformed, fmt::format("{} does not report its size", address));
  // Another file at the same URL is another blob. Its name is too short for a hash of its content.
  const std::string id = to_hex(sha256({address, "\n", stamp}));
  std::string host(origin_of(address));
  host = host.substr(host.find("://") + 3);
  std::ranges::replace(host, ':', '_');
  const std::string own = to_hex(sha256({address})).substr(0, kAddressDigits);
  Listing listing{.repo = fmt::format("{}{}/{}", models::kAddressRepos, host, own),
                  .revision = address,
                  .at = {.commit = id.substr(0, kCommitDigits)},
                  .source = SourceKind::address};
  TreeFile file{.path = std::string(name), .size = *size, .oid = listing.at.commit, .hash = HashKind::none};
  file.stamp = stamp;
  listing.tree.push_back(std::move(file));
  co_return listing;
}

}  // namespace corral::downloads
