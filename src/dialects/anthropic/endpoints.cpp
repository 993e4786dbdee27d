// Anthropic's Messages API.
#include <array>

#include "dialects/anthropic/count_translator.h"
#include "dialects/anthropic/message_translator.h"
#include "dialects/anthropic/read.h"

namespace corral::dialects::anthropic {
namespace {

using protocol::Ask;

constexpr auto kEndpoints = std::to_array<Endpoint>({
    {"messages", Ask::chat, read_message, true, make_message_translator},
    {"messages/count_tokens", Ask::chat_tokens, read_count, false, make_count_translator},
});

}  // namespace
}  // namespace corral::dialects::anthropic

namespace corral::dialects {

const Dialect& anthropic_dialect() {
  static constexpr Dialect dialect{"anthropic", anthropic::kEndpoints};
  return dialect;
}

}  // namespace corral::dialects
