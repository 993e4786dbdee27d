// Streams that continue after their client disconnects. A request whose header `X-Conversation-Id` names a conversation
// runs to its end, and its bytes are kept for clients that reconnect. Like llama-server's /v1/stream.
//
//   bytes    the last 4 MiB of each stream
//   number   64 streams, 16 of one key; the oldest ended one is dropped; if none has ended, a new one isn't kept
//   age      five minutes after its end; a stream without a reader for as long is ended
//
// A reader that is behind slows its stream, as without this: it gets all bytes. Its connection has a minimum rate. A
// reader that takes nothing for a while, such as one whose connection is dead, holds up no other reader: it loses bytes
// (stream_lost).
//
// Safe on every loop: a stream lives on the one on which its request came.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "async/timer.h"
#include "http/handler.h"

namespace corral::api {

inline constexpr std::string_view kConversationId = "X-Conversation-Id";
// Streams with longer names aren't kept.
inline constexpr std::size_t kLongestConversationId = 512;

struct KeptLimits {
  std::size_t bytes = 4 << 20;
  std::size_t streams = 64, of_one_key = 16;
  Millis age{300'000};
  Millis patience{10'000};  // with a reader that takes nothing while another one waits
};

class KeptStreams {
 public:
  // Owner (a key), and the client's name for the stream. A key sees only its own streams.
  using Name = std::pair<std::string, std::string>;

  explicit KeptStreams(async::Timers& timers, KeptLimits limits = {});
  KeptStreams(const KeptStreams&) = delete;
  KeptStreams& operator=(const KeptStreams&) = delete;

  // Returns the answer of `answering`, which continues if the caller is cancelled. An earlier stream of this name is
  // ended.
  async::Task<http::Response> keep(Name name, async::Task<http::Response> answering);

  // The stream from this byte to its end. Errors: stream_not_found, stream_not_begun (with retry_after), stream_lost
  // (the bytes were dropped).
  Result<http::Response> read(const Name& name, std::uint64_t from);
  // Ends and removes the stream; no error if there is none.
  void drop(const Name& name);

  struct View {
    std::string id;
    bool ended = false;
    std::uint64_t bytes = 0;  // in all
    WallTime began;
    std::optional<WallTime> finished = {};
  };
  // Streams of this owner with one of these names, or with one of them followed by "::" and more.
  std::vector<View> find(const std::string& owner, std::span<const std::string> ids) const;

  // Ends all streams and waits for their ends; after that, no stream is kept.
  async::Task<void> stop();

 private:
  struct Session;
  class Presence;
  class Reader;
  struct State;
  using SessionPtr = std::shared_ptr<Session>;

  static async::Task<void> run(std::shared_ptr<State> state, SessionPtr session, async::Task<http::Response> answering);
  static async::Task<Result<std::string>> next(SessionPtr session, std::uint64_t from);

  SessionPtr begin(const Name& name, async::Executor executor);

  const std::shared_ptr<State> state_;
};

}  // namespace corral::api
