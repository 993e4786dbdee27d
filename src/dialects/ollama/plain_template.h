// Prompt templates in Ollama's language that only place texts: "{{ .System }} USER: {{ .Prompt }} ASSISTANT: {{
// .Response }}". Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace corral::dialects::ollama {

// The prompt, no longer than the three texts together; text after .Response is dropped. Errors of "template":
// protocol::errc::unsupported_value for anything else between braces, bad_value for a name that occurs twice.
Result<std::string> fill_template(std::string_view text, std::string_view system, std::string_view prompt);

}  // namespace corral::dialects::ollama
