// Pictures and sounds of chats: taken out of the messages before a template renders them, and put into the prompt where
// the template has left their markers. Prompts have the same tokens as those of llama-server.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "engine/kv/media_span.h"
#include "engine/service/inference_engine.h"
#include "engine_server/preparation/prompt_tokens.h"
#include "protocol/requests.h"

namespace corral::engine_server {

struct MediaFile {
  std::string bytes;
  std::string param;  // the field that has it: "messages[0].content[1].image_url"
};

// A text that marks a picture or sound in a prompt; no client can know it.
const std::string& media_marker();

// Takes the files out of the request's messages, where `marker` takes their places. Errors: no_media (the model doesn't
// take this kind); bad_value (no data URL with base64, too many).
Result<std::vector<MediaFile>> take_media(protocol::ChatRequest& request, const engine::ModelFacts& facts,
                                          std::string_view marker);

struct MediaPrompt {
  std::vector<engine::Token> tokens;
  std::vector<engine::MediaSpan> media;
};
// The tokens of a prompt that a template has made, with the files at its markers. `max` tokens fit; 0: any number,
// which are counted only, so `media` stays empty. Of an engine without weights: only the tokens of text. Errors: those
// of PromptTokens::tokenize; bad_value and no_media for a file; render_failed, if the template has left markers out;
// context_length_exceeded.
Result<MediaPrompt> tokens_with_media(const PromptTokens& tokens, std::string_view prompt,
                                      std::span<const MediaFile> files, std::size_t max, const CancelToken& stop);

}  // namespace corral::engine_server
