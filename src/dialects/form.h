// Forms with files (multipart/form-data, RFC 7578 and, for their syntax, RFC 2046 §5.1.1). Short fields are held in
// memory, files go into spools as they arrive. So a form of gigabytes takes little memory, and the fields that decide
// its target may follow the file.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "http/body.h"
#include "http/spool.h"

namespace corral::dialects {

// From "multipart/form-data; boundary=..."; nothing: another type.
std::optional<std::string> boundary_of(std::string_view content_type);

struct FormLimits {
  static constexpr std::size_t kParts = 64;
  static constexpr std::size_t kFiles = 16;
  static constexpr std::size_t kField = 64 * 1024;  // bytes of a field without a file
  static constexpr std::size_t kFields = 256 * 1024;
  static constexpr std::size_t kHead = 8 * 1024;  // of a part
  static constexpr std::size_t kPadding = 1024;   // blanks behind a boundary
};

// Splits a form into its parts as it arrives, in pieces of any size. Bytes before the first boundary and after the last
// one are dropped. Pure.
class FormParser {
 public:
  enum class What { part, data, end_of_part, end };
  struct Event {
    What what = What::data;
    std::string name = {}, filename = {}, type = {};  // of a part
    bool is_file = false;
    std::string_view data = {};  // valid until the next call of feed()
  };

  explicit FormParser(std::string_view boundary) : delimiter_("\r\n--" + std::string(boundary)) {}

  // Appends the events in `piece` to `events`. Errors: bad_value: this is no form.
  Result<> feed(std::string_view piece, std::vector<Event>& events);
  // After the last byte. Errors: bad_value: the form has no first or no last boundary.
  Result<> finish() const;

 private:
  enum class State { preamble, boundary, head, value, data, ended };
  Result<bool> step(std::vector<Event>& events);
  // Moves to the next delimiter, and behind it. True: it is there. The bytes before it are data of a part, or dropped.
  bool find_delimiter(bool is_data, std::vector<Event>& events);
  Result<bool> read_boundary(std::vector<Event>& events);
  Result<> read_head(std::string_view head, std::vector<Event>& events);

  const std::string delimiter_;  // with the line end before it, which is a part of it
  std::string held_ = "\r\n";    // unparsed bytes, after those that events refer to; nothing may precede the first one
  std::size_t at_ = 0;           // in held_
  State state_ = State::preamble;
};

struct FormFile {
  std::string name, filename, type;
  std::shared_ptr<http::Spool> bytes;
};

struct Form {
  std::vector<std::pair<std::string, std::string>> fields;
  std::vector<FormFile> files;

  // The first of that name; null: none.
  const std::string* find(std::string_view name) const;
  const FormFile* find_file(std::string_view name) const;
  // With and without "[]" after the name, as clients send lists.
  std::vector<std::string> all(std::string_view name) const;
};

// Whether the value of a field is a number as in JSON.
bool is_json_number(const std::string& value);

// Reads `body` to its end. Errors: protocol::errc::bad_value, with the field's name, if it is no form or exceeds a
// limit; those of `body` and of Spool::append.
async::Task<Result<Form>> read_form(std::string content_type, std::unique_ptr<http::BodySource> body,
                                    http::SpoolRoom& room);

struct WrittenForm {
  std::string content_type;
  std::unique_ptr<http::ReplayableBody> body;  // its length is known
};
// Writes the form again, for the upstream. Names and file names must be plain words.
WrittenForm write_form(const Form& form);

}  // namespace corral::dialects
