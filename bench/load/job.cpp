#include "job.h"

#include "json/value.h"
#include "json/writer.h"

namespace corral::bench {
namespace {

std::int64_t whole_or_zero(const json::Value& from, std::string_view name) {
  return static_cast<std::int64_t>(json::number_or(from, name, 0));
}

std::string text_of(const json::Value& choice) {
  std::string text(json::text_or(choice, "text", ""));
  if (const auto* delta = json::find(choice, "delta")) {
    text += json::text_or(*delta, "reasoning_content", "");
    text += json::text_or(*delta, "content", "");
  }
  return text;
}

void read_event(const json::Value& event, double at, Outcome& outcome) {
  if (const auto* error = json::find(event, "error")) outcome.error = json::serialize(*error);
  if (const auto* choices = json::find(event, "choices"); choices && choices->is_array()) {
    for (const auto& choice : choices->get_array()) {
      if (const auto reason = json::text_or(choice, "finish_reason", ""); !reason.empty())
        outcome.finish_reason = reason;
      const auto text = text_of(choice);
      if (text.empty()) continue;
      outcome.pieces.push_back(at);
      outcome.text += text;
    }
  }
  if (const auto* usage = json::find(event, "usage"); usage && usage->is_object()) {
    outcome.tokens = whole_or_zero(*usage, "completion_tokens");
    outcome.prompt_tokens = whole_or_zero(*usage, "prompt_tokens");
    if (const auto* details = json::find(*usage, "prompt_tokens_details")) {
      outcome.cached_tokens = whole_or_zero(*details, "cached_tokens");
    }
  }
}

Result<Request> parse_request(const json::Value& from) {
  const auto* body = json::find(from, "body");
  if (!body) return fail(std::errc::invalid_argument, "a request without a body", "body");
  return Request{.name = std::string(json::text_or(from, "name", "")),
                 .path = std::string(json::text_or(from, "path", "/v1/completions")),
                 .body = json::serialize(*body),
                 .at = json::number_or(from, "at", 0),
                 .after_events = static_cast<std::size_t>(whole_or_zero(from, "after_events")),
                 .read = json::bool_or(from, "read", true),
                 .background = json::bool_or(from, "background", false)};
}

}  // namespace

Result<Job> parse_job(std::string_view text) {
  const auto parsed = json::parse(text);
  if (!parsed) return std::unexpected(parsed.error());
  Job job{.port = static_cast<std::uint16_t>(whole_or_zero(*parsed, "port")),
          .socket = std::string(json::text_or(*parsed, "socket", "")),
          .seconds = json::number_or(*parsed, "seconds", 600),
          .at_once = static_cast<std::size_t>(whole_or_zero(*parsed, "at_once")),
          .requests = {}};
  const auto* requests = json::find(*parsed, "requests");
  if (!requests || !requests->is_array())
    return fail(std::errc::invalid_argument, "a job without requests", "requests");
  for (const auto& one : requests->get_array()) {
    auto request = parse_request(one);
    if (!request) return std::unexpected(std::move(request.error()));
    job.requests.push_back(std::move(*request));
  }
  return job;
}

void read_answer(const EventReader& answer, Outcome& outcome) {
  if (answer.status() != 0 && (answer.status() != 200 || !answer.is_stream())) {
    outcome.error = "no stream but status " + std::to_string(answer.status()) + ": " + answer.rest().substr(0, 300);
    return;
  }
  for (const auto& [at, data] : answer.events()) {
    if (data == "[DONE]") continue;
    if (const auto event = json::parse(data)) {
      read_event(*event, at, outcome);
    } else {
      outcome.error = "an event that is no JSON: " + data.substr(0, 300);
    }
  }
}

std::string to_json(const std::vector<Outcome>& outcomes, const RunCost& cost) {
  std::string text;
  json::Writer out(text);
  out.begin_object().field("seconds", cost.seconds).field("cpu_seconds", cost.cpu_seconds).field("events", cost.events);
  out.key("streams").begin_array();
  for (const auto& one : outcomes) {
    out.begin_object().field("name", one.name).field("began", one.began).field("ended", one.ended);
    out.field("error", one.error).field("text", one.text).field("finish_reason", one.finish_reason);
    out.field("tokens", one.tokens).field("prompt_tokens", one.prompt_tokens).field("cached_tokens", one.cached_tokens);
    out.key("pieces").begin_array();
    for (const double at : one.pieces) out.value(at);
    out.end_array().end_object();
  }
  out.end_array().end_object();
  return text;
}

}  // namespace corral::bench
