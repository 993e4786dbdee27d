#include "downloads/names.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "base/utf8.h"
#include "downloads/errors.h"

namespace corral::downloads {
namespace {

constexpr std::string_view kExamples = "use 'org/repo', 'org/repo:Q8_0', 'org/repo:file.gguf' or 'https://…/file.gguf'";

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_letter(c) || is_digit(c) || c == '-' || c == '_' || c == '.'; }

// For messages: without control characters, and shortened.
std::string shown(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 100)) out += is_control(c) ? '?' : c;
  out = valid_utf8(out);
  return text.size() > 100 ? out + "…" : out;
}

std::unexpected<Error> wrong(std::string_view text, std::string_view what) {
  return fail(errc::bad_name, fmt::format("'{}' is not a model to download: {}", shown(text), what));
}

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (text.size() < prefix.size() || to_lower(text.substr(0, prefix.size())) != prefix) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// Cuts at the first `mark`: returns the text before it; `rest` becomes the text after it.
std::string_view cut(std::string_view& rest, char mark) {
  const auto at = rest.find(mark);
  const auto head = rest.substr(0, at);
  rest = at == std::string_view::npos ? std::string_view{} : rest.substr(at + 1);
  return head;
}

bool is_part(std::string_view part, std::size_t limit) {
  return !part.empty() && part.size() <= limit && std::ranges::all_of(part, is_word) &&
         part.find("--") == std::string_view::npos && part.find("..") == std::string_view::npos &&
         part.front() != '.' && part.front() != '-' && part.back() != '.' && part.back() != '-';
}

bool is_gguf(std::string_view name) { return to_lower(name).ends_with(".gguf"); }

int digit_of(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Decodes a URL that a user copied from a browser. nullopt: a % isn't followed by two digits.
std::optional<std::string> unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size() || digit_of(text[i + 1]) < 0 || digit_of(text[i + 2]) < 0) return std::nullopt;
    out += static_cast<char>(digit_of(text[i + 1]) * 16 + digit_of(text[i + 2]));
    i += 2;
  }
  return out;
}

Result<SourceName> parse_repo(std::string_view text, std::string_view rest) {
  SourceName name;
  const std::string_view repo = cut(rest, ':');
  if (std::ranges::count(repo, '/') != 1)
    return wrong(text, fmt::format("a repository has the form org/repo; {}", kExamples));
  if (!is_repo(repo))
    return wrong(text, "both parts of org/repo consist of letters, digits, '-', '_' and '.', at most 96 each");
  name.repo = repo;
  name.revision = "main";
  if (text.ends_with(':')) return wrong(text, "the text after ':' is missing");
  if (rest.empty()) return name;
  if (to_lower(rest) == "latest") return name;  // other programs write this for no tag
  if (is_gguf(rest)) {
    if (!is_safe_path(rest)) return wrong(text, "the file after ':' is not a path in the repository");
    name.file = rest;
    return name;
  }
  if (!is_tag(rest)) return wrong(text, "after ':' give a quantisation (Q4_K_M) or the name of a .gguf file");
  name.tag = rest;
  return name;
}

// The file in the URL of a hub page: "tree/main?show_file_info=x.gguf". Empty: none.
std::string file_shown(std::string_view address) {
  constexpr std::string_view kField = "show_file_info=";
  const auto query = address.find('?');
  const auto at = query == address.npos ? query : address.find(kField, query);
  if (at == address.npos) return {};
  std::string_view value = address.substr(at + kField.size());
  return unescape(value.substr(0, value.find_first_of("&#"))).value_or("");
}

// A file of the repository, from a URL.
Result<SourceName> with_file(std::string_view text, SourceName name, std::string_view file) {
  if (!is_gguf(file)) return wrong(text, "only .gguf files can be downloaded");
  if (!is_safe_path(file)) return wrong(text, "its file is not a path in the repository");
  name.file = file;
  return name;
}

// org/repo, org/repo:TAG, org/repo/FILE, or a page of the hub: org/repo/(resolve|blob|raw|tree)/REVISION[/FILE].
Result<SourceName> parse_hub(std::string_view text, std::string_view rest) {
  const std::string file = file_shown(rest);
  rest = rest.substr(0, rest.find_first_of("?#"));
  while (rest.ends_with('/')) rest.remove_suffix(1);
  auto slashes = std::ranges::count(rest.substr(0, rest.find(':')), '/');
  if (slashes < 2) {
    auto name = parse_repo(text, rest);
    return name && !file.empty() ? with_file(text, std::move(*name), file) : name;
  }
  const auto decoded = unescape(rest);
  if (!decoded || std::ranges::any_of(*decoded, is_control)) return wrong(text, "its URL has an invalid '%'");
  std::string_view left = *decoded;
  const std::string_view org = cut(left, '/');
  const std::string_view repo = cut(left, '/');
  const std::string_view behind = left;
  const std::string_view page = cut(left, '/');
  SourceName name{.repo = fmt::format("{}/{}", org, repo), .revision = "main"};
  if (!is_repo(name.repo)) return wrong(text, fmt::format("it has no repository; {}", kExamples));
  if (page != "resolve" && page != "blob" && page != "raw" && page != "tree" && is_gguf(behind))
    return with_file(text, std::move(name), behind);
  if (page != "resolve" && page != "blob" && page != "raw" && page != "tree")
    return wrong(text, "after org/repo the URL needs /resolve/REVISION/FILE, /blob/… or /tree/REVISION");
  // A reference may contain slashes: refs/pr/1.
  if (left.starts_with("refs/")) {
    const auto second = left.find('/', 5);
    const auto third = second == left.npos ? left.npos : left.find('/', second + 1);
    name.revision = left.substr(0, third);
    left = third == left.npos ? std::string_view{} : left.substr(third + 1);
  } else {
    name.revision = cut(left, '/');
  }
  if (!is_revision(name.revision)) return wrong(text, "it has no revision");
  if (page != "tree") return left.empty() ? Result<SourceName>(name) : with_file(text, std::move(name), left);
  if (!file.empty()) return with_file(text, std::move(name), file);
  // A folder usually holds one quantisation, and has its name.
  const std::string_view folder = left.substr(left.rfind('/') + 1);
  if (folder.size() > 64 || !std::ranges::all_of(folder, is_word))
    return wrong(text, "its folder name is not a quantisation: give the file");
  name.tag = folder;
  return name;
}

