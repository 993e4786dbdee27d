#include "dialects/told.h"

#include "dialects/error_teller.h"
#include "http/sse.h"
#include "protocol/errors.h"

namespace corral::dialects {
namespace {

class ToldStream final : public http::BodySource {
 public:
  ToldStream(std::unique_ptr<http::BodySource> canonical, std::unique_ptr<AnswerTeller> teller)
      : canonical_(std::move(canonical)), teller_(std::move(teller)) {}

  async::Task<Result<std::string_view>> read() override {
    out_.clear();
    // What comes behind the end isn't told, but read: only then has the request ended well, and its connection is free.
    while (out_.empty() && !drained_) {
      const auto piece = co_await canonical_->read();
      if (!piece && !ended_) co_return std::unexpected(piece.error());
      drained_ = !piece || piece->empty();
      if (ended_) continue;
      drained_ ? end() : parser_.feed(*piece);
    }
    co_return out_;
  }

  std::string_view take_ready() override {
    if (ended_) return {};
    out_.clear();
    parser_.feed(canonical_->take_ready());
    return out_;
  }

  void abort() override { canonical_->abort(); }

 private:
  void event(std::string_view data) {
    if (ended_) return;
    if (data == "[DONE]") return end();
    const auto piece = protocol::read_answer(std::string(data));
    if (!piece) return fail(piece.error());
    if (piece->failure) return fail(*piece->failure);
    teller_->piece(out_, *piece);
  }
  void fail(const Error& error) {
    ended_ = true;
    teller_->failure(out_, error);
  }
  void end() {
    ended_ = true;
    teller_->end(out_);
  }

  const std::unique_ptr<http::BodySource> canonical_;
  const std::unique_ptr<AnswerTeller> teller_;
  http::SseParser parser_{[this](std::string_view, std::string_view data) { event(data); },
                          [this] {
                            if (!ended_) teller_->ping(out_);
                          }};
  std::string out_;
  bool ended_ = false;    // for the client
  bool drained_ = false;  // nothing more comes
};

}  // namespace

http::Response told(http::Response canonical, std::unique_ptr<AnswerTeller> teller) {
  if (!teller || canonical.head.status >= 400) return canonical;
  auto& headers = canonical.head.headers;
  headers.remove("Content-Length");
  if (canonical.body.streaming()) {
    headers.set("Content-Type", teller->stream_type());
    canonical.body = http::Body(std::make_unique<ToldStream>(canonical.body.take_source(), std::move(teller)));
    return canonical;
  }
  const auto answer = protocol::read_answer(canonical.body.text());
  if (!answer) {
    return error_response({make_error_code(protocol::errc::remote_upstream),
                           "the backend's answer isn't JSON: " + answer.error().message});
  }
  canonical.body = http::Body(teller->whole(*answer));
  headers.set("Content-Type", "application/json");
  return canonical;
}

}  // namespace corral::dialects
