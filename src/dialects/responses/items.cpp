#include "dialects/responses/items.h"

#include <string>
#include <string_view>
#include <utility>

#include "protocol/media.h"
#include "protocol/responses/responses_fields.h"
#include "protocol/text_file.h"

namespace corral::dialects::responses {
namespace {

using json::View;
using protocol::Item;

// The object with one text that is the argument of a custom tool.
std::string custom_arguments(View input) {
  std::string text;
  json::Writer out(text);
  out.begin_object().key("input").raw(input.text()).end_object();
  return text;
}

}  // namespace

void Items::instructions(View text) {
  turns_.system();
  turns_.text(text);
}

void Items::input(View items) {
  if (items.is_string()) {
    turns_.user();
    turns_.text(items);
  }
  items.each_element([&](View one) { item(one); });
}

void Items::item(View item) {
  switch (protocol::item_of(item)) {
    case Item::message:
      return message(item);
    case Item::function_call:
      return call(item, false);
    case Item::custom_call:
      return call(item, true);
    case Item::function_output:
    case Item::custom_output:
      return output(item);
    case Item::reasoning:
      return think(item);
    case Item::reference:
      if (const auto found = referred_.find(item.find("id").as_string()); found != referred_.end()) {
        const auto root = found->second.root();
        if (protocol::item_of(root) != Item::reference) this->item(root);
      }
      return;
    case Item::compaction:
      return summary(item.find("encrypted_content").as_string());
    case Item::foreign:
      return;
  }
}

void Items::message(View item) {
  const auto role = item.find("role").as_string();
  if (role == "assistant") {
    turns_.assistant();
  } else if (role == "user") {
    turns_.user();
  } else {
    turns_.system();
  }
  content(item.find("content"));
}

// A text, or parts.
void Items::content(View content) {
  if (content.is_string()) return turns_.text(content);
  content.each_element([&](View part) {
    const auto type = part.find("type").as_string();
    if (type == "input_image") return turns_.image(part.find("image_url"));
    if (type == "input_audio") return turns_.sound(part.find("input_audio"));
    if (type == "input_file") return file(part);
    const auto refusal = part.find("refusal");
    turns_.text(refusal.is_null() ? part.find("text") : refusal);
  });
}

// Like documents of the Messages API: the name, then the text or the picture.
void Items::file(View part) {
  const auto data = part.find("file_data");
  turns_.text(part.find("filename"));
  if (protocol::is_picture_url(data.as_string())) return turns_.image(data);
  if (const auto text = protocol::text_of_file(data.as_string())) add(*text);
}

// The summary stands for the messages of a user and of the assistant.
void Items::summary(std::string_view compacted) {
  const auto text = protocol::summary_in(compacted);
  if (!text || text->empty()) return;
  turns_.user();
  add(std::string("Summary of the conversation so far:\n").append(*text));
}

void Items::closing(std::string_view text) {
  turns_.user();
  add(text);
}

void Items::add(std::string_view text) {
  std::string quoted;
  json::append_quoted(quoted, text);
  auto peek = json::Peek::open(std::move(quoted));
  if (!peek) return;
  texts_.push_back(std::move(*peek));
  turns_.text(texts_.back().root());
}

void Items::call(View item, bool custom) {
  turns_.assistant();
  const auto id = item.find("call_id");
  const auto name = protocol::name_in(item.find("namespace").as_string(), item.find("name").as_string());
  custom ? turns_.call(id, name, custom_arguments(item.find("input")))
         : turns_.call(id, name, item.find("arguments").as_string());
  called_.push_back(id);
}

void Items::output(View item) {
  turns_.result(answered(item.find("call_id")), "", [&] { content(item.find("output")); });
}

// An output without the id of its call belongs to the next call.
View Items::answered(View id) {
  if (answered_ == called_.size()) return id;
  const auto next = called_[answered_];
  if (!id.is_null() && id.as_string() != next.as_string()) return id;
  ++answered_;
  return next;
}

void Items::think(View item) {
  bool any = false;
  const auto take = [&](View texts) {
    texts.each_element([&](View one) {
      const auto text = one.find("text");
      if (text.as_string().empty()) return;
      any = true;
      turns_.assistant();
      turns_.thought(text);
    });
  };
  take(item.find("content"));
  if (!any) take(item.find("summary"));
}

}  // namespace corral::dialects::responses
