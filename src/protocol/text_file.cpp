#include "protocol/text_file.h"

#include <utility>

#include <fmt/format.h>

#include "base/utf8.h"
#include "json/writer.h"
#include "protocol/base64.h"
#include "protocol/errors.h"

namespace corral::protocol {
namespace {

constexpr std::size_t kShownType = 64;

}  // namespace

Result<std::string> text_of_file(std::string_view data_url) {
  constexpr std::string_view kScheme = "data:", kEncoding = ";base64";
  const auto comma = data_url.find(',');
  const auto head = data_url.substr(0, comma);
  if (comma == std::string_view::npos || !head.starts_with(kScheme) || !head.ends_with(kEncoding))
    return fail(errc::bad_value, "must be a data URL in base64: \"data:text/plain;base64,...\"");
  auto type = head.substr(kScheme.size(), head.size() - kScheme.size() - kEncoding.size());
  type = type.substr(0, type.find(';'));
  if (!type.starts_with("text/") && type != "application/json") {
    type = type.substr(0, kShownType);
    return fail(errc::unsupported_value,
                fmt::format("has the type \"{}\", but only text is supported: send the text of the document",
                            type.substr(0, complete_utf8_length(type))));
  }
  auto text = from_base64(data_url.substr(comma + 1));
  if (!text) return fail(errc::bad_value, "has invalid base64: encode the file again");
  if (!json::is_utf8(*text)) return fail(errc::bad_value, "is not UTF-8: encode the text as UTF-8");
  return std::move(*text);
}

}  // namespace corral::protocol
