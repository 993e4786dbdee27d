#include "dialects/form.h"

#include <algorithm>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "http/message.h"
#include "json/peek.h"
#include "protocol/errors.h"

namespace corral::dialects {
namespace {

constexpr std::size_t kLongestBoundary = 70;  // RFC 2046 §5.1.1

// The content of a quoted text, which starts behind its quote and is removed from `rest` with its end. Only a quote and
// a backslash are escaped: some clients send paths of Windows as they are. Nothing: it has no end.
std::optional<std::string> take_quoted(std::string_view& rest) {
  std::string text;
  for (std::size_t at = 0; at < rest.size(); ++at) {
    const auto next = rest.substr(at + 1, 1);
    if (rest[at] == '"') {
      rest.remove_prefix(at + 1);
      return text;
    }
    if (rest[at] == '\\' && (next == "\"" || next == "\\")) ++at;
    text += rest[at];
  }
  return std::nullopt;
}

// The parameter `name` in the value of a header field: `form-data; name="model"`.
std::optional<std::string> parameter(std::string_view value, std::string_view name) {
  while (true) {
    const auto next = value.find(';');
    if (next == std::string_view::npos) return std::nullopt;
    value = trimmed(value.substr(next + 1), kBlanksInLine);
    const auto equals = std::min(value.find_first_of("=;"), value.size());
    if (value.substr(equals, 1) == ";") continue;  // without a value
    const bool wanted = http::same_name(trimmed(value.substr(0, equals), kBlanksInLine), name);
    value = trimmed(value.substr(std::min(equals + 1, value.size())));
    if (value.starts_with('"')) {
      value.remove_prefix(1);
      auto text = take_quoted(value);
      if (!text || wanted) return text;
    } else if (wanted) {
      return std::string(trimmed(value.substr(0, value.find(';')), kBlanksInLine));
    }
  }
}

// The name of a file, also in the form for other characters than ASCII (RFC 8187): `filename*=utf-8''a%20b.wav`.
std::optional<std::string> filename_in(std::string_view disposition) {
  if (auto plain = parameter(disposition, "filename")) return plain;
  const auto coded = parameter(disposition, "filename*");
  if (!coded) return std::nullopt;
  const auto quote = coded->rfind('\'');
  std::string text;
  // A plus is one here, other than in a query.
  for (const char c : std::string_view(*coded).substr(quote == std::string::npos ? 0 : quote + 1))
    c == '+' ? text.append("%2B") : text.append(1, c);
  return http::percent_decode(text);
}

// Header lines without their folds (RFC 5322 §2.2.3).
std::string unfolded(std::string_view lines) {
  std::string text;
  for (std::size_t at = 0; at < lines.size(); ++at) {
    const auto fold = lines.substr(at, 3);
    const bool is_fold = fold == "\r\n " || fold == "\r\n\t";
    text += is_fold ? ' ' : lines[at];
    if (is_fold) at += 2;
  }
  return text;
}

// The value of the header line `name`; empty: none.
std::string_view header(std::string_view lines, std::string_view name) {
  while (!lines.empty()) {
    const auto end = std::min(lines.find("\r\n"), lines.size());
    const auto line = lines.substr(0, end);
    lines.remove_prefix(std::min(end + 2, lines.size()));
    const auto colon = line.find(':');
    if (colon != std::string_view::npos && http::same_name(trimmed(line.substr(0, colon), kBlanksInLine), name))
      return trimmed(line.substr(colon + 1), kBlanksInLine);
  }
  return {};
}

// Codings that change no byte (RFC 2045 §6.2); others are deprecated in forms (RFC 7578 §4.7).
bool is_plain(std::string_view transfer_encoding) {
  for (const std::string_view plain : {"", "7bit", "8bit", "binary"}) {
    if (http::same_name(transfer_encoding, plain)) return true;
  }
  return false;
}

std::unexpected<Error> no_form(std::string_view why) {
  return fail(protocol::errc::bad_value, fmt::format("the body is not a form (multipart/form-data): {}", why));
}

// The parts of a form for sending: texts, and files between them.
class FormBody final : public http::ReplayableBody {
 public:
  explicit FormBody(std::string key) : key_(std::move(key)) {}
  void add(std::string text) { pieces_.push_back({std::move(text), nullptr}); }
  void add(const std::shared_ptr<http::Spool>& file) { pieces_.push_back({{}, http::Spool::reader(file)}); }

  async::Task<Result<std::string_view>> read() override {
    while (at_ < pieces_.size()) {
      auto& piece = pieces_[at_];
      if (!piece.file) {
        ++at_;
        co_return std::string_view(piece.text);
      }
      const auto bytes = co_await piece.file->read();
      if (!bytes || !bytes->empty()) co_return bytes;
      ++at_;
    }
    co_return std::string_view();
  }
  std::optional<std::uint64_t> length() const override {
    std::uint64_t sum = 0;
    for (const auto& piece : pieces_) sum += piece.file ? piece.file->length().value_or(0) : piece.text.size();
    return sum;
  }
  void rewind() override {
    at_ = 0;
    for (auto& piece : pieces_)
      if (piece.file) piece.file->rewind();
  }
  std::string_view key() const override { return key_; }

