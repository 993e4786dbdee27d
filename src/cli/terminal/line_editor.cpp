#include "cli/terminal/line_editor.h"

#include <algorithm>
#include <clocale>
#include <cstdio>
#include <cwchar>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <histedit.h>
#include <unistd.h>

#include "base/text.h"
#include "base/utf8.h"
#include "cli/terminal/terminal.h"

namespace corral::cli {
namespace {

// Pasted texts come between marks, if the terminal can do that.
constexpr std::string_view kMarkPastes = "\x1b[?2004h";
constexpr std::string_view kDontMarkPastes = "\x1b[?2004l";
constexpr std::string_view kEndOfPaste = "\x1b[201~";

constexpr char kInvisible = '\1';  // around what has no width in a prompt

constexpr char kEscape = '\x1b';
constexpr const char* kSearch = "\x18\x12";  // Ctrl-X Ctrl-R

struct Key {
  const char* typed;
  const char* command;
};
constexpr Key kKeys[] = {
    {"\x1b[200~", "corral-paste"},      {"\x1b\r", "corral-new-line"}, {"\x1b\n", "corral-new-line"},
    {"\t", "corral-complete"},          {"^R", "corral-search"},       {"^W", "ed-delete-prev-word"},
    {"\x1b[H", "ed-move-to-beg"},       {"\x1b[F", "ed-move-to-end"},  {"\x1b[1~", "ed-move-to-beg"},
    {"\x1b[4~", "ed-move-to-end"},      {"\x1b[7~", "ed-move-to-beg"}, {"\x1b[8~", "ed-move-to-end"},
    {"\x1b[3~", "ed-delete-next-char"}, {"\x1b[1;5D", "ed-prev-word"}, {"\x1b[1;5C", "em-next-word"},
    {kSearch, "em-inc-search-prev"},    {"\x1b[1;3D", "ed-prev-word"}, {"\x1b[1;3C", "em-next-word"},
};

// libedit converts between characters and bytes by the locale of the process.
void use_utf8() {
  std::setlocale(LC_CTYPE, "");
  if (MB_CUR_MAX < 4) std::setlocale(LC_CTYPE, "C.UTF-8");
}

// Line ends as "\n", none at the end, and nothing that controls a terminal.
std::string clean_paste(std::string text) {
  for (std::size_t at = 0; (at = text.find("\r\n", at)) != std::string::npos;) text.erase(at, 1);
  std::ranges::replace(text, '\r', '\n');
  text = printable(valid_utf8(text));
  return std::string(trimmed_back(text, "\n"));
}

}  // namespace

struct LineEditor::Editor {
  struct End {
    void operator()(EditLine* el) const { el_end(el); }
    void operator()(History* messages) const { history_end(messages); }
  };

  Editor(StandardInput& from, const MessageHistory& earlier) : input(from), history(history_init()) {
    use_utf8();
    edit.reset(el_init_fd("corral", stdin, stdout, stderr, STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO));
    if (!edit || !history) return;
    HistEvent event;
    ::history(history.get(), &event, H_SETSIZE, static_cast<int>(MessageHistory::kMaxMessages));
    ::history(history.get(), &event, H_SETUNIQUE, 1);
    for (const std::string& message : earlier.read()) add(message);
    EditLine* const el = edit.get();
    el_set(el, EL_CLIENTDATA, this);
    el_set(el, EL_EDITOR, "emacs");
    el_set(el, EL_SIGNAL, 0);  // Ctrl-C comes by StandardInput
    el_set(el, EL_HIST, ::history, history.get());
    el_set(el, EL_GETCFN, &Editor::next);
    el_set(el, EL_PROMPT_ESC, &Editor::prompt_of, kInvisible);
    el_set(el, EL_ADDFN, "corral-paste", "Insert a pasted text", &Editor::paste);
    el_set(el, EL_ADDFN, "corral-new-line", "Insert a line end", &Editor::new_line);
    el_set(el, EL_ADDFN, "corral-search", "Search in earlier messages", &Editor::search);
    el_set(el, EL_ADDFN, "corral-complete", "Complete the command", &Editor::complete);
    el_set(el, EL_SETTY, "-d", "-icrnl", "-inlcr", nullptr);  // the line ends of a pasted text arrive as they are
    for (const Key& key : kKeys) el_set(el, EL_BIND, key.typed, key.command, nullptr);
  }

  void add(std::string_view message) const {
    HistEvent event;
    ::history(history.get(), &event, H_ENTER, std::string(message).c_str());
  }

