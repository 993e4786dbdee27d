#include "dialects/turns.h"

#include <algorithm>
#include <array>

namespace corral::dialects {
namespace {

using json::View;

// In the order of Turns::Role.
constexpr auto kRoles = std::to_array<std::string_view>({"", "system", "user", "assistant"});

// The text of a JSON string, without its quotes.
void append_inside(std::string& out, View text) {
  const auto spelled = text.text();
  out.append(spelled, 1, spelled.size() - 2);
}

std::string spelled_together(const std::vector<View>& texts) {
  std::string out = "\"";
  for (const View text : texts) {
    if (out.size() > 1) out.append("\\n");
    append_inside(out, text);
  }
  return out += '"';
}

void add_line(std::string& out, std::string_view line) {
  if (!out.empty()) out.push_back('\n');
  out.append(line);
}

}  // namespace

void Turns::system() {
  reminding_ = conversing_;
  if (!conversing_) open(Role::system);
}

void Turns::user() { open(Role::user); }
void Turns::assistant() { open(Role::assistant); }

void Turns::text(View text) {
  if (text.as_string().empty()) return;
  const bool reminds = reminding_;
  if (reminds) user();
  reminding_ = reminds;
  parts_.push_back({reminds ? Part::Kind::reminder : Part::Kind::text, text});
}

void Turns::image(View url) { parts_.push_back({Part::Kind::url, url}); }
void Turns::image(View media_type, View base64) { parts_.push_back({Part::Kind::base64, base64, media_type}); }
void Turns::sound(View sound) { parts_.push_back({Part::Kind::sound, sound}); }

void Turns::thought(View text) {
  if (!text.as_string().empty()) thoughts_.push_back(text);
}

void Turns::call(View id, std::string_view name, std::string_view arguments) {
  if (!calls_.empty()) calls_.push_back(',');
  json::Writer out(calls_);
  out.begin_object().key("id").raw(id.text()).field("type", "function").key("function").begin_object();
  out.field("name", name).field("arguments", arguments).end_object().end_object();
}

std::vector<Turns::Part> Turns::begin_result() {
  // Texts of the user wait, because results come right after their calls.
  if (role_ != Role::user) close();
  conversing_ = true;
  reminding_ = false;
  return std::exchange(parts_, {});
}

void Turns::end_result(View id, std::string_view in_front, std::vector<Part> waiting) {
  out_.begin_object().field("role", "tool");
  if (!id.is_null()) out_.key("tool_call_id").raw(id.text());
  out_.key("content").raw(content(in_front)).end_object();
  parts_ = std::move(waiting);
}

Begun Turns::end() {
  Begun begun;
  if (role_ == Role::assistant && calls_.empty()) {
    if (parts_.empty() && thoughts_.empty()) role_ = Role::none;
    for (const auto& part : parts_) {
      if (part.is_text()) add_line(begun.content, part.view.as_string());
    }
    for (const auto& thought : thoughts_) add_line(begun.thoughts, thought.as_string());
  }
  close();
  return begun;
}

void Turns::open(Role role) {
  reminding_ = false;
  conversing_ = conversing_ || role != Role::system;
  if (role_ == role) return;
  close();
  role_ = role;
}

void Turns::close() {
  const bool nothing = role_ == Role::none || (role_ == Role::system && parts_.empty());
  if (!nothing) {
    out_.begin_object().field("role", kRoles[static_cast<std::size_t>(role_)]).key("content");
    parts_.empty() && !calls_.empty() ? out_.null() : out_.raw(content());
    if (!thoughts_.empty()) out_.key("reasoning_content").raw(spelled_together(thoughts_));
    if (!calls_.empty()) out_.key("tool_calls").begin_array().raw(calls_).end_array();
    out_.end_object();
  }
  role_ = Role::none;
  parts_.clear();
  thoughts_.clear();
  calls_.clear();
}

// Between quotes.
void Turns::append_text(std::string& out, const Part& part) {
  const bool reminder = part.kind == Part::Kind::reminder;
  if (reminder) out.append("<system-reminder>\\n");
  append_inside(out, part.view);
  if (reminder) out.append("\\n</system-reminder>");
}

void Turns::write_media(json::Writer& out, const Part& part) {
  if (part.kind == Part::Kind::sound) {
    out.field("type", "input_audio").key("input_audio").raw(part.view.text());
    return;
  }
  out.field("type", "image_url").key("image_url").begin_object().key("url");
  if (part.kind == Part::Kind::url) {
    out.raw(part.view.text());
  } else {
    std::string url = "data:";
    url.append(part.type.as_string()).append(";base64,").append(part.view.as_string());
    out.value(url);
  }
  out.end_object();
}

std::string Turns::content(std::string_view in_front) const {
  std::string text;
  if (std::ranges::all_of(parts_, &Part::is_text)) {
    text.append("\"").append(in_front);
    bool first = true;
    for (const auto& part : parts_) {
      if (!std::exchange(first, false)) text.append("\\n");
      append_text(text, part);
    }
    return text += '"';
  }
  json::Writer out(text);
  out.begin_array();
  if (!in_front.empty()) out.begin_object().field("type", "text").field("text", in_front).end_object();
  for (const auto& part : parts_) {
    out.begin_object();
    if (part.is_text()) {
      std::string quoted = "\"";
      append_text(quoted, part);
      out.field("type", "text").key("text").raw(quoted += '"');
    } else {
      write_media(out, part);
    }
    out.end_object();
  }
  out.end_array();
  return text;
}

}  // namespace corral::dialects
