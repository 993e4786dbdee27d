// Streams that go on when their client is away: a request whose header `X-Conversation-Id` names a conversation is
// worked on to its end, and what it says is kept for who comes back. As llama-server's /v1/stream.
//
//   bytes    the last 4 MiB of each stream
//   number   64 streams, 16 of one key; the oldest that has ended makes room, and where none has, nothing is kept
//   age      five minutes after its end; a stream that nobody reads for as long is ended
//
// Safe on every loop: a stream lives on the one on which its request came.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "async/timer.h"
#include "http/handler.h"

namespace corral::api {

inline constexpr std::string_view kConversationId = "X-Conversation-Id";
// Longer names aren't kept under.
inline constexpr std::size_t kLongestConversationId = 512;

struct KeptLimits {
  std::size_t bytes = 4 << 20;
  std::size_t streams = 64, of_one_key = 16;
  Millis age{300'000};
};

class KeptStreams {
 public:
  // Whose it is (a key), and the name that its client gave it. No two keys see each other's.
  using Name = std::pair<std::string, std::string>;

  explicit KeptStreams(async::Timers& timers, KeptLimits limits = {});
  KeptStreams(const KeptStreams&) = delete;
  KeptStreams& operator=(const KeptStreams&) = delete;

  // What `answering` comes to. It goes on when the caller is cancelled. A stream of this name from before is ended.
  async::Task<http::Response> keep(Name name, async::Task<http::Response> answering);

  // From this byte of the stream on, to its end. Errors: stream_not_found, stream_not_begun (with retry_after),
  // stream_lost (the bytes are gone).
  Result<http::Response> read(const Name& name, std::uint64_t from);
  // Ends it, and forgets it. Also where there is none.
  void drop(const Name& name);

  struct View {
    std::string id;
    bool ended = false;
    std::uint64_t bytes = 0;  // in all
    WallTime began;
    std::optional<WallTime> finished = {};
  };
  // Those of this owner with one of these names, or one followed by "::" and more.
  std::vector<View> find(const std::string& owner, std::span<const std::string> ids) const;

  // Ends all of them and waits for that; from then on nothing is kept.
  async::Task<void> stop();

 private:
  struct Session;
  class Reader;
  struct State;
  using SessionPtr = std::shared_ptr<Session>;

  static async::Task<void> run(std::shared_ptr<State> state, SessionPtr session, async::Task<http::Response> answering);
  static async::Task<Result<std::string>> next(SessionPtr session, std::uint64_t from);

  SessionPtr begin(const Name& name, async::Executor executor);

  const std::shared_ptr<State> state_;
};

}  // namespace corral::api
