// Chats of all dialects: what the field tables take, the library that fills chat templates takes as well, and every
// call has an object as its arguments.
#include <cstdint>
#include <cstdlib>
#include <string>

#include <chat.h>

#include "dialects/dialect.h"
#include "protocol/requests.h"

namespace {

using namespace corral;

void check_read(const protocol::ChatRequest& request) {
  const auto messages = common_chat_msgs_parse_oaicompat(common_json::parse(request.messages));
  for (const auto& message : messages) {
    for (const auto& call : message.tool_calls) {
      if (!common_json::parse(call.arguments).is_object()) std::abort();
    }
  }
  if (!request.tools.empty()) common_chat_tools_parse_oaicompat(common_json::parse(request.tools));
  if (!request.json_schema.text.empty()) common_json::parse(request.json_schema.text);
  for (const auto& [name, value] : request.template_kwargs) common_json::parse(value);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const auto* dialect : dialects::all()) {
    for (const auto& endpoint : dialect->endpoints) {
      if (endpoint.ask != protocol::Ask::chat || endpoint.read == nullptr) continue;
      const auto asked = endpoint.read(text);
      if (!asked || asked->only_keeps || asked->ask.value_or(endpoint.ask) != protocol::Ask::chat) continue;
      const auto request = protocol::parse_chat_request(asked->body);
      if (!request) std::abort();
      if (!request->has_media) check_read(*request);
    }
  }
  return 0;
}
