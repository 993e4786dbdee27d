#include "cli/doctor/doctor_wire.h"

#include "json/writer.h"

namespace corral::cli {

std::string checks_object(const std::vector<Check>& checks) {
  std::string text;
  json::Writer out(text);
  out.begin_object().field("ok", !has_failed(checks)).key("checks").begin_array();
  for (const auto& check : checks) {
    out.begin_object().field("status", name_of(check.verdict)).field("topic", check.topic).field("text", check.text);
    out.key("todo");
    check.todo.empty() ? out.null() : out.value(check.todo);
    out.end_object();
  }
  out.end_array().end_object();
  return text;
}

}  // namespace corral::cli