 private:
  struct Piece {
    std::string text;
    std::unique_ptr<http::ReplayableBody> file;
  };
  const std::string key_;
  std::vector<Piece> pieces_;
  std::size_t at_ = 0;
};

// Equal for equal fields and files, whatever the boundary.
std::string key_of(const Form& form) {
  std::string key;
  for (const auto& [name, value] : form.fields) key += fmt::format("{}={};", name, value);
  for (const auto& file : form.files) key += fmt::format("{}={:016x};", file.name, file.bytes->hash());
  return key;
}

// Collects a form, part by part.
class FormReading {
 public:
  explicit FormReading(http::SpoolRoom& room) : room_(room) {}

  async::Task<Result<>> take(const FormParser::Event& event) {
    if (event.what == FormParser::What::part) co_return begin(event);
    if (event.what == FormParser::What::data && !file_) co_return add(event.data);
    if (event.what == FormParser::What::data) {
      auto keeping = file_->append(event.data);
      co_return co_await std::move(keeping);
    }
    if (event.what != FormParser::What::end_of_part || !file_) co_return Result<>();
    const auto file = std::exchange(file_, nullptr);
    auto finishing = file->finish();
    co_return co_await std::move(finishing);
  }
  Form form;

 private:
  Result<> begin(const FormParser::Event& event) {
    if (form.fields.size() + form.files.size() == FormLimits::kParts)
      return fail(protocol::errc::bad_value, fmt::format("a form has at most {} parts", FormLimits::kParts),
                  event.name);
    if (!event.is_file) {
      form.fields.emplace_back(event.name, std::string());
      return {};
    }
    if (form.files.size() == FormLimits::kFiles)
      return fail(protocol::errc::bad_value, fmt::format("a form has at most {} files", FormLimits::kFiles),
                  event.name);
    form.files.push_back({event.name, event.filename, event.type, std::make_shared<http::Spool>(room_)});
    file_ = form.files.back().bytes;
    return {};
  }
  Result<> add(std::string_view data) {
    auto& [name, value] = form.fields.back();
    fields_ += data.size();
    if (value.size() + data.size() > FormLimits::kField || fields_ > FormLimits::kFields)
      return fail(protocol::errc::bad_value,
                  fmt::format("'{}' is too long: text fields of a form have at most {} bytes, and {} together; send "
                              "files with a filename",
                              name, FormLimits::kField, FormLimits::kFields),
                  name);
    value.append(data);
    return {};
  }

