#include "api/filters/transcript_pieces.h"

#include <algorithm>
#include <array>
#include <utility>

#include "api/activity/activity_note.h"
#include "api/filters/filters.h"
#include "api/filters/transcript_stream.h"
#include "api/filters/wav_pieces.h"
#include "async/spawned_task.h"
#include "dialects/audio/joined_transcript.h"
#include "dialects/audio/sound_kind.h"
#include "dialects/error_filter.h"
#include "dialects/form.h"
#include "fleet/base/remote_models.h"
#include "http/errors.h"
#include "http/sse.h"
#include "protocol/http_error.h"

namespace corral::api {
namespace {

namespace audio = dialects::audio;

// Compressed sound of this size is about as long as kLongSound.
constexpr std::uint64_t kLongFile = 3 << 20;
// Programs whose servers answer only at the end.
constexpr auto kWholeRecipes = std::to_array<std::string_view>({"whispercpp", "moonshine"});

// One request of a client, transcribed piece by piece. On one loop. Its tasks own it.
class Transcription {
 public:
  // What became of the next piece.
  struct Step {
    std::string text = {};  // that it added
    bool is_last = false;   // there was no more piece
    std::optional<http::Response> failure = {};
  };

  Transcription(CallPtr call, Next next, WavPieces pieces)
      : call_(std::move(call)),
        next_(next),
        pieces_(std::move(pieces)),
        joined_(*static_cast<const audio::TranscriptionAsked*>(call_->canonical.facts.get())) {
    auto facts =
        audio::JoinedTranscript::of_piece(*static_cast<const audio::TranscriptionAsked*>(call_->canonical.facts.get()));
    piece_facts_ = std::make_shared<const audio::TranscriptionAsked>(facts);
    for (auto& [name, value] : call_->canonical.form->fields) {
      if (name == "stream" || name == "response_format" || name == "no_language_probabilities") continue;
      fields_.emplace_back(name, value);
    }
    fields_.emplace_back("response_format", "verbose_json");
    fields_.emplace_back("no_language_probabilities", "true");
  }

  static async::Task<Step> step(std::shared_ptr<Transcription> self) {
    auto cutting = self->pieces_.next();
    auto piece = co_await std::move(cutting);
    if (!piece) co_return Step{.failure = dialects::error_response(piece.error())};
    if (!*piece) co_return Step{.is_last = true};
    const auto at = (*piece)->at;
    auto asking = self->next_(self->call_of(std::move((*piece)->wav)));
    auto answer = co_await std::move(asking);
    if (answer.head.status != 200) co_return Step{.failure = std::move(answer)};
    auto text = self->joined_.add(answer, at);
    if (!text) co_return Step{.failure = dialects::error_response(text.error())};
    co_return Step{.text = std::move(*text)};
  }

  const std::string& text() const { return joined_.text(); }
  http::Response whole() const { return joined_.whole(pieces_.duration()); }

 private:
  CallPtr call_of(std::shared_ptr<http::Spool> wav) const {
    auto call = part_of(*call_);
    call->canonical = call_->canonical;
    call->canonical.about.stream = false;
    call->canonical.facts = piece_facts_;
    call->canonical.form =
        std::make_shared<dialects::Form>(dialects::Form{fields_, {{"file", "sound.wav", "audio/wav", std::move(wav)}}});
    return call;
  }

  const CallPtr call_;
  const Next next_;
  WavPieces pieces_;
  audio::JoinedTranscript joined_;
  std::shared_ptr<const audio::TranscriptionAsked> piece_facts_;
  std::vector<std::pair<std::string, std::string>> fields_;
};

using Running = async::SpawnedTask<Transcription::Step>;

class PiecesStream final : public http::BodySource {
 public:
  // Its first step has ended, or it runs: then the client has waited, and gets a ping.
  PiecesStream(async::Executor executor, async::Timers& timers, std::shared_ptr<Transcription> work,
               std::optional<Transcription::Step> ended, std::unique_ptr<Running> running)
      : executor_(executor),
        timers_(timers),
        work_(std::move(work)),
        running_(std::move(running)),
        ping_first_(running_ != nullptr) {
    if (ended) take(*ended);
  }

  async::Task<Result<std::string_view>> read() override {
    if (std::exchange(ping_first_, false)) co_return http::kSsePing;
    if (!std::exchange(has_text_, false)) text_.clear();
    while (text_.empty() && !ended_) {
      if (aborted_) co_return fail(http::errc::truncated, "the stream was ended");
      if (!running_) {
        auto step = Transcription::step(work_);
        running_ = std::make_unique<Running>(executor_, "transcript", std::move(step));
      }
      auto waiting = running_->wait(timers_, kPingEvery);
      const bool done = co_await std::move(waiting);
      if (!done) co_return http::kSsePing;
      auto step = running_->take();
      running_.reset();
      take(step);
    }
    co_return std::string_view(text_);
  }
  void abort() override { aborted_ = true; }

