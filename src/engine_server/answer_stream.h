// Streamed answers.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/task_group.h"
#include "async/timer.h"
#include "engine_server/answer.h"
#include "http/body.h"
#include "protocol/answers/chunks.h"

namespace corral::engine_server {

struct StreamOptions {
  protocol::ChunkWriter::Shape shape = protocol::ChunkWriter::Shape::text;
  bool include_usage = false;
  bool prompt_usage = false;            // in the first event of a chat
  bool return_progress = false;         // of the prompt, in events of their own
  bool each_timings = false;            // timings in each event; always if the format has them
  std::vector<std::string> stops = {};  // stop strings of the request; the end of a chat names the one that matched
  bool return_tokens = false;           // never of chats
  bool logprobs = false;
  protocol::LogprobShape logprob_shape = protocol::LogprobShape::content;
  std::uint32_t shown_probs = 0;
  MonoClock::duration ping_after{};     // 0: no pings
  MonoClock::duration before_engine{};  // from the arrival of the request to the start of the generations
  RequestDone done;                     // called once: at the end, or when the source is dropped after a token
};

// The answers to a request as a source of events: the connection pulls them, the decode thread fills them. Events of
// several answers are interleaved, each with the index of its answer. Dropping the source cancels the generations.
// Without other events, comments (": ping") are sent. Tokens that are ready together are sent together. An error after
// the start becomes one event, and no [DONE] follows. Belongs to one loop.
class AnswerStream final : public http::BodySource {
 public:
  // `timers` must outlive the source.
  AnswerStream(async::Executor executor, async::Timers& timers, std::vector<Choice> choices,
               const protocol::AnswerHead& head, StreamOptions options);
  ~AnswerStream() override;

  async::Task<Result<std::string_view>> read() override;
  std::string_view take_ready() override;

 private:
  // One of the answers.
  struct Part {
    Choice choice;
    protocol::ChunkWriter writer;
    LogprobReader reader;
    std::optional<ChatParser> parser = std::nullopt;              // for chats
    std::optional<protocol::NativeWriter> native = std::nullopt;  // instead of `writer`
    std::vector<protocol::TokenLogprob> logprobs = {};            // not sent yet
    std::vector<std::int32_t> tokens = {};                        // not sent yet
    std::optional<protocol::Usage> prompt = std::nullopt;         // usage of the prompt, once known
    std::optional<engine::Progress> progress = std::nullopt;      // as of the last token that was read
    bool started = false;
    bool calls_tools = false;
    bool has_new_line = false;
    bool ended = false;
  };

  void render(Part& part, engine::StreamChunk chunk);
  void render_end(Part& part, const engine::Finish& finish);
  void write_deltas(Part& part, const protocol::Timings* timings);
  void write_text(Part& part, std::string_view text, const protocol::Timings* timings);
  void write_native_end(Part& part, const engine::Finish& finish);
  void start_message(Part& part);
  void fail_stream(const Error& error);
  void count();
  std::string_view collect_ready();

  async::Timers& timers_;
  StreamOptions options_;
  std::string model_;  // for answers in llama-server's format
  std::vector<Part> parts_;
  std::shared_ptr<Signal> signal_;
  async::TaskGroup pinger_;

  std::string out_;
  std::vector<protocol::ChatDelta> deltas_;
  Totals totals_;
  std::size_t running_;  // parts that haven't ended
  bool ended_ = false;
};

}  // namespace corral::engine_server
