#include "api/responses/filters.h"

#include <memory>
#include <utility>

#include "api/activity/filters.h"
#include "api/responses/in_background.h"
#include "api/responses/keeping.h"
#include "dialects/error_filter.h"

namespace corral::api {
namespace {

async::Task<http::Response> continuing(ResponsesContext& context, CallPtr call, Next next) {
  std::shared_ptr<Keeping> keeping;
  auto reading = Keeping::read(context, *call->endpoint, call->request, std::move(call->body), keeping);
  auto asked = co_await std::move(reading);
  if (!asked) co_return dialects::error_response(asked.error());
  call->canonical = std::move(*asked);
  call->is_parsed = true;
  if (keeping) call->attached.set(std::move(keeping));
  auto answering = next(std::move(call));
  co_return co_await std::move(answering);
}

// The last owner of its note.
async::Task<http::Response> answer_in_background(CallPtr call, Next next) {
  const auto note = call->note;
  auto answering = next(std::move(call));
  auto response = co_await std::move(answering);
  co_return note->answered(std::move(response));
}

async::Task<http::Response> kept_answer(std::shared_ptr<Keeping> keeping, CallPtr call, Next next) {
  auto answering = next(std::move(call));
  auto response = co_await std::move(answering);
  auto keeping_it = kept(std::move(response), std::move(keeping));
  co_return co_await std::move(keeping_it);
}

}  // namespace

Filter continuing_filter(ResponsesContext& context) {
  return [&context](CallPtr call, Next next) {
    if (call->endpoint->read_on == nullptr) return next(std::move(call));
    return continuing(context, std::move(call), next);
  };
}

Filter background_filter(ResponsesContext& context) {
  return [&context](CallPtr call, Next next) {
    auto keeping = call->attached.get<Keeping>();
    if (keeping == nullptr || !keeping->in_background()) return next(std::move(call));
    leave_note_to(*call);
    const auto bytes = call->canonical.body.size() + keeping->storage().input.size();
    auto shown = shown_in_background(call->canonical);
    auto begin = [call = std::move(call), next](std::function<void()> started) mutable {
      call->started = std::move(started);
      return answer_in_background(std::move(call), next);
    };
    return begin_in_background(context, std::move(keeping), std::move(shown), bytes, std::move(begin));
  };
}

Filter keeping_filter() {
  return [](CallPtr call, Next next) {
    auto keeping = call->attached.get<Keeping>();
    if (keeping == nullptr || keeping->in_background()) return next(std::move(call));
    return kept_answer(std::move(keeping), std::move(call), next);
  };
}

}  // namespace corral::api
