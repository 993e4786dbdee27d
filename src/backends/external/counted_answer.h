// Counts what an external program did for a request, from its answer: such programs don't report it.
#pragma once

#include <memory>

#include "async/timer.h"
#include "backends/external/request_reports.h"
#include "http/handler.h"

namespace corral::backends {

// The same answer, which is reported at its end, or when its client leaves after it has had some text; not if it is an
// error or breaks off. `began`: when the request was sent. `clock` must outlive the answer.
http::Response counted_answer(http::Response answer, std::shared_ptr<RequestReports> reports, const Clock& clock,
                              MonoTime began);

}  // namespace corral::backends
