#include "cli/terminal/markdown.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"

namespace corral::cli {
namespace {

constexpr std::string_view kBold = "\x1b[1m";
constexpr std::string_view kNotBold = "\x1b[22m";
constexpr std::string_view kDim = "\x1b[2m";
constexpr std::string_view kCode = "\x1b[36m";
constexpr std::string_view kNoCode = "\x1b[39m";

constexpr std::string_view kBoldMark = "**";

constexpr std::size_t kShortestFence = 3;
constexpr std::size_t kDeepest = 12;   // spaces before a mark
constexpr std::size_t kMaxHashes = 6;  // of a heading
constexpr std::size_t kMaxDigits = 3;  // of a number in a list

std::size_t spaces_of(std::string_view line) { return std::min(line.find_first_not_of(' '), line.size()); }

constexpr std::size_t kMaxIndent = 3;   // of a heading
constexpr std::size_t kMaxHead = 1000;  // bytes of a line whose kind is looked for
constexpr std::size_t kMaxHeld = 500;   // bytes behind a mark without an end

// The number of equal characters at the beginning.
std::size_t run_of(std::string_view text) {
  return text.empty() ? 0 : std::min(text.find_first_not_of(text.front()), text.size());
}

bool is_word(std::string_view character) {
  if (character.empty()) return false;
  const char c = character.front();
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_blank(std::string_view character) { return character.empty() || character == " " || character == "\n"; }

}  // namespace

Markdown::Kind Markdown::kind(bool whole) const {
  if (head_.size() > kMaxHead) return Kind::text;
  const Kind unless_more = whole ? Kind::text : Kind::unknown;
  const std::size_t spaces = spaces_of(head_);
  const std::string_view rest = std::string_view(head_).substr(spaces);
  if (rest.empty()) return spaces > kDeepest && fence_.empty() ? Kind::text : unless_more;
  const std::size_t run = run_of(rest);
  const bool only_run = run == rest.size();
  if (!fence_.empty()) {
    if (rest.front() != fence_.front()) return Kind::text;
    const auto after = rest.find_first_not_of(' ', run);
    if (after != std::string_view::npos) return Kind::text;
    return !whole ? Kind::unknown : run >= fence_.size() ? Kind::fence : Kind::text;
  }
  switch (rest.front()) {
    case '`':
    case '~':
      if (run < kShortestFence) return only_run ? unless_more : Kind::text;
      if (rest.find('`', run) != std::string_view::npos) return Kind::text;
      return whole ? Kind::fence : Kind::unknown;
    case '#':
      if (spaces > kMaxIndent) return Kind::text;
      if (only_run && run <= kMaxHashes) return unless_more;
      return run <= kMaxHashes && rest[run] == ' ' ? Kind::heading : Kind::text;
    case '-':
    case '*':
    case '+':
      if (rest.size() == 1) return unless_more;
      return rest[1] == ' ' ? Kind::bullet : Kind::text;
    case '>':
      return rest.size() == 1 ? unless_more : Kind::quote;
    case '|':
      return Kind::table;
    default:
      break;
  }
  const std::size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
  if (digits == 0 || digits > kMaxDigits) return Kind::text;
  if (digits == rest.size()) return unless_more;
  if (rest[digits] != '.' && rest[digits] != ')') return Kind::text;
  if (digits + 1 == rest.size()) return unless_more;
  return rest[digits + 1] == ' ' ? Kind::number : Kind::text;
}

void Markdown::style(std::string_view code) {
  if (styled_) out_.style(code);
}

// Prints head_, or what stands for it.
void Markdown::begin_line(Kind kind) {
  in_line_ = true;
  before_.clear();
  const std::string head = std::exchange(head_, {});
  const std::size_t spaces = spaces_of(head);
  const std::string_view rest = std::string_view(head).substr(spaces);
  const std::string before(spaces, ' ');
  unbroken_ = kind == Kind::table || kind == Kind::fence || !fence_.empty();
  if (kind == Kind::fence) {
    style(kDim);
    out_.write_unbroken(head);
    style(kNotBold);
    fence_ = fence_.empty() ? std::string(rest.substr(0, run_of(rest))) : std::string();
    return;
  }
  if (!fence_.empty()) style(kCode);
  if (unbroken_) return out_.write_unbroken(head);
  if (kind == Kind::heading) {
    heading_ = styled_;
    style(kBold);
    out_.write(styled_ ? rest.substr(run_of(rest) + 1) : rest);
    return;
  }
  if (kind == Kind::bullet) {
    out_.write(before + (styled_ ? "• " : std::string(rest.substr(0, 2))));
    out_.indent(spaces + 2);
    return;
  }
  if (kind == Kind::number) {
    out_.write(head);
    out_.indent(head.size());
    return;
  }
  if (kind == Kind::quote) {
    style(kDim);
    out_.write(before + (styled_ ? "│" : ">"));
    style(kNotBold);
    out_.indent(spaces + 2);
    if (rest[1] != ' ') out_.write(" ");
    return write_inline(rest.substr(1));
  }
  out_.write(before);
  out_.indent(spaces);
  write_characters(rest);
}

void Markdown::end_line(bool more) {
  end_span();
  if (!fence_.empty() && unbroken_) style(kNoCode);
  if (heading_) style(kNotBold);
  heading_ = in_line_ = unbroken_ = false;
  if (more) {
    out_.write("\n");
  } else {
    out_.end();
  }
}

bool Markdown::closes() const {
  return marks_ == opening_ && !held_.empty() && (opening_ != kBoldMark || !is_blank(before_));
}

void Markdown::hold(std::string_view character) {
  if (character.front() == opening_.front()) {
    marks_ += character;
    return;
  }
  if (!marks_.empty()) {
    if (closes()) {
      print_span();
      return write_inline(character);
    }
    held_ += std::exchange(marks_, {});
  }
  held_ += character;
  before_ = character;
  if (held_.size() > kMaxHeld) give_up();
}

void Markdown::print_span() {
  const std::string mark = std::exchange(opening_, {});
  const std::string text = std::exchange(held_, {});
  marks_.clear();
  if (mark != kBoldMark) {
    style(kCode);
    out_.write(text);
    style(kNoCode);
  } else {
    bold_ = true;
    before_.clear();
    if (!heading_) style(kBold);
    write_characters(text);
    end_span();
    if (!heading_) style(kNotBold);
    bold_ = false;
  }
  before_ = mark.substr(0, 1);
}

void Markdown::give_up() {
  out_.write(std::exchange(opening_, {}));
  out_.write(std::exchange(held_, {}));
  out_.write(std::exchange(marks_, {}));
}

// Whatever is held has no end, or has ended.
void Markdown::end_span() {
  end_marks("\n");
  if (!opening_.empty()) closes() ? print_span() : give_up();
}

// The text continues with another character than the marks.
void Markdown::end_marks(std::string_view next) {
  if (marks_.empty() || !opening_.empty()) return;
  const bool begins = marks_.front() == '`' || (marks_ == kBoldMark && !bold_ && !is_blank(next) && !is_word(before_));
  if (!begins) return out_.write(std::exchange(marks_, {}));
  opening_ = std::exchange(marks_, {});
  before_.clear();
}

void Markdown::write_inline(std::string_view character) {
  if (!opening_.empty()) return hold(character);
  if (!marks_.empty() && character.front() != marks_.front()) {
    end_marks(character);
    return write_inline(character);
  }
  if (styled_ && (character == "`" || character == "*")) {
    marks_ += character;
    return;
  }
  out_.write(character);
  before_ = character;
}

void Markdown::write_characters(std::string_view text) {
  while (!text.empty()) {
    const std::string_view one = text.substr(0, utf8_step(text).length);
    text.remove_prefix(one.size());
    write_inline(one);
  }
}

void Markdown::write(std::string_view text) {
  while (!text.empty()) {
    const std::string_view one = text.substr(0, utf8_step(text).length);
    text.remove_prefix(one.size());
    if (one == "\n") {
      if (!in_line_) begin_line(kind(true));
      end_line(true);
    } else if (!in_line_) {
      head_ += one;
      if (const Kind now = kind(false); now != Kind::unknown) begin_line(now);
    } else if (unbroken_) {
      out_.write_unbroken(one);
    } else {
      write_inline(one);
    }
  }
}

void Markdown::end() {
  if (!in_line_ && !head_.empty()) begin_line(kind(true));
  end_line(false);
  fence_.clear();
}

}  // namespace corral::cli
