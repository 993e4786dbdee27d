// A filter around a canonical answer: the same in the words of a dialect, piece by piece as it comes. It holds no more
// than the event that is under way, pulls only when it is pulled, and ends what feeds it when it is dropped.
#pragma once

#include <memory>

#include "dialects/dialect.h"
#include "http/handler.h"

namespace corral::dialects {

// Answers that say no stay as they are: ErrorTeller tells them. No teller: the answer as it is.
http::Response told(http::Response canonical, std::unique_ptr<AnswerTeller> teller);

}  // namespace corral::dialects
