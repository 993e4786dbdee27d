// The tokens that this node issued. Kept on disk as hashes: the file is not enough to join. Every change is on the disk
// before it is valid, so a used token remains used after any crash. Belongs to one loop. A change blocks that loop for
// the write of one small file, unless there is a thread for the disk (use_disk). Its tasks may outlive the store: they
// own what they use.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "async/task.h"
#include "mesh/members/durable_file.h"
#include "mesh/members/join_token.h"

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

// The store's entry of a new token.
IssuedToken issued_token(const JoinToken& token, WallTime now);

struct JoinTokenOptions {
  std::chrono::seconds lifetime = std::chrono::hours(1);  // up to kLongestLifetime
  std::vector<Address> seeds;                             // addresses of this node, 1 to kMaxSeeds
};

class JoinTokenStore {
 public:
  static constexpr std::size_t kMaxOpen = 64;
  static constexpr std::size_t kMaxKept = 256;  // including used and expired ones, for the reason of a refusal
  static constexpr std::chrono::seconds kLongestLifetime = std::chrono::hours(24 * 7);

  // An unreadable file is renamed: its tokens are unknown then, and new ones can be made. Errors: the system's own.
  static Result<JoinTokenStore> open(const std::filesystem::path& folder);

  JoinTokenStore(JoinTokenStore&&) = default;
  JoinTokenStore& operator=(JoinTokenStore&&) = default;

  // Writes files on the thread of `disk` from now on, see DurableFile.
  void use_disk(async::Executor loop, async::ThreadPool& disk) { state_->file.use_disk(loop, disk); }
  // See DurableFile.
  async::Task<bool> finish(async::Timers& timers, Millis within) const { return state_->file.finish(timers, within); }

  // The only call that returns the secret. Errors: too_many, bad_address (no seed), malformed (lifetime), and the
  // system's own.
  async::Task<Result<JoinToken>> issue(MeshId mesh, NodeId issuer, JoinTokenOptions options, WallTime now);

  // The newest first.
  std::vector<IssuedToken> list() const;
  // How many can be used now: while there are none, this node accepts no strangers.
  std::size_t open_count(WallTime now) const;
  // `digits`: those of short_text(), or more. Errors: token_unknown (no or several tokens begin with them), token_used,
  // and the system's own.
  async::Task<Result<>> withdraw(std::string digits);

  // Whether `joiner` may use the token, without using it. Errors: token_unknown, token_used, token_expired,
  // token_withdrawn. The same joiner may use the same token again, because its answer may have been lost.
  Result<> check(const TokenId& id, const NodeId& joiner, WallTime now) const;
  // The use is on the disk when this returns. Errors: as check(), and the system's own.
  async::Task<Result<>> use(TokenId id, NodeId joiner, WallTime now);

 private:
  using Tokens = std::vector<IssuedToken>;
  struct State {
    DurableFile file;
    Tokens tokens;  // in the order of their issue
  };
  using StatePtr = std::shared_ptr<State>;
  // False: nothing has changed.
  using Edit = std::function<Result<bool>(Tokens&)>;

  explicit JoinTokenStore(std::filesystem::path file)
      : state_(std::make_shared<State>(DurableFile(std::move(file)), Tokens())) {}
  static async::Task<Result<>> change(StatePtr state, Edit edit);

  StatePtr state_;
};

}  // namespace corral::mesh
