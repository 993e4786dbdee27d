#include "router/forward/suspicion.h"

#include <fmt/format.h>

#include "http/passing.h"
#include "router/base/errors.h"

namespace corral::router {

std::string_view Suspicion::words() const {
  if (!request_.upload) return request_.body;
  const auto* const kept = dynamic_cast<const http::ReplayableBody*>(request_.upload.get());
  return kept != nullptr ? kept->key() : std::string_view();
}

RequestQuarantine::Key Suspicion::key() const {
  return RequestQuarantine::key_of(request_.model->name, request_.path(), words());
}

std::optional<Error> Suspicion::quarantined() const {
  if (!quarantine_.any() || words().empty()) return std::nullopt;
  const auto left = quarantine_.quarantined(key());
  if (!left) return std::nullopt;
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(*left);
  Error error(make_error_code(errc::quarantined),
              fmt::format("the backend of '{}' ended each time it worked on this request: it is rejected for "
                          "{} s; change the request",
                          request_.model->name.value(), seconds.count()));
  error.retry_after = seconds;
  return error;
}

std::optional<bool> Suspicion::unread_by(const UpstreamExit& ending) const {
  if (!ending.work) return std::nullopt;
  return !ending.work->requests.contains(request_.id.value());
}

bool Suspicion::note(const UpstreamExit& ending) {
  if (ending.requests == 0 || words().empty()) return true;
  const bool again = quarantine_.note(key(), ending);
  const bool by_its_text = ending.work && ending.work->by_signal &&
                           ending.work->requests.at(request_.id.value()) == backends::RequestPhase::read;
  return again && !by_its_text;
}

void Suspicion::clear() {
  if (quarantine_.any() && !words().empty()) quarantine_.forget(key());
}

}  // namespace corral::router
