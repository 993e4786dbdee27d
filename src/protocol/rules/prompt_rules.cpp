// Prompts and texts to embed in all forms of llama-server: a text; an array of tokens and texts (one prompt); an object
// with one of these ("prompt_string"); an array of these (several prompts).
#include <limits>

#include <fmt/format.h>

#include "protocol/errors.h"
#include "protocol/request_parts.h"
#include "protocol/rules/rules.h"

namespace corral::protocol {
namespace {

using json::Kind;
using json::View;

std::unexpected<Error> refuse_prompt(errc cause, const Path& path, std::string_view problem) {
  auto where = path.text();
  return fail(cause, fmt::format("'{}' {}", where, problem), where);
}

bool holds_tokens(View array) {
  bool found = false;
  array.each_element([&](View element) { return !(found = element.kind() == Kind::integer); });
  return found;
}

// Tokens, and texts between them.
Result<> check_mixed(View array, const Path& path) {
  if (array.empty()) return refuse_prompt(errc::bad_value, path, "is empty: give at least one token");
  Result<> result;
  std::size_t at = 0, texts = 0;
  array.each_element([&](View element) {
    const Path place{&path, {}, at++};
    if (element.is_string()) {
      if (++texts > kMaxPromptTexts) {
        result = refuse_prompt(errc::bad_value, path,
                               fmt::format("has more than {} texts between tokens: join them", kMaxPromptTexts));
      }
    } else if (element.kind() != Kind::integer) {
      result = refuse_prompt(errc::wrong_type, place,
                             fmt::format("must be a token number or a text, not {}: an array with tokens is one prompt",
                                         element.excerpt()));
    } else if (!is_token(element)) {
      result = refuse_prompt(errc::bad_value, place, fmt::format("must be a token number, not {}", element.excerpt()));
    }
    return result.has_value();
  });
  return result;
}

Result<> check_prompt_object(View object, const Path& path) {
  static constexpr Field kFields[] = {
      {.name = "prompt_string", .kinds = kString | kArray, .required = true, .inside = check_plain_prompt},
      {.name = "multimodal_data", .kinds = kArray},
  };
  static const FieldTable table(kFields);
  if (auto fine = table.check(object, path); !fine) return fine;
  if (const auto media = object.find("multimodal_data"); !media.is_null()) {
    const Path place{&path, "multimodal_data"};
    return refuse_prompt(errc::unsupported_value, place, "must be omitted: prompts are text");
  }
  return {};
}

Result<> check_prompt_or_object(View prompt, const Path& path) {
  return prompt.is_object() ? check_prompt_object(prompt, path) : check_plain_prompt(prompt, path);
}

Result<> check_inputs(View value, const Path& path) {
  if (value.is_object() || is_one_prompt(value)) return check_prompt_or_object(value, path);
  return check_each(value, path, check_prompt_or_object);
}

}  // namespace

bool is_token(View value) {
  return value.as_integer() >= 0 && value.as_integer() <= std::numeric_limits<std::int32_t>::max();
}

bool is_one_prompt(View value) { return !value.is_array() || holds_tokens(value); }

std::size_t input_count(View prompt) { return is_one_prompt(prompt) ? 1 : prompt.size(); }

Result<> check_tokens(View tokens, const Path& path) { return tokens.empty() ? Result<>() : check_mixed(tokens, path); }

Result<> check_plain_prompt(View part, const Path& path) {
  if (part.is_string()) return {};
  if (!part.is_array())
    return refuse_prompt(errc::wrong_type, path,
                         fmt::format("must be a text or an array of tokens, not {}", part.excerpt()));
  if (!part.empty() && !holds_tokens(part)) {
    return refuse_prompt(errc::wrong_type, path,
                         fmt::format("must contain tokens, optionally mixed with texts, not {}", part.excerpt()));
  }
  return check_mixed(part, path);
}

Result<> check_prompt(View prompt, const Path& path) {
  if (!prompt.is_array() || !prompt.empty()) return check_inputs(prompt, path);
  return fail(errc::bad_value, "'prompt' must be a string or a non-empty array, not []: give at least one prompt",
              "prompt");
}

Result<> check_texts_to_embed(View value, const Path& path) {
  auto result = check_inputs(value, path);
  if (!result || is_one_prompt(value)) return result;
  std::size_t at = 0;
  value.each_element([&](View text) {
    const Path place{&path, {}, at++};
    if (text.is_string() && text.as_string().empty())
      result = refuse_prompt(errc::bad_value, place, "is empty, there is nothing to embed: omit it");
    return result.has_value();
  });
  return result;
}

Result<> check_extra(View extra, const Path& path) {
  return check_each(extra, path, [](View chunk, const Path& place) -> Result<> {
    static constexpr Field kFields[] = {{.name = "text", .kinds = kString, .required = true},
                                        {.name = "filename", .kinds = kString, .max_bytes = 4096}};
    static const FieldTable table(kFields);
    return table.check(chunk, place);
  });
}

// ---- values

std::vector<std::int32_t> integers(View array) {
  std::vector<std::int32_t> all;
  all.reserve(array.size());
  array.each_element([&](View element) { all.push_back(static_cast<std::int32_t>(element.as_integer())); });
  return all;
}

Input input(View prompt) {
  if (prompt.is_object()) return input(prompt.find("prompt_string"));
  if (!prompt.is_array()) return std::string(prompt.as_string());
  std::vector<InputPart> parts;
  prompt.each_element([&](View element) {
    if (element.is_string()) {
      parts.emplace_back(std::string(element.as_string()));
      return;
    }
    if (parts.empty() || !std::holds_alternative<std::vector<std::int32_t>>(parts.back()))
      parts.emplace_back(std::vector<std::int32_t>());
    std::get<std::vector<std::int32_t>>(parts.back()).push_back(static_cast<std::int32_t>(element.as_integer()));
  });
  if (parts.size() == 1 && parts.front().index() == 1) return std::get<1>(std::move(parts.front()));
  return parts;
}

std::vector<Input> inputs(View value) {
  std::vector<Input> all;
  if (is_one_prompt(value)) {
    all.push_back(input(value));
    return all;
  }
  all.reserve(value.size());
  value.each_element([&](View element) { all.push_back(input(element)); });
  return all;
}

}  // namespace corral::protocol