 private:
  void take(const Transcription::Step& step) {
    ended_ = step.is_last || step.failure;
    if (step.failure) {
      const auto& answer = *step.failure;
      text_ = protocol::sse_error_event(protocol::parse_error_body(answer.head.status, answer.body.text()));
    } else if (step.is_last) {
      text_ = audio::transcript_done_events(work_->text());
    } else if (!step.text.empty()) {
      text_ = audio::transcript_delta_event(step.text);
    }
  }

  const async::Executor executor_;
  async::Timers& timers_;
  const std::shared_ptr<Transcription> work_;
  std::unique_ptr<Running> running_;  // null: no piece is being transcribed
  std::string text_;
  bool ping_first_;
  bool has_text_ = true;  // of the first step, for the first read()
  bool ended_ = false, aborted_ = false;
};

// A failure within the first second has its own status.
async::Task<http::Response> as_events(async::Timers& timers, NotePtr note, std::shared_ptr<Transcription> work) {
  const auto executor = co_await async::asio::this_coro::executor;
  auto step = Transcription::step(work);
  auto first = std::make_unique<Running>(executor, "transcript", std::move(step));
  auto waiting = first->wait(timers, kPingEvery);
  const bool in_time = co_await std::move(waiting);
  std::optional<Transcription::Step> ended;
  if (in_time) {
    ended = first->take();
    first.reset();
    if (ended->failure) co_return std::move(*ended->failure);
  }
  auto stream = http::Response::event_stream(
      std::make_unique<PiecesStream>(executor, timers, std::move(work), std::move(ended), std::move(first)));
  if (note == nullptr) co_return stream;
  co_return note->counted(std::move(stream));
}

async::Task<http::Response> as_whole(std::shared_ptr<Transcription> work) {
  while (true) {
    auto asking = Transcription::step(work);
    auto step = co_await std::move(asking);
    if (step.failure) co_return std::move(*step.failure);
    if (step.is_last) co_return work->whole();
  }
}

// The file as wav whose samples can be read. Nothing: it can't become one here, and goes to the backend as it is.
async::Task<std::optional<audio::CheckedWav>> readable(FilterContext& context, dialects::FormFile& file,
                                                       std::optional<audio::CheckedWav> known) {
  if (known && known->kind) co_return known;
  if (known || audio::kind_of(file.bytes->head()) != audio::SoundKind::wav) {
    if (context.sounds == nullptr || !context.sounds->is_there()) co_return std::nullopt;
    auto converting = context.sounds->to_wav(file.bytes, *context.inference.uploads);
    auto wav = co_await std::move(converting);
    if (!wav) co_return std::nullopt;
    file = {file.name, "sound.wav", "audio/wav", std::move(*wav)};
  }
  const auto checked = audio::check_wav(file.bytes->head(), file.bytes->size(), file.name);
  if (!checked || !checked->kind) co_return std::nullopt;
  co_return *checked;
}

async::Task<http::Response> in_pieces(FilterContext& context, CallPtr call, Next next) {
  const auto& asked = *static_cast<const audio::TranscriptionAsked*>(call->canonical.facts.get());
  auto& file = call->canonical.form->files.front();
  auto reading = readable(context, file, asked.wav);
  const auto wav = co_await std::move(reading);
  if (!wav || wav->duration() <= (asked.stream ? audio::CutRules().longest : kLongSound)) {
    auto answering = next(std::move(call));
    co_return co_await std::move(answering);
  }
  const bool stream = asked.stream;
  auto note = call->note;
  WavPieces pieces(file.bytes, *wav, *context.inference.uploads);
  auto work = std::make_shared<Transcription>(std::move(call), next, std::move(pieces));
  auto answering =
      stream ? as_events(context.inference.core.timers, std::move(note), std::move(work)) : as_whole(std::move(work));
  co_return co_await std::move(answering);
}

bool may_be_long(const InferenceCall& call) {
  const auto& asked = *static_cast<const audio::TranscriptionAsked*>(call.canonical.facts.get());
  if (asked.stream) return true;
  if (asked.wav && asked.wav->kind) return asked.wav->duration() > kLongSound;
  return call.canonical.form->files.front().bytes->size() > kLongFile;
}

}  // namespace

bool answers_as_whole(const models::ModelInfo& model) {
  return fleet::is_remote(model) || std::ranges::find(kWholeRecipes, model.recipe) != kWholeRecipes.end();
}

Filter transcript_pieces_filter(FilterContext& context) {
  return [&context](CallPtr call, Next next) {
    // Other endpoints have facts of another type.
    const bool is_transcript = call->endpoint->translate_whole == audio::translate_transcript;
    if (!is_transcript || !answers_as_whole(*call->model()) || !may_be_long(*call)) return next(std::move(call));
    return in_pieces(context, std::move(call), next);
  };
}

}  // namespace corral::api
