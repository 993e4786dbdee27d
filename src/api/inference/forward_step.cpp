#include <utility>

#include "api/access/rights.h"
#include "api/activity/activity_note.h"
#include "api/inference/steps.h"
#include "dialects/error_filter.h"
#include "dialects/form.h"

namespace corral::api {
namespace {

router::ForwardRequest request_of(InferenceCall& call) {
  router::ForwardRequest forward{.model = call.model(),
                                 .ask = call.ask,
                                 .id = call.request.id,
                                 .owner = router::OwnerId(std::move(call.request.caller.key)),
                                 .client = router::ClientAddress(std::move(call.request.peer))};
  if (call.is_form()) {
    auto written = dialects::write_form(*call.canonical.form);
    forward.content_type = std::move(written.content_type);
    forward.upload = std::move(written.body);
  } else {
    forward.body = std::move(call.canonical.body);
    forward.stream = call.streams();
    forward.ping_interval = call.canonical.about.ping_interval;
    forward.context = {call.context, has(call.request.caller, kAdmin)};
  }
  forward.conversation = call.conversation;
  forward.background = call.background;
  forward.placed = [note = call.note, started = std::move(call.started)](const router::NodeRef& node) {
    note->placed(node);
    if (started) started();
  };
  forward.held = std::move(call.place);
  return forward;
}

async::Task<http::Response> forwarded(InferenceContext& context, CallPtr call) {
  auto forwarding = context.core.forwarder.forward(request_of(*call));
  auto answer = co_await std::move(forwarding);
  co_return answer ? std::move(*answer) : dialects::error_response(answer.error());
}

}  // namespace

Filter forward_step(InferenceContext& context) {
  return [&context](CallPtr call, Next) { return forwarded(context, std::move(call)); };
}

}  // namespace corral::api
