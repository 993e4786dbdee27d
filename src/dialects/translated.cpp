#include "dialects/translated.h"

#include <string>
#include <string_view>

#include "dialects/error_filter.h"
#include "dialects/own_names.h"
#include "http/sse.h"
#include "protocol/errors.h"

namespace corral::dialects {
namespace {

// Hidden thoughts and collected calls produce no output. After this number of pieces the client gets a ping.
constexpr std::size_t kSilentPieces = 64;

Error broken(std::string_view message) {
  return {make_error_code(protocol::errc::remote_upstream), std::string(message)};
}

void take_away(std::string& text, const std::string& begun) {
  if (text.starts_with(begun)) text.erase(0, begun.size());
}

Error renamed(Error error, const OwnNames* names) {
  if (names != nullptr) rename_field(error, *names);
  return error;
}

class TranslatedStream final : public http::BodySource {
 public:
  TranslatedStream(std::unique_ptr<http::BodySource> canonical, std::unique_ptr<ResponseTranslator> translator,
                   AtEnd at_end, std::shared_ptr<const OwnNames> names)
      : canonical_(std::move(canonical)),
        translator_(std::move(translator)),
        at_end_(std::move(at_end)),
        names_(std::move(names)) {}

  async::Task<Result<std::string_view>> read() override {
    out_.clear();
    // Bytes after the end are read and dropped: only then has the request ended successfully, and its connection is
    // free.
    while (out_.empty() && !drained_) {
      const auto piece = co_await canonical_->read();
      if (!piece && !ended_) co_return std::unexpected(piece.error());
      drained_ = !piece || piece->empty();
      if (ended_) continue;
      drained_ ? end_of_transfer() : parser_.feed(*piece);
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
    if (piece->failure) return fail(renamed(*piece->failure, names_.get()));
    begun_ = true;
    for (const auto& choice : piece->choices) finished_ = finished_ || !choice.finish_reason.empty();
    const auto before = out_.size();
    translator_->piece(out_, *piece);
    silent_ = out_.size() == before ? silent_ + 1 : 0;
    if (silent_ == kSilentPieces) {
      silent_ = 0;
      translator_->ping(out_);
    }
  }
  void end_of_transfer() {
    if (finished_) return end();
    fail(broken(begun_ ? "the response was cut off" : "the backend's response is not the requested stream"));
  }
  void fail(const Error& error) {
    ended_ = true;
    translator_->failure(out_, error);
  }
  void end() {
    ended_ = true;
    if (at_end_) translator_->took(at_end_());
    translator_->end(out_);
  }

  const std::unique_ptr<http::BodySource> canonical_;
  const std::unique_ptr<ResponseTranslator> translator_;
  const AtEnd at_end_;
  const std::shared_ptr<const OwnNames> names_;
  http::SseParser parser_{[this](std::string_view, std::string_view data) { event(data); },
                          [this] {
                            if (!ended_) translator_->ping(out_);
                          }};
  std::string out_;
  std::size_t silent_ = 0;  // pieces in a row without output
  bool begun_ = false, finished_ = false;
  bool ended_ = false;    // for the client
  bool drained_ = false;  // the upstream has ended
};

}  // namespace

http::Response translated(http::Response canonical, std::unique_ptr<ResponseTranslator> translator, AtEnd at_end,
                          const Begun& begun, std::shared_ptr<const OwnNames> names) {
  if (!translator || canonical.head.status >= 400) return canonical;
  auto& headers = canonical.head.headers;
  headers.remove("Content-Length");
  if (canonical.body.streaming()) {
    headers.set("Content-Type", translator->stream_type());
    canonical.body = http::Body(std::make_unique<TranslatedStream>(canonical.body.take_source(), std::move(translator),
                                                                   std::move(at_end), std::move(names)));
    return canonical;
  }
  auto answer = protocol::read_answer(canonical.body.text());
  if (!answer) return error_response(broken("the backend's response is not JSON: " + answer.error().message));
  if (answer->failure) return error_response(renamed(*answer->failure, names.get()));
  for (auto& choice : answer->choices) {
    take_away(choice.content, begun.content);
    take_away(choice.reasoning, begun.thoughts);
  }
  if (at_end) translator->took(at_end());
  canonical.body = http::Body(translator->whole(*answer));
  headers.set("Content-Type", "application/json");
  return canonical;
}

}  // namespace corral::dialects
