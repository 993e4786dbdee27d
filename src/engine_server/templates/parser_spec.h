// The only header of this folder that includes llama-common; for chat_template.cpp, chat_parser.cpp and their tests.
#pragma once

#include <chat.h>

#include "engine_server/templates/chat_template.h"

namespace corral::engine_server {

struct ParserSpec {
  common_chat_parser_params params;
  bool has_tools = false;         // tool calls may come
  bool legacy_reasoning = false;  // "deepseek-legacy"
};

}  // namespace corral::engine_server
