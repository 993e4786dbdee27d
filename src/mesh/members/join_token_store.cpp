#include "mesh/members/join_token_store.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/log.h"
#include "base/secret.h"
#include "base/state_file.h"
#include "mesh/identity/bytes.h"
#include "mesh/identity/errors.h"

namespace corral::mesh {

using async::Task;

namespace {

namespace fs = std::filesystem;
using TokenState = IssuedToken::State;

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
    if (state > static_cast<std::uint8_t>(TokenState::withdrawn)) return std::nullopt;
    token.state = static_cast<TokenState>(state);
    token.used_by.bytes = in.fixed<32>();
    tokens.push_back(token);
  }
  const auto body = bytes.substr(0, bytes.size() - in.rest().size());
  if (in.fixed<32>() != tagged_hash("tokens", body) || !in.done()) return std::nullopt;
  return tokens;
}

bool is_open(const IssuedToken& token, WallTime now) { return token.state == TokenState::open && now < token.expires; }

std::size_t count_open(const std::vector<IssuedToken>& tokens, WallTime now) {
  return static_cast<std::size_t>(std::ranges::count_if(tokens, [&](const auto& one) { return is_open(one, now); }));
}

Result<> may_use(const std::vector<IssuedToken>& tokens, const TokenId& id, const NodeId& joiner, WallTime now) {
  const auto found = std::ranges::find(tokens, id, &IssuedToken::id);
  if (found == tokens.end()) return fail(errc::token_unknown, "the issuer doesn't know this token; get a new one");
  if (found->state == TokenState::withdrawn)
    return fail(errc::token_withdrawn, "the token was withdrawn; get a new one");
  if (found->state == TokenState::used && found->used_by != joiner) {
    return fail(errc::token_used, "another node used the token; each node needs its own");
  }
  if (now >= found->expires) return fail(errc::token_expired, "the token has expired; get a new one");
  return {};
}

}  // namespace

IssuedToken issued_token(const JoinToken& token, WallTime now) {
  return {token_id(token_key(token).public_key()), whole_seconds(now), token.expires, IssuedToken::State::open, {}};
}

Result<JoinTokenStore> JoinTokenStore::open(const fs::path& folder) {
  JoinTokenStore store(folder / kTokensFile);
  const auto& file = store.state_->file.path();
  const auto bytes = read_state_file(file);
  if (!bytes) return std::unexpected(bytes.error());
  if (!*bytes) return store;
  auto tokens = decode(**bytes);
  if (tokens) {
    store.state_->tokens = std::move(*tokens);
  } else {
    const auto aside = set_aside(file);
    log::warning("mesh", "'{}' has no valid list of tokens and was moved to '{}'; open tokens are void", file.native(),
                 aside.native());
  }
  return store;
}

Task<Result<>> JoinTokenStore::change(StatePtr state, Edit edit) {
  const auto changed = std::make_shared<std::optional<Tokens>>();
  DurableFile::MakeText text = [state, edit = std::move(edit), changed]() -> Result<std::optional<std::string>> {
    Tokens tokens = state->tokens;
    const auto edited = edit(tokens);
    if (!edited) return std::unexpected(edited.error());
    if (!*edited) return std::nullopt;
    *changed = std::move(tokens);
    return encode(**changed);
  };
  DurableFile::Done done = [state, changed](const Result<>& written) {
    if (written && *changed) state->tokens = std::move(**changed);
  };
  co_return co_await state->file.changed(std::move(text), std::move(done));
}

Task<Result<JoinToken>> JoinTokenStore::issue(MeshId mesh, NodeId issuer, JoinTokenOptions options, WallTime now) {
  if (options.seeds.empty() || options.seeds.size() > kMaxSeeds) {
    co_return fail(errc::bad_address, fmt::format("a token needs 1 to {} addresses of this node", kMaxSeeds));
  }
  if (options.lifetime < std::chrono::seconds(1) || options.lifetime > kLongestLifetime) {
    co_return fail(errc::malformed, "the lifetime of a token must be from a second to a week", "lifetime");
  }
  JoinToken token{mesh, {issuer}, std::move(options.seeds), random_bytes<16>(), whole_seconds(now + options.lifetime)};
  Edit add = [made = issued_token(token, now), now](Tokens& tokens) -> Result<bool> {
    if (count_open(tokens, now) >= kMaxOpen) {
      return fail(errc::too_many, fmt::format("{} tokens are open already; withdraw some", kMaxOpen));
    }
    tokens.push_back(made);
    // Removes the oldest used or expired tokens; open ones never.
    while (tokens.size() > kMaxKept) {
      tokens.erase(std::ranges::find_if(tokens, [&](const auto& one) { return !is_open(one, now); }));
    }
    return true;
  };
  auto adding = change(state_, std::move(add));
  if (auto kept = co_await std::move(adding); !kept) co_return std::unexpected(kept.error());
  co_return token;
}

std::vector<IssuedToken> JoinTokenStore::list() const { return {state_->tokens.rbegin(), state_->tokens.rend()}; }

std::size_t JoinTokenStore::open_count(WallTime now) const { return count_open(state_->tokens, now); }

Task<Result<>> JoinTokenStore::withdraw(std::string digits) {
  return change(state_, [digits = std::move(digits)](Tokens& tokens) -> Result<bool> {
    IssuedToken* found = nullptr;
    for (auto& token : tokens) {
      if (digits.empty() || !to_hex(token.id.bytes).starts_with(digits)) continue;
      if (found)
        return fail(errc::token_unknown, fmt::format("several tokens begin with '{}'; give more digits", digits));
      found = &token;
    }
    if (!found) return fail(errc::token_unknown, fmt::format("no token of this node begins with '{}'", digits));
    if (found->state == TokenState::used) {
      return fail(errc::token_used,
                  fmt::format("the token was used by {}; revoke that node instead", short_text(found->used_by)));
    }
    found->state = TokenState::withdrawn;
    return true;
  });
}

Result<> JoinTokenStore::check(const TokenId& id, const NodeId& joiner, WallTime now) const {
  return may_use(state_->tokens, id, joiner, now);
}

Task<Result<>> JoinTokenStore::use(TokenId id, NodeId joiner, WallTime now) {
  return change(state_, [id, joiner, now](Tokens& tokens) -> Result<bool> {
    if (auto may = may_use(tokens, id, joiner, now); !may) return std::unexpected(may.error());
    const auto found = std::ranges::find(tokens, id, &IssuedToken::id);
    if (found->state == TokenState::used) return false;
    found->state = TokenState::used;
    found->used_by = joiner;
    return true;
  });
}

}  // namespace corral::mesh
