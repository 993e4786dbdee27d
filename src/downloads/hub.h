// The hub: which commit a revision is, which files it has, which repositories there are. And any server whose files are
// fetched by their addresses.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "async/timer.h"
#include "downloads/attempts.h"
#include "downloads/choice.h"
#include "downloads/fetcher.h"
#include "downloads/hub_answers.h"
#include "downloads/names.h"
#include "downloads/settings.h"

namespace corral::downloads {

// What there is of a repository at one commit.
struct Listing {
  std::string repo = {};
  std::string revision = {};  // as asked for: "main"
  Revision at = {};
  std::vector<TreeFile> tree = {};
  SourceKind source = SourceKind::hub;
};

// On one loop; what it is given outlives it.
class Hub {
 public:
  using Dice = std::function<std::uint64_t()>;

  Hub(Fetcher& fetcher, async::Timers& timers, HubSettings settings, RetryRules rules, Dice dice);

  const HubSettings& settings() const { return settings_; }

  // Tries again as `rules` say. Errors: those of refusal(), offline, unreachable, upstream_malformed, rate_limited.
  async::Task<Result<Listing>> list(std::string repo, std::string revision);
  async::Task<Result<std::vector<FoundRepo>>> search(std::string words, std::size_t most);
  // Of a file at an address: the only one of a repository of its own, without a hash (models/hub_cache.h).
  async::Task<Result<Listing>> look_at(std::string address);

  // Where a file of a listing is.
  std::string address_of(const Listing& listing, const TreeFile& file) const;
  // The token for an address: nothing but the endpoint gets it. list() and look_at() read a token's file anew.
  std::string token_for(std::string_view address) const;

  // The server of a listing's files, for messages.
  std::string endpoint_of(const Listing& listing) const;
  // The variable that names another one; empty: none does.
  static std::string endpoint_variable_of(const Listing& listing);

  // Fetches until it is there, or there is no use in it. A sink may be called for several attempts. `asked.endpoint` is
  // the hub where it is empty.
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