  http::SpoolRoom& room_;
  std::shared_ptr<http::Spool> file_;  // for the data of the current part
  std::size_t fields_ = 0;
};

}  // namespace

std::optional<std::string> boundary_of(std::string_view content_type) {
  if (!http::is_form(content_type)) return std::nullopt;
  const auto boundary = parameter(content_type, "boundary");
  if (!boundary || boundary->empty() || boundary->size() > kLongestBoundary) return std::nullopt;
  return std::string(*boundary);
}

Result<> FormParser::feed(std::string_view piece, std::vector<Event>& events) {
  held_.erase(0, std::exchange(at_, 0));
  held_.append(piece);
  while (true) {
    const auto more = step(events);
    if (!more) return std::unexpected(more.error());
    if (!*more) return {};
  }
}

// False: needs more bytes.
Result<bool> FormParser::step(std::vector<Event>& events) {
  const auto rest = std::string_view(held_).substr(at_);
  switch (state_) {
    case State::preamble:
      if (!find_delimiter(false, events)) return false;
      state_ = State::boundary;
      return true;
    case State::boundary:
      return read_boundary(events);
    case State::head: {
      // The line end of the boundary's line is still there: a part may have an empty head.
      const auto end = rest.find("\r\n\r\n");
      const auto head = rest.substr(0, end);
      if (head.size() > FormLimits::kHead) return no_form("the head of a part is too long");
      if (end == std::string_view::npos) return false;
      if (auto read = read_head(head, events); !read) return std::unexpected(read.error());
      at_ += end + 2;
      state_ = State::value;
      return true;
    }
    case State::value:
      // The empty line, unless its end is that of a delimiter: then the part has no value.
      if (rest.size() < delimiter_.size() && delimiter_.starts_with(rest)) return false;
      if (!rest.starts_with(delimiter_)) at_ += 2;
      state_ = State::data;
      return true;
    case State::data:
      if (!find_delimiter(true, events)) return false;
      events.push_back({.what = What::end_of_part});
      state_ = State::boundary;
      return true;
    case State::ended:
      break;
  }
  at_ = held_.size();  // drops bytes after the end
  return false;
}

bool FormParser::find_delimiter(bool is_data, std::vector<Event>& events) {
  const auto rest = std::string_view(held_).substr(at_);
  const auto found = rest.find(delimiter_);
  const bool is_there = found != std::string_view::npos;
  const auto before = is_there ? found : rest.size() - std::min(rest.size(), delimiter_.size() - 1);
  if (is_data && before > 0) events.push_back({.what = What::data, .data = rest.substr(0, before)});
  at_ += before + (is_there ? delimiter_.size() : 0);
  return is_there;
}

// "--" after the last one; else blanks, which gateways may add, and a line end, which stays for the head.
Result<bool> FormParser::read_boundary(std::vector<Event>& events) {
  const auto rest = std::string_view(held_).substr(at_);
  if (rest.starts_with("--")) {
    state_ = State::ended;
    events.push_back({.what = What::end});
    return true;
  }
  const auto blanks = std::min(rest.find_first_not_of(" \t"), rest.size());
  if (blanks > FormLimits::kPadding)
    return no_form(fmt::format("more than {} blanks follow a boundary", FormLimits::kPadding));
  const auto end = rest.substr(blanks, 2);
  if (end.empty() || end == "\r" || rest == "-") return false;
  if (end != "\r\n") return no_form("there is text after a boundary");
  at_ += blanks;
  state_ = State::head;
  return true;
}

Result<> FormParser::finish() const {
  if (state_ == State::ended) return {};
  if (state_ == State::preamble)
    return no_form(fmt::format("no line of it starts with its boundary '{}'", delimiter_.substr(2)));
  return no_form("it ends without its last boundary");
}

Result<> FormParser::read_head(std::string_view head, std::vector<Event>& events) {
  const auto lines = unfolded(head);
  const auto about = header(lines, "Content-Disposition");
  auto name = parameter(about, "name");
  if (!name) return no_form("a part has no name");
  const auto coding = header(lines, "Content-Transfer-Encoding");
  if (!is_plain(coding))
    return fail(
        protocol::errc::bad_value,
        fmt::format("'{}' has the Content-Transfer-Encoding '{}'; send it as it is, which is 'binary'", *name, coding),
        *name);
  Event event{.what = What::part, .name = std::move(*name)};
  auto filename = filename_in(about);
  event.is_file = filename.has_value();
  event.filename = std::move(filename).value_or("");
  event.type = header(lines, "Content-Type");
  events.push_back(std::move(event));
  return {};
}

const std::string* Form::find(std::string_view name) const {
  const auto found = std::ranges::find(fields, name, &std::pair<std::string, std::string>::first);
  return found == fields.end() ? nullptr : &found->second;
}

const FormFile* Form::find_file(std::string_view name) const {
  const auto found = std::ranges::find(files, name, &FormFile::name);
  return found == files.end() ? nullptr : &*found;
}

std::vector<std::string> Form::all(std::string_view name) const {
  std::vector<std::string> values;
  for (const auto& [key, value] : fields) {
    const auto plain = std::string_view(key).substr(0, key.ends_with("[]") ? key.size() - 2 : key.size());
    if (plain == name) values.push_back(value);
  }
  return values;
}

bool is_json_number(const std::string& value) {
  const auto peek = json::Peek::open(value);
  if (!peek) return false;
  const auto kind = peek->root().kind();
  return kind == json::Kind::integer || kind == json::Kind::number;
}

async::Task<Result<Form>> read_form(std::string content_type, std::unique_ptr<http::BodySource> body,
                                    http::SpoolRoom& room) {
  const auto boundary = boundary_of(content_type);
  if (!boundary || !body) {
    co_return fail(protocol::errc::bad_value,
                   "the body must be a form: 'Content-Type: multipart/form-data; boundary=...'", "Content-Type");
  }
  if (auto* passing = dynamic_cast<http::PassingBody*>(body.get())) passing->passes_by();
  FormParser parser(*boundary);
  FormReading reading(room);
  std::vector<FormParser::Event> events;
  while (true) {
    const auto piece = co_await body->read();
    if (!piece) co_return std::unexpected(piece.error());
    if (piece->empty()) break;
    events.clear();
    if (const auto fed = parser.feed(*piece, events); !fed) co_return std::unexpected(fed.error());
    for (const auto& event : events) {
      auto taking = reading.take(event);
      const auto taken = co_await std::move(taking);
      if (!taken) co_return std::unexpected(taken.error());
    }
  }
  if (const auto whole = parser.finish(); !whole) co_return std::unexpected(whole.error());
  co_return std::move(reading.form);
}

WrittenForm write_form(const Form& form) {
  std::random_device random;
  const auto boundary = fmt::format("corral-{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
  auto body = std::make_unique<FormBody>(key_of(form));
  std::string text;
  for (const auto& [name, value] : form.fields) {
    text += fmt::format("--{}\r\nContent-Disposition: form-data; name=\"{}\"\r\n\r\n{}\r\n", boundary, name, value);
  }
  for (const auto& file : form.files) {
    text +=
        fmt::format("--{}\r\nContent-Disposition: form-data; name=\"{}\"; filename=\"{}\"\r\nContent-Type: {}\r\n\r\n",
                    boundary, file.name, file.filename, file.type);
    body->add(std::exchange(text, {}));
    body->add(file.bytes);
    text = "\r\n";
  }
  body->add(fmt::format("{}--{}--\r\n", text, boundary));
  return {"multipart/form-data; boundary=" + boundary, std::move(body)};
}

}  // namespace corral::dialects
