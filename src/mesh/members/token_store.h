// The tokens that this node issued. Kept on disk as hashes: the file lets nobody join. Every change is on the disk
// before it holds, so a token that was used once is used, whatever crashes. Belongs to one loop; writing blocks it for
// the time of one small file, when a token is made, used or withdrawn.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "mesh/members/token.h"

namespace corral::mesh {

inline constexpr const char* kTokensFile = "tokens";

struct IssuedToken {
  enum class State : std::uint8_t { open, used, withdrawn };
  TokenId id;
  WallTime issued;
  WallTime expires;
  State state = State::open;
  NodeId used_by;  // once used
  friend bool operator==(const IssuedToken&, const IssuedToken&) = default;
};

struct TokenWishes {
  std::chrono::seconds lifetime = std::chrono::hours(1);  // up to kLongestLifetime
  std::vector<Address> seeds;                             // where this node can be reached, 1 to kMostSeeds
};

class TokenStore {
 public:
  static constexpr std::size_t kMostOpen = 64;
  static constexpr std::size_t kMostKept = 256;  // with those that are over, which tell why they are refused
  static constexpr std::chrono::seconds kLongestLifetime = std::chrono::hours(24 * 7);

  // A file that can't be read is put aside: tokens in it are unknown then, and new ones can be made. Errors: the
  // system's own.
  static Result<TokenStore> open(const std::filesystem::path& folder);

  // The only time that the secret is seen. Errors: too_many, bad_address (no seed), malformed (lifetime), and the
  // system's own.
  Result<Token> issue(const MeshId& mesh, const NodeId& issuer, const TokenWishes& wishes, WallTime now);

  // The newest first.
  std::vector<IssuedToken> list() const;
  // How many could be used now: while there are none, strangers have no business here.
  std::size_t open_count(WallTime now) const;
  // By the digits of short_text(), or more of them. Errors: token_unknown (none or several begin so), token_used, and
  // the system's own.
  Result<> withdraw(std::string_view digits);

  // Whether `joiner` may use the token, without using it. Errors: token_unknown, token_used, token_expired,
  // token_withdrawn. The same joiner may come again with the same token: its answer may have been lost.
  Result<> check(const TokenId& id, const NodeId& joiner, WallTime now) const;
  // The use is on the disk when this returns. Errors: as check(), and the system's own.
  Result<> use(const TokenId& id, const NodeId& joiner, WallTime now);

 private:
  explicit TokenStore(std::filesystem::path file) : file_(std::move(file)) {}
  Result<> keep(std::vector<IssuedToken> tokens);

  std::filesystem::path file_;
  std::vector<IssuedToken> tokens_;  // in the order of their issue
};

}  // namespace corral::mesh
