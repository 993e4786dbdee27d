#include "fleet/node/join_at_start.h"

#include <fmt/format.h>

#include "base/log.h"
#include "base/state_file.h"
#include "fleet/base/errors.h"
#include "fleet/membership/membership.h"
#include "mesh/identity/errors.h"

namespace corral::fleet {
namespace {

constexpr Millis kFirstPause{1'000};
constexpr Millis kLongestPause{60'000};
constexpr std::string_view kTokenBegin = "corral-join_";

}  // namespace

Result<mesh::JoinToken> read_token(const std::string& token_or_file) {
  if (token_or_file.starts_with(kTokenBegin)) return mesh::parse_token(token_or_file);
  const auto text = read_state_file(token_or_file);
  if (!text) return std::unexpected(text.error());
  if (!*text) {
    return fail(mesh::errc::token_malformed,
                "the value of --join is neither a token (corral-join_...) nor an existing file");
  }
  return mesh::parse_token(**text);
}

bool worth_another_try(const Error& error) {
  const auto kind = kind_of(error.code);
  return error.code == errc::change_runs || kind == ErrorKind::unavailable || kind == ErrorKind::timeout ||
         kind == ErrorKind::upstream;
}

async::Task<void> keep_joining(Node& node, async::Timers& timers, std::string token_or_file) {
  if (node.is_member()) co_return;
  const auto token = read_token(token_or_file);
  if (!token) {
    log::error("mesh", "can't join a mesh: {}", token.error().message);
    co_return;
  }
  for (auto pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
    auto joining = node.join(*token, {});
    const auto joined = co_await std::move(joining);
    if (joined || joined.error().code == errc::in_a_mesh) co_return;
    const bool again = worth_another_try(joined.error());
    log::warning("mesh", "{}; {}", joined.error().message,
                 again ? fmt::format("retry in {} s", pause.count() / 1000) : "not retried");
    if (!again) co_return;
    co_await timers.sleep_for(pause);
  }
}

}  // namespace corral::fleet
