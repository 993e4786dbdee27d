// One request's view of RequestQuarantine. While no process has ended, it reads nothing of the body. A streamed upload
// is never suspected: it is not kept, so it has no key.
#pragma once

#include <optional>
#include <string_view>

#include "router/forward/forward_request.h"
#include "router/forward/request_quarantine.h"

namespace corral::router {

// On the loop of the request. Both must outlive it.
class Suspicion {
 public:
  Suspicion(RequestQuarantine& quarantine, const ForwardRequest& request)
      : quarantine_(quarantine), request_(request) {}

  // The error of a quarantined request (errc::quarantined); empty: it may be sent.
  std::optional<Error> quarantined() const;
  // Whether the ended process hadn't read it; empty: unknown.
  std::optional<bool> unread_by(const UpstreamExit& ending) const;
  // A process ended after it had read this request. True: the request may be sent once more. Not if a signal ended the
  // process while it prepared the request: its text may be the cause.
  bool note(const UpstreamExit& ending);
  // It was answered: its suspicion has ended.
  void clear();

 private:
  // The text that identifies it; empty: it is not stored.
  std::string_view words() const;
  RequestQuarantine::Key key() const;

  RequestQuarantine& quarantine_;
  const ForwardRequest& request_;
};

}  // namespace corral::router