Result<SourceName> parse_ollama(std::string_view text, std::string_view rest) {
  SourceName name{.kind = SourceKind::ollama, .tag = "latest"};
  const std::string_view path = cut(rest, ':');
  name.repo = path.find('/') == path.npos ? fmt::format("library/{}", path) : std::string(path);
  if (!is_repo(name.repo)) return wrong(text, "a model of Ollama has the form ollama.com/library/name:tag");
  if (!rest.empty()) {
    if (rest.size() > 128 || !std::ranges::all_of(rest, is_word) || rest.front() == '.')
      return wrong(text, "its tag may have letters, digits, '-', '_' and '.'");
    name.tag = rest;
  }
  return name;
}

Result<SourceName> parse_address(std::string_view text, std::string_view rest) {
  const std::string_view host = rest.substr(0, rest.find_first_of("/?#"));
  if (host.empty()) return wrong(text, "its URL has no host");
  if (host.find('@') != host.npos) return wrong(text, "a URL must not contain a password");
  if (!std::ranges::all_of(host, [](char c) { return is_word(c) || c == ':' || c == '[' || c == ']'; }))
    return wrong(text, "its host has invalid characters");
  if (rest.find('#') != rest.npos) return wrong(text, "the URL of a file has no '#'");
  if (rest.find(' ') != rest.npos) return wrong(text, "its URL has a space: write %20");
  std::string_view path = rest.substr(host.size());
  path = path.substr(0, path.find('?'));
  if (!is_gguf(path)) return wrong(text, "only .gguf files can be downloaded from a URL");
  const auto decoded = unescape(path);
  if (!decoded || !is_safe_path(decoded->substr(1))) return wrong(text, "its path has '..' or invalid characters");
  return SourceName{.kind = SourceKind::address, .address = std::string(text)};
}

Result<SourceName> parse_plain(std::string_view text) {
  if (text.empty()) return fail(errc::bad_name, fmt::format("the model's name is empty; {}", kExamples));
  if (text.size() > kMaxNameBytes) return wrong(text, fmt::format("it is longer than {} bytes", kMaxNameBytes));
  if (std::ranges::any_of(text, is_control)) return wrong(text, "it has control characters");
  if (text.find('\\') != text.npos) return wrong(text, "it has a backslash");
  if (valid_utf8(text) != text) return wrong(text, "it is not UTF-8");
  std::string_view rest = text;
  if (take_prefix(rest, "ollama://")) return parse_ollama(text, rest);
  if (take_prefix(rest, "hf://")) return parse_hub(text, rest);
  const bool scheme = take_prefix(rest, "https://") || take_prefix(rest, "http://");
  for (const std::string_view host : {"huggingface.co/", "www.huggingface.co/", "hf.co/"})
    if (take_prefix(rest, host)) return parse_hub(text, rest);
  for (const std::string_view host : {"ollama.com/", "registry.ollama.ai/"})
    if (take_prefix(rest, host)) return parse_ollama(text, rest);
  if (scheme) return parse_address(text, rest);
  if (text.find("://") != text.npos) return wrong(text, "URLs start with https://");
  if (text.starts_with('/') || text.starts_with('~') || text.starts_with('.'))
    return wrong(text, fmt::format("it is a path on this machine; {}", kExamples));
  return parse_repo(text, rest);
}

}  // namespace

Result<SourceName> parse_source(std::string_view text) {
  const bool without = text.ends_with(kWithoutProjector);
  if (without) text.remove_suffix(kWithoutProjector.size());
  auto source = parse_plain(text);
  if (source) source->projector = !without;
  return source;
}

bool is_safe_path(std::string_view path) {
  if (path.empty() || path.size() > kMaxNameBytes || path.front() == '/' || path.back() == '/') return false;
  if (std::ranges::any_of(path, is_control) || path.find('\\') != path.npos || valid_utf8(path) != path) return false;
  for (std::string_view rest = path; !rest.empty();) {
    const std::string_view part = cut(rest, '/');
    if (part.empty() || part == "." || part == ".." || part.size() > 255) return false;
  }
  return true;
}

bool is_tag(std::string_view text) {
  return is_safe_path(text) && text.find('/') == text.npos && !text.ends_with(':') &&
         !text.ends_with(kWithoutProjector) && !is_gguf(text) && to_lower(text) != "latest";
}

bool is_safe_oid(std::string_view oid) {
  const auto digit = [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); };
  return (oid.size() == 40 || oid.size() == 64) && std::ranges::all_of(oid, digit);
}

bool is_repo(std::string_view repo) {
  std::string_view rest = repo;
  const std::string_view org = cut(rest, '/');
  return is_part(org, 96) && is_part(rest, 96);
}

bool is_revision(std::string_view revision) {
  return revision.size() <= 200 && is_safe_path(revision) && revision.find_first_of(" %?#:") == revision.npos;
}

std::string escape_path(std::string_view path) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : path) {
    if (is_word(c) || c == '~' || c == '/') {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return out;
}

}  // namespace corral::downloads
