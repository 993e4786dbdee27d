// The response to a request for a stream: pings until its model is ready, then whole events. A later failure becomes
// one framed error event without [DONE].
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "http/body.h"
#include "http/sse.h"
#include "router/forward/request_attempts.h"

namespace corral::router {

// On the loop of the request. A cancellation ends it with an error event; its destruction cancels the request.
class ForwardedStream final : public http::BodySource {
 public:
  // `answer`: the result of the attempts. Empty: the request still waits for its model, and the client has received
  // nothing for `silence`, so a ping comes first.
  ForwardedStream(std::unique_ptr<RequestAttempts> attempts, std::shared_ptr<ActiveRequest> active, Millis silence,
                  std::optional<http::Body> answer);
  ~ForwardedStream() override { active_->on_stop({}); }

  async::Task<Result<std::string_view>> read() override;
  std::string_view take_ready() override;

 private:
  async::Task<Result<std::string_view>> next_piece();
  // The part of a piece for the client: whole events, so that an error event can follow at any time.
  std::string_view passed(std::string_view piece);
  std::string_view end_with(const Error& error);
  void finish(Outcome outcome);

  const std::unique_ptr<RequestAttempts> attempts_;
  const std::shared_ptr<ActiveRequest> active_;
  const Millis silence_;
  http::Body answer_;
  bool waiting_;  // for an answer
  bool ping_first_;
  std::string last_words_;
  http::SseEventCutter cutter_;
  http::SseDoneWatch watch_;
  bool started_ = false;  // bytes of the answer went to the client, pings aside
  bool ended_ = false;
};

}  // namespace corral::router
