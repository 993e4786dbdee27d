// Converts canonical answers to Anthropic's messages, whole and in events:
//
//   message_start, then for each block content_block_start, content_block_delta..., content_block_stop, then
//   message_delta (stop reason and usage) and message_stop. ping and error may come anywhere after the first.
//
// Thoughts, text and tool calls are blocks in order of arrival. message_start has the number of prompt tokens if known
// by then (not while the model loads); message_delta has all numbers.
#pragma once

#include <memory>

#include "dialects/dialect.h"

namespace corral::dialects::anthropic {

// `request`: as read_message() made it.
std::unique_ptr<ResponseTranslator> make_message_translator(const Canonical& request);

}  // namespace corral::dialects::anthropic
