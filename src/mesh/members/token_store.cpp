#include "mesh/members/token_store.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/log.h"
#include "base/secret.h"
#include "base/state_file.h"
#include "mesh/identity/bytes.h"
#include "mesh/identity/errors.h"

namespace corral::mesh {
namespace {

namespace fs = std::filesystem;
using State = IssuedToken::State;

constexpr std::string_view kMagic = "corral-tokens";
constexpr std::uint8_t kVersion = 1;

std::uint64_t seconds_of(WallTime time) {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count());
}
WallTime from_seconds(std::uint64_t seconds) {
  return WallTime(std::chrono::seconds(std::min<std::uint64_t>(seconds, 1ull << 33)));
}
WallTime whole_seconds(WallTime time) { return from_seconds(seconds_of(time)); }

std::string encode(const std::vector<IssuedToken>& tokens) {
  std::string bytes;
  ByteWriter out(bytes);
  out.raw(kMagic).number<std::uint8_t>(kVersion).number<std::uint16_t>(static_cast<std::uint16_t>(tokens.size()));
  for (const auto& token : tokens) {
    out.raw(token.id.bytes).number<std::uint64_t>(seconds_of(token.issued));
    out.number<std::uint64_t>(seconds_of(token.expires)).number<std::uint8_t>(static_cast<std::uint8_t>(token.state));
    out.raw(token.used_by.bytes);
  }
  out.raw(tagged_hash("tokens", std::string(bytes)));
  return bytes;
}

std::optional<std::vector<IssuedToken>> decode(std::string_view bytes) {
  ByteReader in(bytes);
  std::vector<IssuedToken> tokens;
  if (in.take(kMagic.size()) != kMagic || in.number<std::uint8_t>() != kVersion) return std::nullopt;
  const auto count = in.number<std::uint16_t>();
  for (std::size_t i = 0; i < count && in.ok(); ++i) {
    IssuedToken token;
    token.id.bytes = in.fixed<32>();
    token.issued = from_seconds(in.number<std::uint64_t>());
    token.expires = from_seconds(in.number<std::uint64_t>());
    const auto state = in.number<std::uint8_t>();
    if (state > static_cast<std::uint8_t>(State::withdrawn)) return std::nullopt;
    token.state = static_cast<State>(state);
    token.used_by.bytes = in.fixed<32>();
    tokens.push_back(token);
  }
  const auto body = bytes.substr(0, bytes.size() - in.rest().size());
  if (in.fixed<32>() != tagged_hash("tokens", body) || !in.done()) return std::nullopt;
  return tokens;
}

bool is_open(const IssuedToken& token, WallTime now) { return token.state == State::open && now < token.expires; }

}  // namespace

Result<TokenStore> TokenStore::open(const fs::path& folder) {
  TokenStore store(folder / kTokensFile);
  const auto bytes = read_state_file(store.file_);
  if (!bytes) return std::unexpected(bytes.error());
  if (!*bytes) return store;
  auto tokens = decode(**bytes);
  if (tokens) {
    store.tokens_ = std::move(*tokens);
  } else {
    const auto aside = set_aside(store.file_);
    log::warning("mesh", "'{}' held no list of tokens and was moved to '{}'; tokens that were out are void",
                 store.file_.native(), aside.native());
  }
  return store;
}

Result<> TokenStore::keep(std::vector<IssuedToken> tokens) {
  if (auto written = write_state_file(file_, encode(tokens), Survives::power_loss); !written) return written;
  tokens_ = std::move(tokens);
  return {};
}

Result<Token> TokenStore::issue(const MeshId& mesh, const NodeId& issuer, const TokenWishes& wishes, WallTime now) {
  if (wishes.seeds.empty() || wishes.seeds.size() > kMostSeeds) {
    return fail(errc::bad_address, fmt::format("a token needs 1 to {} addresses of this node", kMostSeeds));
  }
  if (wishes.lifetime < std::chrono::seconds(1) || wishes.lifetime > kLongestLifetime) {
    return fail(errc::malformed, "a token lives for a second to a week", "lifetime");
  }
  if (open_count(now) >= kMostOpen) {
    return fail(errc::too_many, fmt::format("{} tokens are out already; withdraw some", kMostOpen));
  }
  Token token{mesh, {issuer}, wishes.seeds, random_bytes<16>(), whole_seconds(now + wishes.lifetime)};
  auto tokens = tokens_;
  tokens.push_back({token_id(token_key(token).public_key()), whole_seconds(now), token.expires, State::open, {}});
  // What is over goes first, the oldest of it; what is open never does.
  while (tokens.size() > kMostKept) {
    tokens.erase(std::ranges::find_if(tokens, [&](const auto& one) { return !is_open(one, now); }));
  }
  if (auto kept = keep(std::move(tokens)); !kept) return std::unexpected(kept.error());
  return token;
}

std::vector<IssuedToken> TokenStore::list() const { return {tokens_.rbegin(), tokens_.rend()}; }

std::size_t TokenStore::open_count(WallTime now) const {
  return static_cast<std::size_t>(std::ranges::count_if(tokens_, [&](const auto& one) { return is_open(one, now); }));
}

Result<> TokenStore::withdraw(std::string_view digits) {
  auto tokens = tokens_;
  IssuedToken* found = nullptr;
  for (auto& token : tokens) {
    if (digits.empty() || !to_hex(token.id.bytes).starts_with(digits)) continue;
    if (found)
      return fail(errc::token_unknown, fmt::format("several tokens begin with '{}'; give more digits", digits));
    found = &token;
  }
  if (!found) return fail(errc::token_unknown, fmt::format("no token of this node begins with '{}'", digits));
  if (found->state == State::used) {
    return fail(errc::token_used,
                fmt::format("the token was used by {}; revoke that node instead", short_text(found->used_by)));
  }
  found->state = State::withdrawn;
  return keep(std::move(tokens));
}

Result<> TokenStore::check(const TokenId& id, const NodeId& joiner, WallTime now) const {
  const auto found = std::ranges::find(tokens_, id, &IssuedToken::id);
  if (found == tokens_.end()) return fail(errc::token_unknown, "this node issued no such token; ask for a new one");
  if (found->state == State::withdrawn)
    return fail(errc::token_withdrawn, "the token was withdrawn; ask for a new one");
  if (found->state == State::used && found->used_by != joiner) {
    return fail(errc::token_used, "the token was used by another node; each node needs one of its own");
  }
  if (now >= found->expires) return fail(errc::token_expired, "the token has expired; ask for a new one");
  return {};
}

Result<> TokenStore::use(const TokenId& id, const NodeId& joiner, WallTime now) {
  if (auto may = check(id, joiner, now); !may) return may;
  auto tokens = tokens_;
  const auto found = std::ranges::find(tokens, id, &IssuedToken::id);
  if (found->state == State::used) return {};
  found->state = State::used;
  found->used_by = joiner;
  return keep(std::move(tokens));
}

}  // namespace corral::mesh
