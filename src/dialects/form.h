// Forms (multipart/form-data) that pass as they come: what one of their fields says is found out on the way, and
// everything goes on untouched.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "http/body.h"

namespace corral::dialects {

// Of "multipart/form-data; boundary=..."; none: it is something else.
std::optional<std::string> boundary_of(std::string_view content_type);

// Looks for a short field in a form of which more comes each time. What it has seen it doesn't look at again, so a form
// that comes byte by byte costs no more than one in a piece. Files are skipped.
class FormScan {
 public:
  static constexpr std::size_t kLongestField = 4096;

  // `wanted`: the name of the one field that is kept.
  FormScan(std::string_view boundary, std::string wanted)
      : delimiter_("\r\n--" + std::string(boundary)), wanted_(std::move(wanted)) {}

  // `form`: all that has come so far.
  void look(std::string_view form);
  // The first of that name.
  const std::optional<std::string>& value() const { return value_; }
  bool ended() const { return ended_; }

 private:
  void take_part(std::string_view part);

  const std::string delimiter_;
  const std::string wanted_;
  std::optional<std::string> value_;
  std::size_t part_ = 0;      // where the part begins whose end hasn't come
  std::size_t searched_ = 0;  // up to there, there is no end of it
  bool begun_ = false;        // behind the first delimiter
  bool ended_ = false;
};

struct Form {
  std::string value;                       // of the field that was looked for; empty: the form has none
  std::unique_ptr<http::BodySource> body;  // the whole form, from its first byte on
};

// Reads until the field `name` has come, and no further: clients that send it before their files have nothing held but
// a few bytes. Errors: protocol::errc::bad_value for what is no form; http::errc::too_large when more than `limit`
// bytes come before it; those of `body`.
async::Task<Result<Form>> find_in_form(std::string content_type, std::unique_ptr<http::BodySource> body,
                                       std::string name, std::size_t limit);

}  // namespace corral::dialects
