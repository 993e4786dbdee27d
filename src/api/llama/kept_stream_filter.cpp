#include "api/llama/kept_stream_filter.h"

#include <string>
#include <utility>

namespace corral::api {

Filter kept_stream_filter(KeptStreams& streams) {
  return [&streams](CallPtr call, Next next) {
    const auto id = call->request.head.headers.get(kConversationId);
    if (id.empty() || id.size() > kLongestConversationId || !call->streams() || call->is_translated)
      return next(std::move(call));
    KeptStreams::Name name(call->request.caller.key, id);
    auto answering = next(std::move(call));
    return streams.keep(std::move(name), std::move(answering));
  };
}

}  // namespace corral::api
