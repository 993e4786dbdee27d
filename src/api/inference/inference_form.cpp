// Requests with files: sound to transcribe, pictures to change.
#include "api/access/sharing.h"
#include "api/filters/heard_stream.h"
#include "api/filters/plain_sound.h"
#include "api/inference/answer_of_model.h"
#include "api/inference/inference_parts.h"
#include "dialects/error_filter.h"
#include "dialects/form.h"
#include "protocol/ask.h"

namespace corral::api {
namespace {

constexpr std::uint64_t kLargestHeld = 64ull << 20;  // of an answer

// Forwards the request and translates the whole answer.
async::Task<http::Response> asked_whole(ApiContext& context, const dialects::Endpoint& endpoint,
                                        dialects::Canonical asked, router::ForwardRequest forward, NotePtr note) {
  auto answer = co_await answer_of_model(context, std::move(forward));
  answer = note->counted(std::move(answer));
  if (endpoint.tell_whole == nullptr || is_events(answer)) co_return answer;
  if (answer.body.streaming()) {
    auto text = co_await answer.body.read_all(kLargestHeld);
    if (!text) co_return dialects::error_response(text.error());
    answer.body = http::Body(std::move(*text));
  }
  co_return endpoint.tell_whole(asked, std::move(answer));
}

}  // namespace

async::Task<http::Response> infer_form(ApiContext& context, const dialects::Endpoint& endpoint, http::Request request,
                                       NotePtr note) {
  const bool background = in_background(context, request);
  auto place = place_of(context, request.caller);
  if (!place) co_return dialects::error_response(place.error());
  auto form = co_await dialects::read_form(std::string(request.head.headers.get("Content-Type")),
                                           request.body.take_source(), *context.uploads);
  if (!form) co_return dialects::error_response(form.error());
  auto asked = endpoint.read_form(std::move(*form));
  if (!asked) co_return dialects::error_response(asked.error());
  note->wants(asked->about.model);
  const auto needed = protocol::row_of(endpoint.ask).type;
  auto model = co_await model_for(context, endpoint, asked->about.model, needed);
  if (!model) co_return dialects::error_response(model.error());
  if (!may_load(context, request)) {
    const auto there = co_await check_in_memory(context, *model);
    if (!there) co_return dialects::error_response(there.error());
  }
  note->wants((*model)->name.value());
  if (needed == ModelType::transcription) {
    auto plain = make_plain(context, *asked->form);
    if (const auto made = co_await std::move(plain); !made) co_return dialects::error_response(made.error());
  }
  auto written = dialects::write_form(*asked->form);
  router::ForwardRequest forward{.model = std::move(*model),
                                 .ask = endpoint.ask,
                                 .id = request.id,
                                 .owner = router::OwnerId(std::move(request.caller.key)),
                                 .client = router::ClientAddress(std::move(request.peer)),
                                 .held = std::move(*place),
                                 .content_type = std::move(written.content_type),
                                 .upload = std::move(written.body)};
  forward.background = background;
  forward.placed = [note](const router::NodeRef& node) { note->placed(node); };
  const bool stream = asked->about.stream;
  auto answering = asked_whole(context, endpoint, std::move(*asked), std::move(forward), std::move(note));
  if (!stream) co_return co_await std::move(answering);
  auto streaming = heard_as_events(context.timers, std::move(answering));
  co_return co_await std::move(streaming);
}

}  // namespace corral::api
