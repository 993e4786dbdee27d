#include "http/beast/reader.h"

#include <boost/beast/http/error.hpp>
#include <boost/beast/src.hpp>

namespace corral::http {
namespace {

namespace wire_error = boost::beast::http;

std::unexpected<Error> to_error(boost::beast::error_code error) {
  if (error == wire_error::error::header_limit)
    return fail(errc::header_too_large, "the request line and header fields are too large");
  if (error == wire_error::error::body_limit) return fail(errc::too_large, "the body is larger than this server takes");
  if (error == wire_error::error::partial_message)
    return fail(errc::truncated, "the message ended before its announced end");
  return fail(errc::malformed, "not valid HTTP: " + error.message());
}

}  // namespace

template <bool isRequest>
MessageReader<isRequest>::MessageReader(Wire& wire, const ReadLimits& limits) : wire_(wire), limits_(limits) {
  parser_.header_limit(limits.header_bytes);
  parser_.body_limit(limits.body_bytes);
}

template <bool isRequest>
async::Task<Result<>> MessageReader<isRequest>::read_head(std::chrono::milliseconds first_byte) {
  while (true) {
    const auto unread = wire_.unread();
    if (!unread.empty()) {
      boost::beast::error_code error;
      wire_.consume(parser_.put(asio::buffer(unread.data(), unread.size()), error));
      if (error && error != wire_error::error::need_more) co_return to_error(error);
      if (parser_.is_header_done()) co_return Result<>();
    }
    const auto filled = co_await wire_.fill(started() ? limits_.header_timeout : first_byte);
    if (!filled) co_return filled;
  }
}

template <bool isRequest>
Result<bool> MessageReader<isRequest>::advance() {
  parser_.piece = {};
  while (!parser_.is_done()) {
    const auto unread = wire_.unread();
    if (unread.empty()) return false;
    boost::beast::error_code error;
    const auto used = parser_.put(asio::buffer(unread.data(), unread.size()), error);
    wire_.consume(used);
    if (error == wire_error::error::need_more) return false;
    if (error) return to_error(error);
    if (!parser_.piece.empty()) return true;
  }
  return true;
}

template <bool isRequest>
async::Task<Result<std::string_view>> MessageReader<isRequest>::read_piece() {
  while (true) {
    const auto advanced = advance();
    if (!advanced) co_return std::unexpected(advanced.error());
    if (*advanced) co_return parser_.piece;
    const auto filled = co_await wire_.fill(limits_.body_timeout);
    if (filled) continue;
    if (filled.error().code != errc::peer_closed) co_return std::unexpected(filled.error());
    // The end of the connection is the end of a body without a length, and an error for every other one.
    boost::beast::error_code error;
    parser_.put_eof(error);
    if (error) co_return fail(errc::truncated, "the peer closed the connection in the middle of the body");
    co_return std::string_view();
  }
}

template <bool isRequest>
std::string_view MessageReader<isRequest>::ready_piece() {
  if (wire_.unread().empty() || parser_.is_done()) return {};
  const auto advanced = advance();
  return advanced && *advanced ? parser_.piece : std::string_view();
}

template <bool isRequest>
std::optional<std::uint64_t> MessageReader<isRequest>::content_length() const {
  const auto length = parser_.content_length();
  return length ? std::optional(*length) : std::nullopt;
}

template class MessageReader<true>;
template class MessageReader<false>;

}  // namespace corral::http
