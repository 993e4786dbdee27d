#include <utility>

#include "api/base/body_check.h"
#include "api/inference/steps.h"
#include "dialects/error_filter.h"
#include "dialects/translated.h"

namespace corral::api {
namespace {

constexpr std::uint64_t kLargestHeld = 64ull << 20;  // of an answer to a form

using Translator = std::unique_ptr<dialects::ResponseTranslator>;

// The request without its body, which is moved to the model.
dialects::Canonical without_body(dialects::Canonical& asked) {
  auto body = std::exchange(asked.body, {});
  auto copy = asked;
  asked.body = std::move(body);
  return copy;
}

// Large answers are translated off the loop: embeddings may have many megabytes.
async::Task<http::Response> translated(InferenceContext& context, Translator translator, CallPtr call, Next next) {
  dialects::AtEnd at_end = [&timers = context.core.timers, began = call->began, then = std::move(call->at_end)] {
    if (then) then();
    return timers.now() - began;
  };
  auto begun = std::move(call->canonical.begun);
  auto names = call->canonical.names;
  auto answering = next(std::move(call));
  auto answer = co_await std::move(answering);
  auto* const threads = context.bodies.threads;
  if (answer.body.streaming() || answer.body.text().size() <= kSmallBody || threads == nullptr)
    co_return dialects::translated(std::move(answer), std::move(translator), std::move(at_end), begun,
                                   std::move(names));
  auto work = [answer = std::move(answer), translator = std::move(translator), at_end = std::move(at_end),
               begun = std::move(begun), names = std::move(names)]() mutable {
    return dialects::translated(std::move(answer), std::move(translator), std::move(at_end), begun, std::move(names));
  };
  co_return co_await threads->run(std::move(work));
}

async::Task<http::Response> with_sound(InferenceContext& context, CallPtr call, Next next) {
  const auto& endpoint = *call->endpoint;
  const auto asked = without_body(call->canonical);
  auto answering = next(std::move(call));
  auto answer = co_await std::move(answering);
  auto translating = endpoint.translate_sound(asked, std::move(answer), context.bodies.threads);
  co_return co_await std::move(translating);
}

// The answer to a form is read as a whole, but events of a backend pass.
async::Task<http::Response> whole(CallPtr call, Next next) {
  const auto& endpoint = *call->endpoint;
  const auto asked = without_body(call->canonical);
  auto answering = next(std::move(call));
  auto answer = co_await std::move(answering);
  if (answer.head.headers.get("Content-Type").starts_with("text/event-stream")) co_return answer;
  if (answer.body.streaming()) {
    auto text = co_await answer.body.read_all(kLargestHeld);
    if (!text) co_return dialects::error_response(text.error());
    answer.body = http::Body(std::move(*text));
  }
  co_return endpoint.translate_whole(asked, std::move(answer));
}

}  // namespace

Filter translate_step(InferenceContext& context) {
  return [&context](CallPtr call, Next next) {
    const auto& endpoint = *call->endpoint;
    if (call->is_form())
      return endpoint.translate_whole != nullptr ? whole(std::move(call), next) : next(std::move(call));
    auto translator = endpoint.make_translator != nullptr ? endpoint.make_translator(call->canonical) : nullptr;
    call->is_translated = translator != nullptr || endpoint.translate_sound != nullptr;
    if (endpoint.translate_sound != nullptr) return with_sound(context, std::move(call), next);
    if (translator == nullptr) return next(std::move(call));
    return translated(context, std::move(translator), std::move(call), next);
  };
}

}  // namespace corral::api
