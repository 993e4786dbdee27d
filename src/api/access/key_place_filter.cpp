#include "api/access/key_place_filter.h"

#include <utility>

#include "api/access/sharing.h"

namespace corral::api {

Filter key_place_filter(AccessContext& access) {
  return [&access](CallPtr call, Next next) {
    auto place = place_of(access, call->request.caller);
    if (!place) return refused(std::move(place.error()));
    call->place = std::move(*place);
    call->background = in_background(access, call->request);
    return next(std::move(call));
  };
}

}  // namespace corral::api
