// A filter around a canonical answer: the same in the words of a dialect, piece by piece as it comes. It pulls only
// when it is pulled, and ends what feeds it when it is dropped. It holds no more than the event that is under way, and
// what its teller keeps: some end by saying all of it once more.
//
// Where many pieces in a row come to nothing in the dialect the client gets its ping. A stream that breaks off, without
// [DONE] and without a reason of its end, is told as a failure, and so is an answer that says what is wrong.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "dialects/dialect.h"
#include "http/handler.h"

namespace corral::dialects {

// Called once when the answer has come to a good end, on the thread that tells it: how long the request has taken.
using AtEnd = std::function<std::chrono::nanoseconds()>;

// Answers that say no stay as they are: ErrorFilter tells them. No teller: the answer as it is. `begun`: the request's,
// which whole answers repeat and clients don't get. `names`: the request's, for errors in an answer that has begun.
http::Response told(http::Response canonical, std::unique_ptr<ResponseTranslator> teller, AtEnd at_end = {},
                    const Begun& begun = {}, std::shared_ptr<const OwnNames> names = {});

}  // namespace corral::dialects
