#include "dialects/ollama/canonical.h"

#include <algorithm>
#include <array>
#include <memory>

#include "dialects/canonical_body.h"
#include "dialects/ollama/fields.h"
#include "dialects/ollama/keep_alive.h"

namespace corral::dialects::ollama {
namespace {

using json::View;

constexpr auto kRenamed = std::to_array<Renamed>({
    {"response_format.json_schema.schema", "format"},
    {"response_format.schema", "format"},
    {"response_format", "format"},
    {"json_schema", "format"},
    {"reasoning_effort", "think"},
    {"enable_thinking", "think"},
    {"stop", "options.stop"},
    {"ctx_size", "options.num_ctx"},
});
constexpr auto kPrompts = std::to_array<Renamed>({
    {"messages", "images", false, "media_not_supported"},
    {"messages", "prompt", false},
    {"input", "prompt", false},
});

void write_option(json::Writer& out, const OptionRow& row, View value) {
  out.key(row.canonical);
  if (!row.whole) {
    const auto number = value.as_number();
    const auto taken = std::clamp(number, row.min, row.max);
    taken == number ? out.raw(value.text()) : out.value(taken);
    return;
  }
  auto number = value.as_integer();
  // In Ollama only values above 0 are limits.
  if (row.name == "num_predict" && number <= 0) number = -1;
  out.value(number);
}

void write_format(json::Writer& out, View format) {
  if (format.is_object()) {
    out.key("response_format").begin_object().field("type", "json_schema").key("json_schema").begin_object();
    out.key("schema").raw(format.text()).end_object().end_object();
  } else if (format.as_string() == "json") {
    out.key("response_format").begin_object().field("type", "json_object").end_object();
  }
}

// Chats and completions have different fields for it.
void write_logprobs(json::Writer& out, View body, bool chat) {
  const auto top = body.find("top_logprobs");
  const bool wanted = body.find("logprobs").as_bool();
  if (chat) {
    if (wanted) out.field("logprobs", true);
    if (!top.is_null()) out.field("top_logprobs", top.as_integer());
  } else if (wanted) {
    out.field("n_probs", std::max<std::int64_t>(top.as_integer(), 1));
  }
}

void write_thinking(json::Writer& out, View think) {
  if (think.is_null()) return;
  out.field("enable_thinking", think.is_string() || think.as_bool());
  if (think.is_string()) out.field("reasoning_effort", think.as_string());
}

Result<> fill(Canonical& asked, View body) {
  if (const auto keep = body.find("keep_alive"); !keep.is_null()) {
    const auto time = parse_keep_alive(keep);
    if (!time) return std::unexpected(time.error());
    asked.keep = *time;
  }
  const auto context = body.find("options").find("num_ctx");
  asked.about.context = static_cast<std::uint64_t>(std::max<std::int64_t>(context.as_integer(), 0));
  asked.modest_context = true;
  return {};
}

}  // namespace

void write_options(json::Writer& out, View options) {
  if (!options.is_object()) return;
  for (const auto& row : option_rows()) {
    if (const auto value = options.find(row.name); !value.is_null()) write_option(out, row, value);
  }
  if (const auto stop = options.find("stop"); !stop.is_null()) out.key("stop").raw(stop.text());
}

std::string own_name(std::string_view canonical, std::string_view code) {
  for (const auto& row : option_rows()) {
    if (canonical == row.canonical) return std::string("options.").append(row.name);
  }
  return dialects::own_name(canonical, kRenamed, code);
}

namespace {

std::string prompt_name(std::string_view canonical, std::string_view code) {
  auto own = dialects::own_name(canonical, kPrompts, code);
  return own == canonical ? own_name(canonical, code) : own;
}

Result<Canonical> finished_as(std::string canonical, const protocol::FieldTable& table, View body,
                              std::shared_ptr<const OwnNames> names) {
  auto about = check_written(canonical, table, *names);
  if (!about) return std::unexpected(std::move(about.error()));
  Canonical asked{.body = std::move(canonical), .about = std::move(*about), .names = std::move(names)};
  if (auto fine = fill(asked, body); !fine) return std::unexpected(std::move(fine.error()));
  return asked;
}

}  // namespace

Result<Canonical> read(std::string text, const protocol::FieldTable& fields, Make make) {
  const auto peek = json::Peek::open(std::move(text));
  if (!peek) return std::unexpected(peek.error());
  const auto body = peek->root();
  if (auto fine = fields.check(body); !fine) return std::unexpected(std::move(fine.error()));
  return make(body);
}

Result<Canonical> only_keeping(View body) {
  Canonical asked{.only_keeps = true};
  asked.about.model = body.find("model").as_string();
  if (auto fine = fill(asked, body); !fine) return std::unexpected(std::move(fine.error()));
  return asked;
}

void write_settings(json::Writer& out, View body, bool chat) {
  if (const auto model = body.find("model").as_string(); !model.empty()) out.field("model", model);
  const auto stream = body.find("stream");
  const bool streams = stream.is_null() || stream.as_bool();
  out.field("stream", streams);
  if (streams) out.key("stream_options").raw(R"({"include_usage":true})");
  write_options(out, body.find("options"));
  write_format(out, body.find("format"));
  write_logprobs(out, body, chat);
  if (chat) write_thinking(out, body.find("think"));
}

Result<Canonical> finished(std::string canonical, const protocol::FieldTable& table, View body) {
  static const auto names = std::make_shared<const OwnNames>(OwnNames{.field = own_name});
  return finished_as(std::move(canonical), table, body, names);
}

Result<Canonical> finished_prompt(std::string canonical, const protocol::FieldTable& table, View body) {
  static const auto names = std::make_shared<const OwnNames>(OwnNames{.field = prompt_name});
  return finished_as(std::move(canonical), table, body, names);
}

}  // namespace corral::dialects::ollama
