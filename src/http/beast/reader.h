// Reads one HTTP message from a BufferedSocket: first its head, then its body piece by piece, without copying the
// pieces.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>

#include "http/beast/buffered_socket.h"
#include "http/errors.h"
#include "http/message.h"
#include "http/passing.h"

namespace corral::http {

struct ReadLimits {
  std::uint32_t header_bytes = 64 * 1024;
  std::uint64_t body_bytes = ~0ull;
  std::uint64_t form_bytes = 0;     // of a form with files; 0: like other bodies
  MinRate first_byte = kNoMinRate;  // until the first byte of the head
  MinRate head = kNoMinRate;        // from its first byte on
  MinRate body = kNoMinRate;
};

// The library's parser, which writes into our own values.
template <bool isRequest>
class Parser final : public boost::beast::http::basic_parser<isRequest> {
 public:
  using Head = std::conditional_t<isRequest, RequestHead, ResponseHead>;
  static constexpr std::size_t kMaxFields = 256;

  Head head;
  int version = 11;        // of a request: 10 or 11
  std::string_view piece;  // body bytes found by the last put(), inside its buffer
  std::uint64_t form_limit = 0;

 private:
  using string_view = boost::beast::string_view;
  using error_code = boost::beast::error_code;

  void on_request_impl(boost::beast::http::verb, string_view method, string_view target, int sent_version,
                       error_code&) override {
    if constexpr (isRequest) {
      head.method = method;
      head.target = target;
      head.headers.reserve(16);
      version = sent_version;
    }
  }
  void on_response_impl(int code, string_view, int, error_code&) override {
    if constexpr (!isRequest) {
      head.status = static_cast<unsigned>(code);
      head.headers.reserve(8);
    }
  }
  void on_field_impl(boost::beast::http::field, string_view name, string_view value, error_code& error) override {
    if (this->is_header_done()) return;  // trailers after the last chunk are dropped
    if (head.headers.size() == kMaxFields) {
      error = boost::beast::http::error::header_limit;
      return;
    }
    head.headers.add(name, value);
    if constexpr (isRequest) {
      // Set before the end of the head, where the parser checks the length.
      if (form_limit != 0 && same_name(name, "Content-Type") && is_form(value)) this->body_limit(form_limit);
    }
  }
  void on_header_impl(error_code&) override {}
  void on_body_init_impl(boost::optional<std::uint64_t> const&, error_code&) override {}
  std::size_t on_body_impl(string_view body, error_code&) override {
    piece = body;
    return body.size();
  }
  void on_chunk_header_impl(std::uint64_t, string_view, error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, string_view body, error_code&) override {
    piece = body;
    return body.size();
  }
  void on_finish_impl(error_code&) override {}
};

template <bool isRequest>
class MessageReader {
 public:
  MessageReader(BufferedSocket& wire, const ReadLimits& limits);

  // Reads up to the end of the head. A request's head is also checked by request_rules.h.
  async::Task<Result<>> read_head();
  // The next piece of the body; empty at its end. Valid until the next call. After an error only the same error.
  async::Task<Result<std::string_view>> read_piece();
  // Like read_piece(), from buffered bytes; empty: none.
  std::string_view ready_piece();

  // After an error: the fields before the fault.
  typename Parser<isRequest>::Head& head() { return parser_.head; }
  bool started() const { return parser_.got_some() || !wire_.unread().empty(); }
  bool done() const { return parser_.is_done(); }
  bool failed() const { return failure_.has_value(); }
  bool keep_alive() const { return parser_.keep_alive(); }
  // Of a request: 10 or 11.
  int version() const { return parser_.version; }
  std::optional<std::uint64_t> content_length() const;
  // For the answer to a HEAD request, or a status without a body.
  void expect_no_body() { parser_.skip(true); }

 private:
  // Parses the buffered bytes of the head. True: the head is complete.
  Result<bool> advance_head();
  // Parses the buffered bytes. True: there is a piece, or the message has ended. False: more bytes are needed.
  Result<bool> advance();
  std::unexpected<Error> to_error(boost::beast::error_code error) const;
  Error too_slow(std::string_view part, const MinRate& rule) const;
  std::unexpected<Error> fail_with(Error error);

  BufferedSocket& wire_;
  const ReadLimits limits_;
  Parser<isRequest> parser_;
  std::uint64_t head_bytes_ = 0;
  bool in_body_ = false;  // the minimum rate of bodies applies
  std::optional<Error> failure_;
};

extern template class MessageReader<true>;
extern template class MessageReader<false>;

}  // namespace corral::http
