// Canonical answers as Anthropic's messages, whole and in events:
//
//   message_start, then for each block content_block_start, content_block_delta..., content_block_stop, then
//   message_delta (why it ended, what it cost) and message_stop. ping and error come anywhere behind the first.
//
// Thoughts, text and calls of tools are blocks in the order in which they come. message_start has the prompt's tokens
// if they are known by then (they aren't while the model loads); message_delta has all numbers.
#pragma once

#include <memory>

#include "dialects/dialect.h"

namespace corral::dialects::anthropic {

// `request`: as read_message() made it.
std::unique_ptr<ResponseTranslator> tell_message(const Canonical& request);

}  // namespace corral::dialects::anthropic
