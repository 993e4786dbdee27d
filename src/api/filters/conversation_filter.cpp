#include <utility>

#include "api/access/sharing.h"
#include "api/filters/filters.h"
#include "fleet/base/remote_models.h"
#include "fleet/requests/conversation.h"

namespace corral::api {

// Unused for this machine's own models.
Filter conversation_filter() {
  return [](CallPtr call, Next next) {
    if (!fleet::is_remote(*call->model())) return next(std::move(call));
    const auto& request = call->request;
    const auto& client = request.caller.key.empty() ? request.peer : request.caller.key;
    const auto session = session_of(request.head.headers);
    call->conversation =
        session.empty() ? fleet::conversation_of(call->canonical.body, client) : fleet::session_number(session, client);
    return next(std::move(call));
  };
}

}  // namespace corral::api
