#include "dialects/ollama/messages.h"

#include <algorithm>
#include <string>
#include <vector>

#include "protocol/media.h"

namespace corral::dialects::ollama {
namespace {

using json::View;

// Of a picture that passed the checks of fields.cpp.
std::string data_url(std::string_view image) {
  if (image.starts_with("data:")) return std::string(image);
  std::string url = "data:";
  url.append(protocol::picture_type_of_base64(image)).append(";base64,").append(image);
  return url;
}

// Finds the call that a tool's message answers. Ollama identifies it by the function's name, or only by order.
class Calls {
 public:
  // Begins the calls of an assistant's message; earlier calls are answered or never will be.
  void begin() { open_.clear(); }
  std::string add(View call) {
    std::string id(call.find("id").as_string());
    if (id.empty()) id = "call_" + std::to_string(count_);
    ++count_;
    open_.push_back({id, std::string(call.find("function").find("name").as_string())});
    return id;
  }
  // Empty: no such call.
  std::string answered(View message) {
    const auto id = message.find("tool_call_id").as_string();
    if (!id.empty()) return std::string(id);
    const auto name = message.find("tool_name").as_string();
    auto open = std::ranges::find_if(open_, [&](const Open& call) { return name.empty() || call.name == name; });
    if (open == open_.end()) return {};
    auto found = std::move(open->id);
    open_.erase(open);
    return found;
  }

 private:
  struct Open {
    std::string id, name;
  };
  std::vector<Open> open_;
  std::size_t count_ = 0;
};

void write_calls(json::Writer& out, View calls, Calls& known) {
  known.begin();
  if (calls.empty()) return;
  out.key("tool_calls").begin_array();
  calls.each_element([&](View call) {
    const auto function = call.find("function");
    const auto arguments = function.find("arguments");
    out.begin_object().field("id", known.add(call)).field("type", "function").key("function").begin_object();
    out.field("name", function.find("name").as_string());
    out.field("arguments", arguments.is_null() ? std::string("{}") : arguments.text()).end_object().end_object();
  });
  out.end_array();
}

void write_message(json::Writer& out, View message, Calls& calls) {
  const auto role = message.find("role").as_string();
  out.begin_object().field("role", role);
  write_content(out, message.find("content").as_string(), message.find("images"));
  if (role == "assistant") {
    if (const auto thinking = message.find("thinking").as_string(); !thinking.empty())
      out.field("reasoning_content", thinking);
    write_calls(out, message.find("tool_calls"), calls);
  } else if (role == "tool") {
    if (const auto id = calls.answered(message); !id.empty()) out.field("tool_call_id", id);
    if (const auto name = message.find("tool_name").as_string(); !name.empty()) out.field("name", name);
  }
  out.end_object();
}

}  // namespace

void write_content(json::Writer& out, std::string_view text, View images) {
  out.key("content");
  if (images.empty()) {
    out.value(text);
    return;
  }
  out.begin_array();
  if (!text.empty()) out.begin_object().field("type", "text").field("text", text).end_object();
  images.each_element([&](View image) {
    out.begin_object().field("type", "image_url").key("image_url").begin_object();
    out.field("url", data_url(image.as_string())).end_object().end_object();
  });
  out.end_array();
}

Begun write_messages(json::Writer& out, View messages) {
  Calls calls;
  View last;
  messages.each_element([&](View message) {
    write_message(out, message, calls);
    last = message;
  });
  if (last.find("role").as_string() != "assistant" || !last.find("tool_calls").empty()) return {};
  return {std::string(last.find("content").as_string()), std::string(last.find("thinking").as_string())};
}

}  // namespace corral::dialects::ollama
