// The hub's API: the commit of a revision, its files, and the search for repositories. Also servers of files by URL.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "async/timer.h"
#include "downloads/hub/choice.h"
#include "downloads/hub/hub_answers.h"
#include "downloads/names.h"
#include "downloads/settings.h"
#include "downloads/transfer/attempts.h"
#include "downloads/transfer/fetcher.h"

namespace corral::downloads {

// The content of a repository at one commit.
struct Listing {
  std::string repo = {};
  std::string revision = {};  // as requested: "main"
  Revision at = {};
  std::vector<TreeFile> tree = {};
  SourceKind source = SourceKind::hub;
};

// On one loop; constructor arguments outlive it.
class Hub {
 public:
  using Dice = std::function<std::uint64_t()>;

  Hub(Fetcher& fetcher, async::Timers& timers, HubSettings settings, RetryRules rules, Dice dice);

  const HubSettings& settings() const { return settings_; }

  // Retries by `rules`. Errors: those of refusal(), offline, unreachable, upstream_malformed, rate_limited.
  async::Task<Result<Listing>> list(std::string repo, std::string revision);
  async::Task<Result<std::vector<FoundRepo>>> search(std::string words, std::size_t max);
  // The listing of a file at a URL: the only file of its own repository, without a hash (models/scan/hub_cache.h).
  async::Task<Result<Listing>> look_at(std::string address);

  // The URL of a file of a listing.
  std::string address_of(const Listing& listing, const TreeFile& file) const;
  // The token for a URL: only the endpoint gets it. list() and look_at() read the token's file again.
  std::string token_for(std::string_view address) const;

  // The server of a listing's files, for messages.
  std::string endpoint_of(const Listing& listing) const;
  // The variable that sets another server; empty: none.
  static std::string endpoint_variable_of(const Listing& listing);

  // Fetches until success or a final failure. A sink may be called for several attempts. An empty `asked.endpoint`
  // means the hub.
  async::Task<Result<FetchAnswer>> ask(FetchRequest request, Asked asked);

 private:
  void refresh_token();

  Fetcher& fetcher_;
  async::Timers& timers_;
  const HubSettings settings_;
  std::string token_;
  const RetryRules rules_;
  const Dice dice_;
};

}  // namespace corral::downloads
