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
// L is a label. Those of internationalized names ("xn--...") have rules of their own and are left out.
constexpr std::string_view kHostname = R"(L(?:\.L){0,3})";
constexpr std::string_view kLabel = R"((?![xX][nN]--)[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)";
// With an authority, as of https; or without one, as of mailto and urn.
constexpr std::string_view kUri =
    R"([a-zA-Z][a-zA-Z0-9+.-]*:(?://[a-zA-Z0-9.-]+(?::\d{1,5})?(?:/C*)*|/(?:C+(?:/C*)*)?|C+(?:/C*)*)(?:\?(?:C|[/?])*)?(?:#(?:C|[/?])*)?)";
constexpr std::string_view kUriCharacter = R"((?:[a-zA-Z0-9._~!$&'()*+,;=:@-]|%[0-9a-fA-F]{2}))";
// The same with letters beyond ASCII.
constexpr std::string_view kIriCharacter =
    R"((?:[a-zA-Z0-9._~!$&'()*+,;=:@\u00A0-\uD7FF\uF900-\uFDCF\uFDF0-\uFFEF-]|%[0-9a-fA-F]{2}))";
constexpr std::string_view kIriHost = R"([a-zA-Z0-9.\u00A1-\u167F\u1681-\u1FFF\u3040-\uD7FF-])";
// A path, perhaps with a host before it; N is a character other than a colon, D one of a host.
constexpr std::string_view kRelative =
    R"((?://D+(?::\d{1,5})?(?:/C*)*|/(?:C+(?:/C*)*)?|N+(?:/C*)*)?(?:\?(?:C|[/?])*)?(?:#(?:C|[/?])*)?)";
constexpr std::string_view kPointer = R"((?:/(?:[^~/]|~[01])*)*)";
constexpr std::string_view kTemplate =
    R"((?:[!#$&(-;=?-[\]_a-z~\u00A0-\uD7FF]|%[0-9a-fA-F]{2}|\{[+#./;?&]?V(?:,V)*\})*)";
constexpr std::string_view kVariable = R"(\w+(?::[1-9]\d{0,3}|\*)?)";
// Part of what is a regular expression: groups in groups up to a depth, classes without ranges but those of letters and
// digits. A is an atom.
constexpr std::string_view kRegexAtom =
    R"([^\\()[\]{}*+?|^$\u0000-\u001F]|\\[dDwWsStnr^$\\.*+?()[\]{}|/]|\[\^?(?:a-z|A-Z|0-9|a-f|A-F|[a-zA-Z0-9_ .,:;/@#%+*!]|\\[dwsDWS\\\]\[.-])+-?\])";
constexpr std::string_view kRegexBranch = R"(\^?(?:(?:A)(?:[*+?]\??|\{\d{1,3},?\})?)*\$?)";
// Units follow each other without gaps, as in RFC 3339.
constexpr std::string_view kDuration =
    R"(P(?:\d+W|(?:D|M(?:D)?|Y(?:M(?:D)?)?)(?:T(?:S|N(?:S)?|H(?:N(?:S)?)?))?|T(?:S|N(?:S)?|H(?:N(?:S)?)?)))";
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

// Its letters stand for numbers with their units; N is minutes.
std::string duration() {
  std::string all;
  for (const char c : kDuration) {
    const bool unit = std::string_view("DMYSNH").contains(c);
    all += unit ? std::string("\\d+") + (c == 'N' ? 'M' : c) : std::string(1, c);
  }
  return all;
}

std::string uri(std::string_view character, std::string_view host) {
  auto all = replaced(kUri, 'C', character);
  if (host.empty()) return all;
  const std::string_view plain = "[a-zA-Z0-9.-]";
  return all.replace(all.find(plain), plain.size(), host);
}

std::string relative(std::string_view character, std::string_view host) {
  std::string start(character), all;
  start.erase(start.find(':', 3), 1);  // behind "(?:"
  for (const char c : kRelative) {
    all += c == 'D' ? host : c == 'N' ? std::string_view(start) : c == 'C' ? character : std::string_view(&c, 1);
  }
  return all;
}

std::string regex() {
  std::string atom(kRegexAtom);
  for (int depth = 0; depth < 2; ++depth) {
    const auto branch = replaced(kRegexBranch, 'A', atom);
    atom = std::string(kRegexAtom) + R"(|\((?:\?:)?)" + branch + R"((?:\|)" + branch + R"()*\))";
  }
  const auto branch = replaced(kRegexBranch, 'A', atom);
  return branch + R"((?:\|)" + branch + ")*";
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
        {"hostname", whole(replaced(kHostname, 'L', kLabel))},
        {"uri", whole(replaced(kUri, 'C', kUriCharacter))},
        {"duration", whole(duration())},
        {"byte", whole(kBase64)},
        {"iri", whole(uri(kIriCharacter, kIriHost))},
        {"uri-reference", whole(uri(kUriCharacter, "") + "|" + relative(kUriCharacter, "[a-zA-Z0-9.-]"))},
        {"iri-reference", whole(uri(kIriCharacter, kIriHost) + "|" + relative(kIriCharacter, kIriHost))},
        {"uri-template", whole(replaced(kTemplate, 'V', kVariable))},
        {"json-pointer", whole(kPointer)},
        {"relative-json-pointer", whole(R"((?:0|[1-9]\d*)(?:#|)" + std::string(kPointer) + ")")},
        {"regex", whole(regex())},
        {"idn-email", whole(kEmail)},
        {"idn-hostname", whole(replaced(kHostname, 'L', kLabel))},
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

std::optional<std::string_view> wide_format_pattern(std::string_view format) {
  static const std::unordered_map<std::string_view, std::string_view> patterns{
      {"time", R"(^\d\d?:\d\d?)"},
      {"date-time", R"(^\d{4}-)"},
      {"ipv6", ":.*:"},
      {"email", "@"},
      {"idn-email", "@"},
      {"hostname", R"(^[a-zA-Z0-9._-]+$)"},
      {"idn-hostname", R"(^[^\x00-\x20]+$)"},
      {"uri", R"(^[a-zA-Z][a-zA-Z0-9+.-]*:)"},
      {"iri", R"(^[a-zA-Z][a-zA-Z0-9+.-]*:)"},
      {"uri-reference", R"(^[^\x00-\x20<>{}|\\^`]*$)"},
      {"iri-reference", R"(^[^\x00-\x20<>{}|\\^`]*$)"},
      {"uri-template", R"(^[^\x00-\x20<>|\\^`]*$)"},
      {"regex", ""},
      {"duration", "^P"},
  };
  if (format.starts_with("uuid")) return "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-";
  const auto found = patterns.find(format);
  if (found == patterns.end()) return std::nullopt;
  return found->second;
}

}  // namespace corral::json_schema
