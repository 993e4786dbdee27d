// Templates of prompts in the language that Ollama's are written in, as far as they only say where the texts stand:
// "{{ .System }} USER: {{ .Prompt }} ASSISTANT: {{ .Response }}". Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace corral::dialects::ollama {

// The prompt, no longer than the three together; what stands behind .Response is left out. Errors of "template":
// protocol::errc::unsupported_value for anything else between braces, bad_value for a name that stands twice.
Result<std::string> fill_template(std::string_view text, std::string_view system, std::string_view prompt);

}  // namespace corral::dialects::ollama
