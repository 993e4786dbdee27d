#include "json_schema/formats.h"

#include <string>
#include <unordered_map>

namespace corral::json_schema {
namespace {

// Days that their month has, 29 February in leap years only.
constexpr std::string_view kDate =
    R"((?:\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|02-(?:0[1-9]|1\d|2[0-8])))"
    R"(|(?:\d\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29))";
constexpr std::string_view kTime =
    R"((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d))";
constexpr std::string_view kUuid = R"([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12})";
constexpr std::string_view kIpv4 = R"((?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)\.){3}(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d))";
constexpr std::string_view kIpv6 =
    R"((?:H:){7}H|(?:H:){1,7}:|(?:H:){1,6}:H|(?:H:){1,5}(?::H){1,2}|(?:H:){1,4}(?::H){1,3}|(?:H:){1,3}(?::H){1,4})"
    R"(|(?:H:){1,2}(?::H){1,5}|H:(?::H){1,6}|:(?:(?::H){1,7}|:))";
constexpr std::string_view kEmail =
    R"([a-zA-Z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[a-zA-Z0-9!#$%&'*+/=?^_`{|}~-]+)*@(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?\.)+)"
    R"([a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)";
constexpr std::string_view kHostname =
    R"([a-zA-Z0-9](?:[a-zA-Z0-9-]{0,60}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,60}[a-zA-Z0-9])?){0,3})";
// With an authority, as of https; or without one, as of mailto and urn.
constexpr std::string_view kUri =
    R"([a-zA-Z][a-zA-Z0-9+.-]*:(?://[a-zA-Z0-9.-]+(?::\d{1,5})?(?:/C*)*|C+(?:/C*)*)(?:\?(?:C|[/?])*)?(?:#(?:C|[/?])*)?)";
constexpr std::string_view kUriCharacter = R"((?:[a-zA-Z0-9._~!$&'()*+,;=:@-]|%[0-9a-fA-F]{2}))";
constexpr std::string_view kDuration =
    R"(P(?!$)(?:(?:\d+Y)?(?:\d+M)?(?:\d+D)?(?:T(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+S)?)?|\d+W))";
constexpr std::string_view kBase64 = R"((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)";

std::string replaced(std::string_view pattern, char mark, std::string_view by) {
  std::string all;
  for (const char c : pattern) {
    if (c == mark) {
      all += by;
    } else {
      all += c;
    }
  }
  return all;
}

std::string whole(std::string_view pattern) { return "^(?:" + std::string(pattern) + ")$"; }

}  // namespace

std::optional<std::string_view> format_pattern(std::string_view format) {
  static const std::unordered_map<std::string_view, std::string> patterns = [] {
    std::unordered_map<std::string_view, std::string> all{
        {"date", whole(kDate)},
        {"time", whole(kTime)},
        {"date-time", whole(std::string(kDate) + "T" + std::string(kTime))},
        {"ipv4", whole(kIpv4)},
        {"ipv6", whole(replaced(kIpv6, 'H', "[0-9a-fA-F]{1,4}"))},
        {"email", whole(kEmail)},
        {"hostname", whole(kHostname)},
        {"uri", whole(replaced(kUri, 'C', kUriCharacter))},
        {"duration", whole(kDuration)},
        {"byte", whole(kBase64)},
        {"password", ""},
        {"binary", ""},
    };
    for (const auto* name : {"uuid", "uuid1", "uuid2", "uuid3", "uuid4", "uuid5"}) all.emplace(name, whole(kUuid));
    return all;
  }();
  const auto found = patterns.find(format);
  if (found == patterns.end()) return std::nullopt;
  return found->second;
}

}  // namespace corral::json_schema
