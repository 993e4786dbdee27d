#include "dialects/ollama/requests.h"

#include <memory>
#include <utility>

#include "dialects/ollama/canonical.h"
#include "dialects/ollama/conversation.h"
#include "dialects/ollama/fields.h"
#include "dialects/ollama/messages.h"
#include "dialects/ollama/plain_template.h"
#include "protocol/errors.h"

namespace corral::dialects::ollama {
namespace {

using json::View;

Result<Canonical> make_chat(View body) {
  const auto messages = body.find("messages");
  if (messages.empty()) return only_keeping(body);
  std::string text;
  text.reserve(body.bytes() + 256);
  json::Writer out(text);
  out.begin_object();
  write_settings(out, body, true);
  if (const auto tools = body.find("tools"); !tools.empty()) out.key("tools").raw(tools.text());
  out.key("messages").begin_array();
  auto begun = write_messages(out, messages);
  out.end_array();
  if (begun.any()) out.field("continue_final_message", true);
  out.end_object();
  auto asked = finished(std::move(text), protocol::chat_fields(), body);
  if (asked) asked->begun = std::move(begun);
  return asked;
}

// ---- generate

Result<> check_alone(View body, std::string_view with, std::initializer_list<std::string_view> names) {
  for (const auto name : names) {
    const auto value = body.find(name);
    if (value.is_string() ? value.as_string().empty() : value.empty()) continue;
    return fail(
        protocol::errc::bad_value,
        std::string("'").append(name).append("' cannot be combined with ").append(with).append(": omit one of them"),
        std::string(name));
  }
  return {};
}

// A text that the model continues without a template.
Result<Canonical> make_raw(View body, std::string_view prompt, std::string_view suffix) {
  std::string text;
  text.reserve(body.bytes() + 256);
  json::Writer out(text);
  out.begin_object();
  write_settings(out, body, false);
  out.field("prompt", prompt);
  if (!suffix.empty()) out.field("suffix", suffix);
  out.end_object();
  auto asked = finished_prompt(std::move(text), protocol::completion_fields(), body);
  if (asked) asked->ask = protocol::Ask::completion;
  return asked;
}

// A prompt as the last message of a chat, after the context.
Result<Canonical> make_prompt(View body) {
  auto conversation = read_context(body.find("context"));
  if (!conversation) return std::unexpected(std::move(conversation.error()));
  const auto prompt = body.find("prompt").as_string();
  std::string text;
  text.reserve(body.bytes() + conversation->size() + 256);
  json::Writer out(text);
  out.begin_object();
  write_settings(out, body, true);
  out.key("messages").begin_array();
  if (const auto system = body.find("system").as_string(); !system.empty()) out.raw(message("system", system));
  if (!conversation->empty()) out.raw(*conversation);
  out.begin_object().field("role", "user");
  write_content(out, prompt, body.find("images"));
  out.end_object().end_array().end_object();
  auto asked = finished_prompt(std::move(text), protocol::chat_fields(), body);
  if (!asked) return asked;
  if (conversation->size() + prompt.size() > kMaxConversation) return asked;
  if (!conversation->empty()) conversation->push_back(',');
  conversation->append(message("user", prompt));
  asked->facts = std::make_shared<const std::string>(std::move(*conversation));
  return asked;
}

Result<Canonical> make_generate(View body) {
  const auto prompt = body.find("prompt").as_string(), suffix = body.find("suffix").as_string();
  const auto own_template = body.find("template").as_string();
  if (prompt.empty() && suffix.empty() && body.find("images").empty()) return only_keeping(body);
  if (body.find("raw").as_bool()) {
    if (auto fine = check_alone(body, "'raw'", {"template", "system", "context", "images"}); !fine)
      return std::unexpected(std::move(fine.error()));
    return make_raw(body, prompt, suffix);
  }
  if (!suffix.empty()) return make_raw(body, prompt, suffix);
  if (own_template.empty()) return make_prompt(body);
  if (auto fine = check_alone(body, "'template'", {"context", "images"}); !fine)
    return std::unexpected(std::move(fine.error()));
  const auto filled = fill_template(own_template, body.find("system").as_string(), prompt);
  if (!filled) return std::unexpected(filled.error());
  return make_raw(body, *filled, {});
}

// ---- embed

Result<Canonical> make_embedding(View body, View input, bool normalised) {
  if (input.is_string() ? input.as_string().empty() : input.empty()) return only_keeping(body);
  std::string text;
  text.reserve(body.bytes() + 64);
  json::Writer out(text);
  out.begin_object();
  if (const auto model = body.find("model").as_string(); !model.empty()) out.field("model", model);
  if (const auto dimensions = body.find("dimensions"); !dimensions.is_null())
    out.key("dimensions").raw(dimensions.text());
  if (!normalised) out.field("embd_normalize", -1);
  // /api/embed cuts a text that is too long, unless the request says otherwise.
  const auto truncate = body.find("truncate");
  if (normalised && (truncate.is_null() || truncate.as_bool())) out.field("truncate", true);
  out.key("input").raw(input.text()).end_object();
  const auto finish = normalised ? finished : finished_prompt;
  return finish(std::move(text), protocol::embedding_fields(), body);
}

Result<Canonical> make_embed(View body) { return make_embedding(body, body.find("input"), true); }
Result<Canonical> make_old_embedding(View body) { return make_embedding(body, body.find("prompt"), false); }

}  // namespace

Result<Canonical> read_chat(std::string body) { return read(std::move(body), chat_fields(), make_chat); }
Result<Canonical> read_generate(std::string body) { return read(std::move(body), generate_fields(), make_generate); }
Result<Canonical> read_embed(std::string body) { return read(std::move(body), embed_fields(), make_embed); }
Result<Canonical> read_old_embedding(std::string body) {
  return read(std::move(body), old_embedding_fields(), make_old_embedding);
}

}  // namespace corral::dialects::ollama
