// OpenAI's Responses API.
#include <array>

#include "dialects/responses/compaction.h"
#include "dialects/responses/read.h"
#include "dialects/responses/response_translator.h"

namespace corral::dialects {
namespace {

constexpr auto kEndpoints = std::to_array<Endpoint>({
    // The canonical answer is OpenAI's.
    {.path = "responses/input_tokens",
     .ask = protocol::Ask::chat_tokens,
     .read = responses::read_response_count,
     .read_on = responses::read_response_count_on},
    {.path = "responses/compact",
     .ask = protocol::Ask::chat,
     .read = responses::read_compaction,
     .make_translator = responses::make_compaction_translator,
     .read_on = responses::read_compaction_on},
    {.path = "responses",
     .ask = protocol::Ask::chat,
     .read = responses::read_response,
     .streams = true,
     .make_translator = responses::make_response_translator,
     .read_on = responses::read_response_on},
    // llama-server's paths.
    {.path = "/responses/input_tokens",
     .ask = protocol::Ask::chat_tokens,
     .read = responses::read_response_count,
     .read_on = responses::read_response_count_on},
    {.path = "/responses",
     .ask = protocol::Ask::chat,
     .read = responses::read_response,
     .streams = true,
     .make_translator = responses::make_response_translator,
     .read_on = responses::read_response_on},
});

}  // namespace

const Dialect& responses_dialect() {
  static constexpr Dialect dialect{"responses", kEndpoints};
  return dialect;
}

}  // namespace corral::dialects
