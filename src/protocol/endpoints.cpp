// The tables of the endpoints without generation.
#include <fmt/format.h>

#include "protocol/errors.h"
#include "protocol/field_parts.h"
#include "protocol/forms.h"
#include "protocol/rules/rules.h"

namespace corral::protocol {
namespace {

// Maximum number of texts in one request for embeddings or reranking; also of tokens of a given text.
constexpr std::size_t kMaxTexts = 1 << 16;

constexpr Field kTextsToEmbed{
    .name = "input",
    .kinds = kString | kArray | kObject,
    .min_size = 1,
    .max_size = kMaxTexts,
    .elements = kString | kInteger | kArray | kObject,
    .inside = check_texts_to_embed,
    .about = "a text, tokens (optionally mixed with texts), an object with these (`prompt_string`), or a list of these",
    .instead = "send several requests"};
constexpr auto kEmbedding = std::to_array<Field>({
    kModelField,
    kContextField,
    {.name = "encoding_format",
     .kinds = kString,
     .choices = "float|base64",
     .about = "numbers, or 32-bit floats in base64"},
    {.name = "dimensions",
     .kinds = kInteger,
     .min = 1,
     .max = kMaxInt32,
     .about = "at most the size of the model's embeddings; smaller: the first numbers, normalised"},
    {.name = "truncate", .kinds = kBoolean, .about = "true: a text that is too long for the model is truncated"},
    {.name = "embd_normalize",
     .kinds = kInteger,
     .min = -1,
     .max = 64,
     .about = "-1: no normalisation; 0: the largest becomes 32760; 1, 2, …: this norm becomes 1. The default is 2"},
});

constexpr Field named(Field field, std::string_view name, std::string_view about) {
  field.name = name;
  field.about = about;
  return field;
}

constexpr Field required(Field field) {
  field.required = true;
  return field;
}

Result<> check_voice(json::View voice, const Path& path) {
  if (!voice.is_object() || voice.find("id").is_string()) return {};
  return fail(errc::bad_value, fmt::format("'{}' must be the name of a voice, or an object with its 'id'", path.text()),
              path.text());
}

Result<> check_native_embedding(json::View body) {
  const bool given = !body.find("input").is_null() || !body.find("content").is_null();
  if (given) return {};
  return fail(errc::missing_field, "'content' is required: a text, tokens, or a list of these", "content");
}

}  // namespace

const FieldTable& embedding_fields() {
  static constexpr auto kFields = kEmbedding + std::to_array<Field>({required(kTextsToEmbed)});
  static const FieldTable table(kFields);
  return table;
}

const FieldTable& native_embedding_fields() {
  static constexpr auto kFields =
      kEmbedding + std::to_array<Field>(
                       {kTextsToEmbed, named(kTextsToEmbed, "content", "the same as `input`, which takes precedence")});
  static const FieldTable table(kFields, check_native_embedding);
  return table;
}

const FieldTable& rerank_fields() {
  static constexpr Field kFields[] = {
      kModelField,
      kContextField,
      {.name = "query",
       .kinds = kString,
       .required = true,
       .min_size = 1,
       .about = "text that the documents are compared with"},
      {.name = "documents",
       .kinds = kArray,
       .min_size = 1,
       .max_size = kMaxTexts,
       .elements = kString | kObject,
       .inside = check_documents,
       .about = "texts, or objects with `text`; required unless there are `texts`",
       .instead = "send several requests"},
      {.name = "texts",
       .kinds = kArray,
       .min_size = 1,
       .max_size = kMaxTexts,
       .elements = kString,
       .about = "alternative to `documents`, as in text-embeddings-inference: the response is a list of objects with "
                "`index` and `score`",
       .instead = "send several requests"},
      {.name = "top_n",
       .kinds = kInteger,
       .min = 1,
       .max = kMaxInt32,
       .about = "maximum number of results, best first"},
      {.name = "return_documents", .kinds = kBoolean, .about = "return the texts with their scores"},
      {.name = "return_text", .kinds = kBoolean, .about = "the same"},
      {.name = "raw_scores",
       .kinds = kBoolean,
       .about = "false, and always for `/v2/rerank`: scores between 0 and 1 (logistic function); else the raw scores "
                "of the model"},
      {.name = "truncate", .kinds = kBoolean, .about = "no effect: a text that is too long is rejected"},
  };
  static const FieldTable table(kFields, check_documents_or_texts);
  return table;
}

const FieldTable& speech_fields() {
  static constexpr Field kFields[] = {
      kModelField,
      {.name = "input",
       .kinds = kString,
       .required = true,
       .min_size = 1,
       .max_bytes = 64 * 1024,
       .about = "the text to speak",
       .instead = "send it in pieces"},
      {.name = "voice",
       .kinds = kString | kObject,
       .max_bytes = 256,
       .inside = check_voice,
       .about = "a name from GET audio/voices, such as fr or de+f3 of espeak-ng, or an object with its `id`; OpenAI's "
                "names map to some of them. Default: the first voice of the model"},
      {.name = "response_format",
       .kinds = kString,
       .choices = "mp3|opus|aac|flac|wav|pcm",
       .about = "default: mp3. pcm: 16-bit samples, 24,000 per second, one channel. opus, aac and flac need ffmpeg on "
                "the server, unless the backend makes them itself"},
      {.name = "speed", .kinds = kNumber, .min = 0.25, .max = 4, .about = "1 is the normal speed"},
      {.name = "instructions", .kinds = kString, .max_bytes = 64 * 1024, .about = "for backends that support them"},
      {.name = "stream_format",
       .kinds = kString,
       .choices = "audio",
       .about = "audio is sent as it is generated; events are not supported"},
  };
  static const FieldTable table(kFields);
  return table;
}

const FieldTable& tokenize_fields() {
  static constexpr Field kFields[] = {
      kModelField,
      {.name = "content",
       .kinds = kString,
       .required = true,
       .max_bytes = 2 << 20,
       .about = "the text",
       .instead = "send it in pieces"},
      {.name = "add_special", .kinds = kBoolean, .about = "add BOS and other special tokens, as the model requires"},
      {.name = "parse_special", .kinds = kBoolean, .about = "false: control tokens in the text are plain text"},
      {.name = "with_pieces", .kinds = kBoolean, .about = "return the text of each token"},
  };
  static const FieldTable table(kFields);
  return table;
}

const FieldTable& detokenize_fields() {
  static constexpr Field kFields[] = {
      kModelField,
      {.name = "tokens",
       .kinds = kArray,
       .required = true,
       .max_size = 1 << 20,
       .elements = kInteger,
       .inside = check_tokens,
       .about = "token numbers",
       .instead = "send them in pieces"},
  };
  static const FieldTable table(kFields);
  return table;
}

}  // namespace corral::protocol
