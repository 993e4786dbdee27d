// The library asserts that a last chunk's head of three bytes never grows by one, but clients can cause that. The code
// after the assertion handles it.
#define BOOST_DISABLE_ASSERTS

#include "http/beast/reader.h"

#include <boost/assert.hpp>  // applies the line above, even if it was included before
#include <boost/beast/http/error.hpp>
#include <boost/beast/src.hpp>
#include <fmt/format.h>

#include "http/request_rules.h"

namespace corral::http {
namespace {

namespace wire_error = boost::beast::http;

}  // namespace

template <bool isRequest>
MessageReader<isRequest>::MessageReader(BufferedSocket& wire, const ReadLimits& limits) : wire_(wire), limits_(limits) {
  parser_.header_limit(limits.header_bytes);
  parser_.body_limit(limits.body_bytes);
  parser_.form_limit = limits.form_bytes;
}

template <bool isRequest>
std::unexpected<Error> MessageReader<isRequest>::to_error(boost::beast::error_code error) const {
  if (error == wire_error::error::header_limit)
    return fail(errc::header_too_large,
                fmt::format("the request line and header fields have more than {} bytes or {} fields",
                            limits_.header_bytes, Parser<isRequest>::kMaxFields));
  if (error == wire_error::error::body_limit) {
    const bool form = parser_.form_limit != 0 && is_form(parser_.head.headers.get("Content-Type"));
    return fail(errc::too_large, fmt::format("the body has more than {} bytes; send less, or raise {}",
                                             form ? limits_.form_bytes : limits_.body_bytes,
                                             form ? "max_upload_bytes" : "max_body_bytes"));
  }
  if (error == wire_error::error::partial_message)
    return fail(errc::truncated, "the message ended before its announced end");
  return fail(errc::malformed, "not valid HTTP: " + error.message());
}

template <bool isRequest>
Error MessageReader<isRequest>::too_slow(std::string_view part, const MinRate& rule) const {
  const auto seconds = std::chrono::duration<double>(rule.grace).count();
  if (rule.bytes_per_second == 0)
    return {make_error_code(errc::timed_out), fmt::format("the {} did not arrive within {} s", part, seconds)};
  return {make_error_code(errc::timed_out),
          fmt::format("the {} arrived too slowly: less than {} bytes per second, after a grace of {} s", part,
                      rule.bytes_per_second, seconds)};
}

template <bool isRequest>
std::unexpected<Error> MessageReader<isRequest>::fail_with(Error error) {
  failure_ = error;
  return std::unexpected(std::move(error));
}

template <bool isRequest>
Result<bool> MessageReader<isRequest>::advance_head() {
  // Empty lines that some clients send after a body.
  while (isRequest && !parser_.got_some() && wire_.unread().starts_with("\r\n")) wire_.consume(2);
  const auto unread = wire_.unread();
  if (unread.empty() || (isRequest && !parser_.got_some() && unread == "\r")) return false;
  boost::beast::error_code error;
  const auto used = parser_.put(asio::buffer(unread.data(), unread.size()), error);
  wire_.consume(used);
  head_bytes_ += used;
  if (error && error != wire_error::error::need_more) return to_error(error);
  if (parser_.is_header_done()) return true;
  // The library's own limit is for the bytes of one call, and restarts with each parsed line.
  if (head_bytes_ + wire_.unread().size() > limits_.header_bytes) return to_error(wire_error::error::header_limit);
  return false;
}

template <bool isRequest>
async::Task<Result<>> MessageReader<isRequest>::read_head() {
  bool begun = false;
  wire_.set_reading_pace(limits_.first_byte);
  while (true) {
    const auto whole = advance_head();
    if (!whole) co_return fail_with(whole.error());
    if (*whole) break;
    if (!begun && started()) {
      begun = true;
      wire_.set_reading_pace(limits_.head);
    }
    const auto filled = co_await wire_.fill();
    if (filled) continue;
    if (filled.error().code == errc::timed_out) co_return fail_with(too_slow("request's head", limits_.head));
    co_return fail_with(filled.error());
  }
  if constexpr (isRequest) {
    auto& head = parser_.head;
    auto right = check_framing(head.headers, parser_.version, parser_.chunked());
    if (right) right = check_host(head.headers, parser_.version);
    const auto taken = take_target(head);  // even for invalid heads: errors have the style of the path
    if (right) right = taken;
    if (!right) co_return fail_with(right.error());
  }
  co_return Result<>();
}

template <bool isRequest>
Result<bool> MessageReader<isRequest>::advance() {
  if (failure_) return std::unexpected(*failure_);
  parser_.piece = {};
  while (!parser_.is_done()) {
    const auto unread = wire_.unread();
    if (unread.empty()) return false;
    boost::beast::error_code error;
    const auto used = parser_.put(asio::buffer(unread.data(), unread.size()), error);
    wire_.consume(used);
    if (error == wire_error::error::need_more) return false;
    if (error) return fail_with(to_error(error).error());
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
    if (!std::exchange(in_body_, true)) wire_.set_reading_pace(limits_.body);
    const auto filled = co_await wire_.fill();
    if (filled) continue;
    if (filled.error().code == errc::timed_out) co_return fail_with(too_slow("body", limits_.body));
    if (filled.error().code != errc::peer_closed) co_return fail_with(filled.error());
    // The end of the connection is the end of a body without a length, and an error for every other one.
    boost::beast::error_code error;
    parser_.put_eof(error);
    if (error)
      co_return fail_with(
          {make_error_code(errc::truncated), "the peer closed the connection in the middle of the body"});
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
