// Turning what the engine streams into answers: whole ones and streamed ones.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "async/task.h"
#include "async/task_group.h"
#include "async/timer.h"
#include "engine_server/generation.h"
#include "engine_server/signal.h"
#include "http/body.h"
#include "protocol/answers.h"

namespace corral::engine_server {

// What a finished request cost; for whoever counts.
struct RequestRecord {
  std::uint64_t input_tokens = 0;
  std::uint64_t cached_tokens = 0;  // of the input, not computed again
  std::uint64_t output_tokens = 0;
  double first_token_ms = 0;  // from the arrival of the request to the first token, waiting included
  double output_ms = 0;       // from the first token to the last
};
using RequestDone = std::function<void(const RequestRecord&)>;

RequestRecord record_of(const engine::Finish& finish, MonoClock::duration before_engine);
protocol::Usage usage_of(const engine::Finish& finish);
protocol::Timings timings_of(const engine::Finish& finish);
// "stop" or "length"; an error for a generation that was cut off.
Result<std::string_view> finish_reason_of(const engine::Finish& finish);
std::vector<protocol::TokenLogprob> logprobs_of(std::vector<engine::TokenLogprob> tokens, std::uint32_t shown);

// Everything one generation gave.
struct Collected {
  std::string text;
  std::vector<engine::Token> tokens;
  std::vector<engine::TokenLogprob> logprobs;
  engine::Finish finish;
};
// Waits for the end. Cancelling the task cancels the generation. `signal` must be the generation's own.
async::Task<Collected> collect(Generation& generation, std::shared_ptr<Signal> signal);

struct StreamOptions {
  bool include_usage = false;
  bool logprobs = false;
  std::uint32_t shown_probs = 0;
  MonoClock::duration ping_after{};
  MonoClock::duration before_engine{};  // from the arrival of the request to the start of the generation
  RequestDone done;
};

// A streamed answer as a source of events: pulled by the connection, fed by the decode thread. Dropping it cancels the
// generation. Comments (": ping") come while nothing else does. Tokens that are there together go out together.
// Errors after the start become one event, and no [DONE] follows. Belongs to one loop.
class AnswerStream final : public http::BodySource {
 public:
  // `parser` is empty for text completions. `timers` must outlive the source.
  AnswerStream(async::Executor executor, async::Timers& timers, Generation generation, protocol::ChunkWriter writer,
               std::unique_ptr<ChatParser> parser, StreamOptions options);

  async::Task<Result<std::string_view>> read() override;
  std::string_view take_ready() override;

 private:
  void render(engine::StreamChunk chunk);
  void render_end(const engine::Finish& finish);
  void write_deltas();
  void start_message();
  void fail_stream(const Error& error);
  std::string_view collect_ready();

  async::Timers& timers_;
  Generation generation_;
  protocol::ChunkWriter writer_;
  std::unique_ptr<ChatParser> parser_;
  StreamOptions options_;
  std::shared_ptr<Signal> signal_;
  async::TaskGroup pinger_;

  std::string out_;
  std::vector<protocol::ChatDelta> deltas_;
  std::vector<protocol::TokenLogprob> logprobs_;  // not sent yet
  bool started_ = false;
  bool calls_tools_ = false;
  bool ended_ = false;
};

}  // namespace corral::engine_server
