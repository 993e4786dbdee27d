#include "http/handler.h"

#include <fmt/format.h>

#include "http/errors.h"

namespace corral::http {

async::Task<Result<std::string>> Body::read_all(std::uint64_t limit) {
  const auto length = source_ ? source_->length() : text_.size();
  if (length && *length > limit)
    co_return fail(errc::too_large, fmt::format("the body has {} bytes, at most {} are allowed", *length, limit));
  if (!source_) co_return std::move(text_);
  std::string all;
  if (length) all.reserve(*length);
  while (true) {
    const auto read = co_await source_->read();
    if (!read) co_return std::unexpected(read.error());
    if (read->empty()) co_return all;
    // Available pieces cost no turn of the loop, however small they are.
    for (auto piece = *read; !piece.empty(); piece = source_->take_ready()) {
      if (all.size() + piece.size() > limit)
        co_return fail(errc::too_large, fmt::format("the body has more than {} bytes", limit));
      all.append(piece);
    }
  }
}

Response Response::text(unsigned status, std::string_view content_type, std::string body) {
  Response response{ResponseHead{status, {}}, Body(std::move(body))};
  response.head.headers.add("Content-Type", content_type);
  return response;
}

Response Response::event_stream(std::unique_ptr<BodySource> events) {
  Response response{ResponseHead{200, {}}, Body(std::move(events))};
  response.head.headers.add("Content-Type", "text/event-stream");
  response.head.headers.add("Cache-Control", "no-cache");
  response.head.headers.add("X-Accel-Buffering", "no");
  return response;
}

}  // namespace corral::http
