#include "dialects/ollama/plain_template.h"

#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "protocol/errors.h"

namespace corral::dialects::ollama {
namespace {

constexpr std::size_t kShown = 40;  // bytes of unknown text in messages

}  // namespace

Result<std::string> fill_template(std::string_view text, std::string_view system, std::string_view prompt) {
  std::string filled;
  bool system_stands = false, prompt_stands = false;
  while (true) {
    const auto open = text.find("{{");
    filled.append(text.substr(0, open));
    if (open == std::string_view::npos) return filled;
    text.remove_prefix(open + 2);
    const auto close = text.find("}}");
    const auto name = trimmed(text.substr(0, close));
    if (name == ".Response") return filled;
    if (close == std::string_view::npos || (name != ".System" && name != ".Prompt")) {
      return fail(protocol::errc::unsupported_value,
                  fmt::format("'template' may contain {{{{ .System }}}}, {{{{ .Prompt }}}} and {{{{ .Response }}}}, "
                              "not '{}': omit it to use the model's own, or send the whole prompt with 'raw'",
                              name.substr(0, kShown)),
                  "template");
    }
    // Thousands of names in a small template would make a prompt of many megabytes.
    if (std::exchange(name == ".System" ? system_stands : prompt_stands, true)) {
      return fail(
          protocol::errc::bad_value,
          fmt::format("'template' has {{{{ {} }}}} twice: use it once, or send the whole prompt with 'raw'", name),
          "template");
    }
    filled.append(name == ".System" ? system : prompt);
    text.remove_prefix(close + 2);
  }
}

}  // namespace corral::dialects::ollama
