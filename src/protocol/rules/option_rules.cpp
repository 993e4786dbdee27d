// Rules for generation options: samplers, triggers, and unsupported fields.
#include <set>

#include <fmt/format.h>

#include "base/sampler_kind.h"
#include "protocol/errors.h"
#include "protocol/rules/rules.h"

namespace corral::protocol {
namespace {

std::unexpected<Error> decline(json::View value, const Path& path, std::string_view reason) {
  auto where = path.text();
  auto message = fmt::format("'{}' must be omitted, not {}: {}", where, value.excerpt(), reason);
  return fail(errc::unsupported_value, std::move(message), std::move(where));
}

Result<> check_trigger(json::View trigger, const Path& path) {
  static constexpr Field kFields[] = {
      {.name = "type", .kinds = kInteger, .required = true, .min = 0, .max = 3},
      {.name = "value", .kinds = kString, .required = true, .max_bytes = 512},
      {.name = "token", .kinds = kInteger, .min = 0, .max = 2147483647.0},
  };
  static const FieldTable table(kFields);
  if (auto fine = table.check(trigger, path); !fine) return fine;
  if (trigger.find("type").as_integer() != 0 || !trigger.find("token").is_null()) return {};
  auto where = Path{&path, "token"}.text();
  return fail(errc::missing_field, fmt::format("'{}' is required: a trigger of type 0 is a token", where), where);
}

}  // namespace

Result<> check_samplers(json::View samplers, const Path& path) {
  Result<> result;
  const auto unknown = [&](std::string_view text, std::string where) {
    auto message = fmt::format("'{}' must be a sampler, not \"{}\"; available: {}", where, text, sampler_list());
    result = fail(errc::bad_value, std::move(message), std::move(where));
    return false;
  };
  // Some samplers sort the whole vocabulary at every token, so each may occur once.
  std::set<SamplerKind> seen;
  const auto twice = [&](std::string_view text, std::string where) {
    auto message = fmt::format("'{}' has \"{}\" twice: name each step once", where, text);
    result = fail(errc::bad_value, std::move(message), std::move(where));
    return false;
  };
  for (const char letter : samplers.as_string()) {
    const auto kind = sampler_lettered(letter);
    if (!kind && !unknown({&letter, 1}, path.text())) break;
    if (!seen.insert(*kind).second && !twice({&letter, 1}, path.text())) break;
  }
  std::size_t at = 0;
  samplers.each_element([&](json::View name) {
    const Path place{&path, {}, at++};
    const auto kind = sampler_named(name.as_string());
    if (!kind) return unknown(name.as_string(), place.text());
    return seen.insert(*kind).second || twice(name.as_string(), place.text());
  });
  return result;
}

Result<> check_triggers(json::View triggers, const Path& path) {
  Result<> result;
  std::size_t at = 0;
  triggers.each_element([&](json::View trigger) {
    result = check_trigger(trigger, Path{&path, {}, at++});
    return result.has_value();
  });
  return result;
}

Result<> check_modalities(json::View modalities, const Path& path) {
  Result<> result;
  modalities.each_element([&](json::View one) {
    if (one.as_string() != "text") result = decline(modalities, path, "output is text");
  });
  return result;
}

Result<> check_lora(json::View lora, const Path& path) {
  return check_each(lora, path, [](json::View one, const Path& place) -> Result<> {
    static constexpr Field kFields[] = {
        {.name = "id", .kinds = kInteger, .required = true, .min = 0, .max = kMaxAdapters - 1},
        {.name = "scale", .kinds = kNumber, .min = -kLarge, .max = kLarge},
    };
    static const FieldTable table(kFields);
    return table.check(one, place);
  });
}

Result<> decline_indent(json::View indent, const Path& path) {
  if (indent.as_integer() == 0) return {};
  return decline(indent, path, "lines are not cut by indentation; use 'stop' or a grammar");
}

Result<> decline_budget(json::View budget, const Path& path) {
  if (budget.as_integer() < 0) return {};
  return decline(budget, path, "thinking has no budget; disable it with 'enable_thinking'");
}

Result<> decline_functions(json::View functions, const Path& path) {
  if (functions.empty()) return {};
  return decline(functions, path, "give functions in 'tools'");
}

Result<> check_template_kwargs(json::View kwargs, const Path& path) {
  if (const auto bytes = kwargs.bytes(); bytes > kMaxTemplateBytes) {
    auto where = path.text();
    auto message = fmt::format("'{}' has {} bytes, at most {} are allowed: put long text into 'messages'", where, bytes,
                               kMaxTemplateBytes);
    return fail(errc::bad_value, std::move(message), std::move(where));
  }
  const auto thinking = kwargs.find("enable_thinking");
  if (thinking.is_null() || thinking.kind() == json::Kind::boolean) return {};
  auto where = Path{&path, "enable_thinking"}.text();
  auto message = fmt::format("'{}' must be true or false, not {}", where, thinking.excerpt());
  return fail(errc::wrong_type, std::move(message), std::move(where));
}

}  // namespace corral::protocol
