#include "api/activity/activity_note.h"

#include <algorithm>
#include <utility>

#include "protocol/http_error.h"

namespace corral::api {
namespace {

constexpr std::size_t kLongestClient = 80, kLongestPath = 128, kLongestId = 128;
// As in nginx: the client disconnected, and no status was sent.
constexpr unsigned kClientLeft = 499;
constexpr std::string_view kOk = "ok", kCancelled = "cancelled", kFailed = "failed";

bool keeps_activity(const CoreContext& context) {
  return context.store != nullptr &&
         (context.settings == nullptr || context.settings->in_force()->max_activity_rows > 0);
}

bool keeps_captures(const CoreContext& context) {
  return context.store != nullptr && context.settings != nullptr && context.settings->in_force()->capture_bodies;
}

std::optional<std::int64_t> number(const std::optional<std::uint64_t>& count) {
  return count ? std::optional(static_cast<std::int64_t>(*count)) : std::nullopt;
}

// The error code of a failed stream; empty: these events have none.
std::string_view failure_in(std::string_view events) {
  constexpr std::string_view kFailure = R"(data: {"error":{)", kCode = R"("code":")";
  const auto failure = events.find(kFailure);
  if (failure == std::string_view::npos || (failure > 0 && events[failure - 1] != '\n')) return {};
  const auto code = events.find(kCode, failure);
  if (code == std::string_view::npos) return kFailed;
  const auto begin = code + kCode.size();
  return events.substr(begin, std::min<std::size_t>(events.find('"', begin) - begin, 64));
}

}  // namespace

std::string client_name(const http::Headers& headers) {
  std::string name(headers.get("User-Agent").substr(0, kLongestClient));
  std::ranges::replace_if(name, [](char c) { return c < ' ' || c > '~'; }, '?');
  return name;
}

// Forwards a stream and counts its tokens.
class ActivityNote::CountedBody final : public http::BodySource {
 public:
  CountedBody(std::unique_ptr<http::BodySource> body, NotePtr note, bool events)
      : note_(std::move(note)), body_(std::move(body)), events_(events) {}
  async::Task<Result<std::string_view>> read() override {
    const auto piece = co_await body_->read();
    if (!piece) {
      note_->failure_ = kFailed;
    } else if (piece->empty()) {
      if (!std::exchange(ended_, true)) --note_->unended_;
    } else if (events_) {
      note_->record_events(*piece);
    }
    co_return piece;
  }
  std::string_view take_ready() override {
    const auto piece = body_->take_ready();
    if (events_ && !piece.empty()) note_->record_events(piece);
    return piece;
  }
  void abort() override { body_->abort(); }
  std::optional<std::uint64_t> length() const override { return body_->length(); }

 private:
  const NotePtr note_;
  const std::unique_ptr<http::BodySource> body_;
  const bool events_;
  bool ended_ = false;
};

ActivityNote::ActivityNote(CoreContext& context, std::shared_ptr<ActivityBoard> board, std::string_view dialect,
                           const http::Request& request)
    : context_(context),
      board_(std::move(board)),
      began_(context.timers.now()),
      request_(request.id.value().substr(0, kLongestId)),
      owner_(request.caller.key),
      path_(request.head.path().substr(0, kLongestPath)),
      dialect_(dialect),
      client_(client_name(request.head.headers)),
      place_(board_->add(*this)) {
  if (keeps_captures(context)) capture_ = std::make_shared<Capture>();
}

ActivityNote::~ActivityNote() {
  board_->remove(place_);
  write();
}

void ActivityNote::record_request(std::string_view body) {
  if (capture_) capture_->request.add(body);
}

void ActivityNote::record_events(std::string_view events) {
  if (count_.feed(events)) {
    const auto since = std::chrono::duration_cast<Millis>(context_.timers.now() - began_);
    first_token_ms_.store(since.count(), std::memory_order_relaxed);
  }
  pieces_.store(static_cast<std::int64_t>(count_.pieces()), std::memory_order_relaxed);
  if (const auto failure = failure_in(events); !failure.empty()) failure_ = failure;
}

http::Response ActivityNote::counted(http::Response answer) {
  if (answer.head.status >= 400) return answer;
  if (!answer.body.streaming()) {
    count_.whole(answer.body.text());
    return answer;
  }
  const bool events = answer.head.headers.get("Content-Type").starts_with("text/event-stream");
  ++unended_;
  answer.body = http::Body(std::make_unique<CountedBody>(answer.body.take_source(), shared_from_this(), events));
  return answer;
}

http::Response ActivityNote::answered(http::Response answer) {
  status_ = answer.head.status;
  if (status_ >= 400) {
    failure_ = answer.failure            ? answer.failure->code.message()
               : answer.body.streaming() ? std::string(kFailed)
                                         : protocol::parse_error_body(status_, answer.body.text()).code.message();
  }
  if (!capture_) return answer;
  capture_->answer_type = answer.head.headers.get("Content-Type");
  return captured(std::move(answer), capture_, shared_from_this());
}

std::string ActivityNote::outcome() const {
  if (!failure_.empty()) return failure_;
  return std::string(status_ == 0 || unended_ > 0 ? kCancelled : kOk);
}

void ActivityNote::write() const {
  const auto ended = epoch_millis(context_.timers.wall_now());
  if (capture_ && keeps_captures(context_)) {
    context_.store->capture(request_, ended, capture_->bytes(), [capture = capture_] { return capture->document(); });
  }
  if (!keeps_activity(context_)) return;
  const auto tokens = count_.tokens();
  const auto took = std::chrono::duration_cast<Millis>(context_.timers.now() - began_);
  store::ActivityRow row{.ended = ended,
                         .request = request_,
                         .model = model_,
                         .owner = owner_,
                         .dialect = dialect_,
                         .path = path_,
                         .client = client_,
                         .prompt_tokens = number(tokens.prompt),
                         .cached_tokens = number(tokens.cached),
                         .output_tokens = number(tokens.output),
                         .duration_ms = took.count(),
                         .status = static_cast<int>(status_ == 0 ? kClientLeft : status_),
                         .outcome = outcome(),
                         .node = node_};
  if (const auto first = first_token_ms_.load(); first >= 0) row.first_token_ms = first;
  context_.store->note(std::move(row));
}

}  // namespace corral::api