  InputLine ask(const Prompt& asking) {
    asked = &asking;
    prompt = fmt::format("{}{}{}{}", kInvisible, kMarkPastes, kInvisible, asking.text);
    end = StandardInput::More::yes;
    typed.clear();
    searching = false;
    int count = 0;
    // libedit does it at the first key, after the prompt: keys in between would be the kernel's.
    el_set(edit.get(), EL_PREP_TERM, 1);
    const char* const text = el_gets(edit.get(), &count);
    asking.out << kDontMarkPastes << std::flush;
    asked = nullptr;
    if (text == nullptr || count <= 0) {
      const bool interrupted = end == StandardInput::More::interrupted;
      return {interrupted ? InputLine::Kind::interrupted : InputLine::Kind::end, std::move(typed)};
    }
    std::string line(text, static_cast<std::size_t>(count));
    if (line.ends_with('\n')) line.pop_back();
    return {InputLine::Kind::line, std::move(line)};
  }

  static Editor& of(EditLine* el) {
    void* self = nullptr;
    el_get(el, EL_CLIENTDATA, &self);
    return *static_cast<Editor*>(self);
  }
  static char* prompt_of(EditLine* el) { return of(el).prompt.data(); }

  bool read_byte(char& byte) {
    end = input.read_byte(byte);
    return end == StandardInput::More::yes;
  }

  // For libedit: 1 with a character, 0 at the end of the input, -1 after Ctrl-C.
  static int next(EditLine* el, wchar_t* character) {
    Editor& self = of(el);
    std::string bytes(1, '\0');
    if (!self.read_byte(bytes.back())) {
      const LineInfo* const line = el_line(el);
      self.typed.assign(line->buffer, line->lastchar);
      return self.end == StandardInput::More::end ? 0 : -1;
    }
    if (self.searching) self.end_search(bytes.back());
    el_resize(el);
    while (utf8_step(bytes).open) {
      char byte = 0;
      if (!self.read_byte(byte)) return self.end == StandardInput::More::end ? 0 : -1;
      bytes += byte;
    }
    std::mbstate_t state{};
    if (std::mbrtowc(character, bytes.data(), bytes.size(), &state) > bytes.size()) *character = L'\xFFFD';
    return 1;
  }

  static unsigned char search(EditLine* el, int) {
    of(el).searching = true;
    el_push(el, kSearch);
    return CC_NORM;
  }
  // A key that is several bytes ends libedit's search with its first one, and would insert the others.
  void end_search(char byte) {
    if (byte == kEscape && !input.ready().empty()) input.unread(byte);
    constexpr std::string_view kGoesOn = "\x12\x13\b\x7f";  // earlier, later, one character less
    if (byte < ' ' && !kGoesOn.contains(byte)) searching = false;
  }

  // Up to the mark of its end. Nothing in it is a key.
  static unsigned char paste(EditLine* el, int) {
    std::string text;
    while (!text.ends_with(kEndOfPaste)) {
      char byte = 0;
      if (!of(el).read_byte(byte)) return CC_EOF;
      text += byte;
    }
    text.resize(text.size() - kEndOfPaste.size());
    return insert(el, clean_paste(std::move(text)));
  }

  static unsigned char new_line(EditLine* el, int) { return insert(el, "\n"); }

  // Adds what all candidates have in common, or shows them.
  static unsigned char complete(EditLine* el, int) {
    const Prompt* const asked = of(el).asked;
    if (!asked->complete) return CC_ERROR;
    const LineInfo* const line = el_line(el);
    const std::string typed(line->buffer, line->cursor);
    auto candidates = asked->complete(typed);
    std::erase_if(candidates, [&](const std::string& one) { return !one.starts_with(typed); });
    if (candidates.empty()) return CC_ERROR;
    std::string common = candidates.front();
    for (const std::string& one : candidates) common.erase(std::ranges::mismatch(common, one).in1, common.end());
    if (common.size() > typed.size()) return insert(el, common.substr(typed.size()));
    asked->out << '\n';
    for (const std::string& one : candidates) asked->out << one << "  ";
    asked->out << '\n' << std::flush;
    return CC_REDISPLAY;
  }

  static unsigned char insert(EditLine* el, const std::string& text) {
    return el_insertstr(el, text.c_str()) == 0 ? CC_REFRESH : CC_ERROR;
  }

  StandardInput& input;
  std::unique_ptr<History, End> history;
  std::unique_ptr<EditLine, End> edit;
  std::string prompt;
  const Prompt* asked = nullptr;
  bool searching = false;
  StandardInput::More end = StandardInput::More::yes;  // why there is no character
  std::string typed;                                   // until then
};

LineEditor::LineEditor(StandardInput& input, const MessageHistory& history) : input_(input), history_(history) {}
LineEditor::~LineEditor() = default;

InputLine LineEditor::read_message(const Prompt& prompt) {
  if (!editor_) editor_ = std::make_unique<Editor>(input_, history_);
  if (!editor_->edit || !editor_->history) return LineInput::read_message(prompt);
  return editor_->ask(prompt);
}

void LineEditor::remember(std::string_view message) {
  if (editor_ && editor_->history) editor_->add(message);
  history_.add(message);
}

}  // namespace corral::cli
