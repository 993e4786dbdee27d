// Long because it is one table and the readers of its kinds.
#include "backends/external/descriptor_fields.h"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/errors.h"
#include "backends/external/address.h"
#include "backends/external/descriptor_reader.h"
#include "backends/external/errors.h"
#include "backends/external/placeholders.h"
#include "config/options/close_keys.h"
#include "config/options/value.h"

namespace corral::backends {
namespace {

constexpr std::size_t kMaxWords = 512;
constexpr std::size_t kLongestText = 64 * 1024;

// Why a value is wrong, where its kind doesn't say it; empty: it isn't wrong. "?": it isn't of its kind.
using Complaint = std::string;
constexpr std::string_view kNotThat = "?";

template <std::string Descriptor::* kMember>
Complaint text(const toml::node& value, Descriptor& into) {
  const auto* value_read = value.as_string();
  if (value_read == nullptr || value_read->get().size() > kLongestText) return Complaint(kNotThat);
  if (value_read->get().find('\0') != std::string::npos) return "it has a NUL byte";
  into.*kMember = value_read->get();
  return {};
}

template <std::vector<std::string> Descriptor::* kMember>
Complaint texts(const toml::node& value, Descriptor& into) {
  auto value_read = texts_of(value);
  if (!value_read || value_read->size() > kMaxWords) return Complaint(kNotThat);
  into.*kMember = std::move(*value_read);
  return {};
}

template <bool Descriptor::* kMember>
Complaint flag(const toml::node& value, Descriptor& into) {
  const auto* value_read = value.as_boolean();
  if (value_read == nullptr) return Complaint(kNotThat);
  into.*kMember = value_read->get();
  return {};
}

Complaint recipe(const toml::node& value, Descriptor& into) {
  const auto wrong = text<&Descriptor::recipe>(value, into);
  const auto plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.'; };
  if (wrong.empty() && (into.recipe.empty() || into.recipe.size() > 64 || !std::ranges::all_of(into.recipe, plain)))
    return Complaint(kNotThat);
  return wrong;
}

Complaint types(const toml::node& value, Descriptor& into) {
  const auto value_read = texts_of(value);
  if (!value_read || value_read->empty()) return Complaint(kNotThat);
  into.types.clear();
  for (const auto& name : *value_read) {
    const auto type = parse_model_type(name);
    if (!type) return fmt::format("unknown model type '{}'", name);
    into.types.push_back(*type);
  }
  return {};
}

template <typename Enum, auto kMember, Enum... kAll>
Complaint one_of(const toml::node& value, Descriptor& into) {
  const auto* value_read = value.as_string();
  bool found = false;
  if (value_read != nullptr) ((name_of(kAll) == value_read->get() ? (into.*kMember = kAll, found = true) : false), ...);
  return found ? Complaint() : Complaint(kNotThat);
}

template <Device Descriptor::* kMember>
Complaint device(const toml::node& value, Descriptor& into) {
  const auto value_read = texts_of(value);
  if (!value_read || value_read->empty()) return Complaint(kNotThat);
  Device set = Device::none;
  for (const auto& name : *value_read) {
    const auto one = parse_device(name);
    if (!one || *one == Device::none) return Complaint(kNotThat);
    set |= *one;
  }
  into.*kMember = set;
  return {};
}

template <Command Descriptor::* kMember>
Complaint command(const toml::node& value, Descriptor& into) {
  Command read;
  if (const auto* line = value.as_string()) {
    const auto words = split_words(line->get());
    if (!words) return "it has an unclosed quote";
    for (const auto& word : *words) read.push_back({{word}, false});
  } else if (const auto* array = value.as_array()) {
    for (const auto& element : *array) {
      if (const auto* word = element.as_string()) {
        read.push_back({{word->get()}, false});
      } else if (const auto words = element.is_array() ? texts_of(element) : std::nullopt) {
        read.push_back({*words, true});
      } else {
        return Complaint(kNotThat);
      }
    }
  } else {
    return Complaint(kNotThat);
  }
  std::size_t count = 0;
  for (const auto& part : read) {
    count += part.words.size();
    for (const auto& word : part.words) {
      if (word.find('\0') != std::string::npos) return "it has a NUL byte";
      if (const auto unknown = unknown_placeholder(word); !unknown.empty())
        return fmt::format("unknown placeholder {{{}}}; known: {}", unknown, placeholder_names());
    }
  }
  if (count > kMaxWords) return Complaint(kNotThat);
  into.*kMember = std::move(read);
  return {};
}

Complaint type_args(const toml::node& value, Descriptor& into) {
  const auto* table = value.as_table();
  if (table == nullptr) return Complaint(kNotThat);
  into.type_args.clear();
  for (const auto& [key, words] : *table) {
    const auto type = parse_model_type(key.str());
    auto value_read = texts_of(words);
    if (!type || !value_read) return Complaint(kNotThat);
    into.type_args[*type] = std::move(*value_read);
  }
  return {};
}

// {NAME = "value"}, or llama-swap's ["NAME=value"].
template <std::map<std::string, std::string> Descriptor::* kMember>
Complaint pairs(const toml::node& value, Descriptor& into) {
  auto& pairs = into.*kMember;
  const auto add = [&](std::string name, std::string text) {
    const auto bad = [](char c) { return c == '=' || c == '\0' || c == '\n' || c == '\r'; };
    if (name.empty() || std::ranges::any_of(name, bad) || text.find_first_of("\0\n\r", 0, 3) != text.npos)
      return fmt::format("'{}' is not NAME=VALUE", name);
    if (const auto unknown = unknown_placeholder(text); !unknown.empty())
      return fmt::format("unknown placeholder {{{}}}; known: {}", unknown, placeholder_names());
    pairs[std::move(name)] = std::move(text);
    return Complaint();
  };
  if (const auto* table = value.as_table()) {
    for (const auto& [key, entry] : *table) {
      const auto value_read = entry.is_array() ? std::nullopt : texts_of(entry);
      if (!value_read) return Complaint(kNotThat);
      if (auto wrong = add(std::string(key.str()), value_read->front()); !wrong.empty()) return wrong;
    }
    return {};
  }
  const auto value_read = value.is_array() ? texts_of(value) : std::nullopt;
  if (!value_read) return Complaint(kNotThat);
  for (const auto& entry : *value_read) {
    const auto equals = entry.find('=');
    if (equals == entry.npos) return fmt::format("'{}' has no '='", entry);
    if (auto wrong = add(entry.substr(0, equals), entry.substr(equals + 1)); !wrong.empty()) return wrong;
  }
  return {};
}

Complaint ready(const toml::node& value, Descriptor& into) {
  if (const auto* path = value.as_string()) {
    into.ready.path = path->get() == "none" ? "" : path->get();
  } else if (const auto* table = value.as_table()) {
    for (const auto& [key, entry] : *table) {
      if (key == "path" && entry.is_string()) {
        into.ready.path = entry.as_string()->get();
      } else if (key == "status" && entry.is_integer()) {
        const auto status = entry.as_integer()->get();
        if (status < 100 || status > 599) return fmt::format("{} is not a status", status);
        into.ready.status = static_cast<unsigned>(status);
      } else if (key == "deadline") {
        const auto value_read = texts_of(entry);
        const auto time =
            value_read && value_read->size() == 1 ? config::parse_duration(value_read->front()) : std::nullopt;
        if (!time || time->count() <= 0) return "its deadline is not a time such as 90s or 10m";
        into.ready.deadline = *time;
      } else {
        return fmt::format("'{}' is not one of path (a string), status (a number) and deadline (a time)", key.str());
      }
    }
  } else {
    return Complaint(kNotThat);
  }
  if (!into.ready.path.empty() && !into.ready.path.starts_with('/')) return "its path must start with '/'";
  return {};
}

Complaint paths(const toml::node& value, Descriptor& into) {
  const auto* table = value.as_table();
  if (table == nullptr) return Complaint(kNotThat);
  into.paths.clear();
  for (const auto& [key, entry] : *table) {
    const auto ask = ask_named(key.str());
    if (!ask) return fmt::format("'{}' is not one of {}", key.str(), ask_names());
    const auto* path = entry.as_string();
    if (path == nullptr || !path->get().starts_with('/'))
      return fmt::format("the path of '{}' must start with '/'", key.str());
    into.paths[*ask] = path->get();
  }
  return {};
}

Complaint set_fields(const toml::node& value, Descriptor& into) {
  const auto* table = value.as_table();
  if (table == nullptr) return Complaint(kNotThat);
  for (const auto& [key, entry] : *table) {
    auto value_read = to_json(entry);
    if (!value_read) return fmt::format("'{}' has no equivalent in JSON", key.str());
    into.set[std::string(key.str())] = std::move(*value_read);
  }
  return {};
}

Complaint filters(const toml::node& value, Descriptor& into) {
  const auto* table = value.as_table();
  if (table == nullptr) return Complaint(kNotThat);
  for (const auto& [key, entry] : *table) {
    Complaint wrong(kNotThat);
    if (key == "strip" || key == "stripParams" || key == "strip_params") {
      wrong = texts<&Descriptor::strip>(entry, into);
      // llama-swap has one text with commas.
      if (wrong.empty() && entry.is_string()) {
        std::string list = into.strip.front();
        into.strip.clear();
        for (std::size_t at = 0; at <= list.size();) {
          const auto end = std::min(list.find(',', at), list.size());
          auto word = list.substr(at, end - at);
          std::erase(word, ' ');
          if (!word.empty()) into.strip.push_back(std::move(word));
          at = end + 1;
        }
      }
    } else if (key == "set" || key == "setParams" || key == "set_params") {
      wrong = set_fields(entry, into);
    }
    if (!wrong.empty()) return wrong;
  }
  return {};
}

Complaint concurrency(const toml::node& value, Descriptor& into) {
  const auto* value_read = value.as_integer();
  if (value_read == nullptr || value_read->get() < 0 || value_read->get() > 100'000) return Complaint(kNotThat);
  into.concurrency = static_cast<std::uint32_t>(value_read->get());
  return {};
}

Complaint request_timeout(const toml::node& value, Descriptor& into) {
  constexpr Millis kLongest = std::chrono::hours(24 * 365);
  const auto value_read = texts_of(value);
  const auto time = value_read && value_read->size() == 1 ? config::parse_duration(value_read->front()) : std::nullopt;
  if (!time || time->count() <= 0 || *time > kLongest) return Complaint(kNotThat);
  into.request_timeout = *time;
  return {};
}

Complaint memory(const toml::node& value, Descriptor& into) {
  const auto* value_read = value.as_string();
  if (value_read == nullptr) return Complaint(kNotThat);
  MemoryRule rule{0, 0};
  std::string sum = value_read->get();
  std::erase(sum, ' ');
  if (sum.empty()) return Complaint(kNotThat);
  for (std::size_t at = 0; at <= sum.size();) {
    const auto end = std::min(sum.find('+', at), sum.size());
    const auto term = sum.substr(at, end - at);
    at = end + 1;
    if (term == "files") {
      rule.per_file_byte += 1;
    } else if (term.starts_with("files*")) {
      const auto factor = config::parse_number(term.substr(6));
      if (!factor || *factor < 0 || *factor > 1000) return Complaint(kNotThat);
      rule.per_file_byte += *factor;
    } else if (const auto size = config::parse_size(term)) {
      rule.fixed += size->value();
    } else {
      return Complaint(kNotThat);
    }
  }
  into.memory = rule;
  return {};
}

Complaint url(const toml::node& value, Descriptor& into) {
  auto wrong = text<&Descriptor::url>(value, into);
  if (wrong.empty() && !into.url.starts_with("http://")) return Complaint(kNotThat);
  into.url = with_own_words(into.url);
  return wrong;
}

struct Row : DescriptorField {
  Complaint (*read)(const toml::node& value, Descriptor& into);
};

using D = Descriptor;
constexpr std::string_view kText = "a text", kTexts = "an array of texts", kFlag = "true or false";

constexpr auto kRows = std::to_array<Row>({
    {{"recipe", "", "a name of letters, digits, '-', '_' and '.'", "", "Name by which models select this backend.",
      false},
     recipe},
    {{"title", "", kText, "", "Short description."}, text<&D::title>},
    {{"types", "", "an array of llm, embedding, reranking, transcription, image, tts", "llm",
      "Model types that it serves; the first one applies to models without a label for another."},
     types},
    {{"kind", "", "one of server, exec and attach", "server",
      "server: one process per model; exec: one process per request; attach: a server that already runs.", false},
     one_of<ServerKind, &D::kind, ServerKind::server, ServerKind::exec, ServerKind::attach>},
    {{"program", "bin", kText, "", "A name in PATH, or an absolute path."}, text<&D::program>},
    {{"command", "cmd",
      "an array of arguments (a nested array is omitted if one of its placeholders has no value), or one string, split "
      "at spaces",
      "", "Command that starts the program. There is no shell: the value of a placeholder is never split."},
     command<&D::command>},
    {{"args", "", kTexts, "", "More arguments, in place of {args} in the command."}, texts<&D::args>},
    {{"type_args", "", "a table of arrays by type", "",
      "Arguments for models of one type, in place of {type_args} in the command."},
     type_args},
    {{"reserved", "", kTexts, "", "Arguments that `args` must not contain, because corral sets them.", false},
     texts<&D::reserved>},
    {{"cwd", "", kText, "a folder of corral", "Working directory of the program."}, text<&D::cwd>},
    {{"env", "", "a table of texts, or an array of NAME=VALUE", "",
      "Additional environment variables; one whose placeholder has no value is omitted."},
     pairs<&D::env>},
    {{"stop", "cmdStop", "as command", "SIGTERM, then SIGKILL",
      "A command that stops it, for programs that ignore signals (containers)."},
     command<&D::stop>},
    {{"listen", "", "port or socket", "port", "Whether it gets {port}, or {socket}: the path of a Unix socket.", false},
     one_of<Listen, &D::listen, Listen::port, Listen::socket>},
    {{"url", "proxy", "http://HOST:PORT, optionally with a path", "",
      "Its address: of kind attach, or of a program with a fixed port. {port} is the port that corral chose."},
     url},
    {{"ready", "checkEndpoint", "a path, none, or a table of path, status and deadline",
      "/health, 200, a minute and more for large files", "Readiness check: this path returns this status."},
     ready},
    {{"watch", "", kFlag, "true",
      "Ping it while it works and loads, and kill it if it does not respond; false for programs that do not respond "
      "meanwhile."},
     flag<&D::watch>},
    {{"paths", "", "a table of paths by endpoint", "", "Its path for each endpoint; it serves no other endpoints."},
     paths},
    {{"model_name", "useModelName", kText, "{id}", "Sent to it as `model`; empty: as the client sent it."},
     text<&D::model_name>},
    {{"headers", "", "a table of texts", "", "Sent to it with every request, such as a key: \"Bearer {env.NAME}\"."},
     pairs<&D::headers>},
    {{"strip", "", kTexts, "", "Request fields that are not sent to it, also of forms."}, texts<&D::strip>},
    {{"set", "", "a table", "", "Request fields that replace those of the client, also of forms."}, set_fields},
    {{"filters", "filters", "a table of strip and set", "", "The same two, in the format of llama-swap."}, filters},
    {{"concurrency", "concurrencyLimit", "a whole number from 0 to 100000", "0, any number",
      "Concurrent requests to it; others wait."},
     concurrency},
    {{"request_timeout", "", "a time such as 90s or 10m", "10m",
      "A request ends with an error after so long without progress: the program takes and sends no byte of it."},
     request_timeout},
    {{"cancel", "", "close or restart", "close",
      "How a request ends whose client has left: its connection is closed, or the program, which would continue to "
      "work, is started again (needs concurrency = 1).",
      false},
     one_of<Cancel, &D::cancel, Cancel::close, Cancel::restart>},
    {{"image_requests", "", "openai or sd-cpp", "openai",
      "Format of requests for images: OpenAI's, or that of stable-diffusion.cpp's server.", false},
     one_of<ImageRequests, &D::image_requests, ImageRequests::openai, ImageRequests::sd_cpp>},
    {{"input", "", kText, "input", "Kind exec: the request field that goes to standard input."}, text<&D::input>},
    {{"output", "", kText, "", "Kind exec: the type of the output, such as audio/wav."}, text<&D::output>},
    {{"device", "", "cpu, gpu or npu, or an array of them", "cpu",
      "Device that it computes on; gpu applies only if the machine has one."},
     device<&D::device>},
    {{"devices", "", "an array of cpu, gpu and npu", "as device", "Devices that a model may select.", false},
     device<&D::possible>},
    {{"npu", "", "one of none, exclusive and coexist", "none",
      "NPU: exclusive use, or shared with models of the same recipe and other types.", false},
     one_of<NpuUse, &D::npu, NpuUse::none, NpuUse::exclusive, NpuUse::coexist>},
    {{"memory", "", "a sum such as files*1.2+200MiB", "files*1.2+256MiB",
      "Memory of a load before the first measurement; afterwards the measured memory applies."},
     memory},
    {{"proved", "", "real or contract", "contract",
      "real: corral's tests run the program itself. contract: the descriptor follows the documentation.", false},
     one_of<Proved, &D::proved, Proved::real, Proved::contract>},
    {{"version", "", kText, "", "Version of the program that the descriptor was written for.", false},
     text<&D::version>},
    {{"source", "", kText, "", "Source of its flags, paths and readiness check.", false}, text<&D::source>},
    {{"licence", "", kText, "", "Licence of the program.", false}, text<&D::licence>},
    {{"install", "", kText, "", "Command that installs it; errors contain it.", false}, text<&D::install>},
});

const Row* row_of_key(std::string_view key) {
  const auto row = std::ranges::find_if(
      kRows, [&](const Row& known) { return known.key == key || (!known.synonym.empty() && known.synonym == key); });
  return row == kRows.end() ? nullptr : &*row;
}

std::string shown(const toml::node& value) {
  const auto value_read = to_json(value);
  constexpr std::size_t kLongest = 80;
  if (!value_read) return "it";
  return value_read->size() <= kLongest ? *value_read : value_read->substr(0, kLongest) + "...";
}

}  // namespace

std::span<const DescriptorField> descriptor_fields() {
  static const auto rows = [] {
    std::vector<DescriptorField> fields;
    for (const Row& row : kRows) fields.push_back(row);
    return fields;
  }();
  return rows;
}

Result<> read_fields(const toml::table& table, Of of, const std::string& file, Descriptor& into,
                     const OtherKey& other) {
  for (const auto& [key, value] : table) {
    const std::string where = fmt::format("{}:{}", file, key.source().begin.line);
    const std::string name(key.str());
    const Row* const row = row_of_key(name);
    if (row == nullptr || (of == Of::model && !row->of_models)) {
      if (other) {
        const auto known = other(name, value, where);
        if (!known) return std::unexpected(known.error());
        if (*known) continue;
      }
      if (row != nullptr)
        return fail(external::errc::bad_descriptor, fmt::format("{}: {}: only a descriptor can set that", where, name),
                    name);
      std::vector<std::string_view> keys;
      for (const Row& known : kRows) keys.push_back(known.key);
      return fail(
          external::errc::bad_descriptor,
          fmt::format("{}: unknown key '{}'{}", where, name, config::did_you_mean(config::closest_of(name, keys))),
          name);
    }
    const auto wrong = row->read(value, into);
    if (wrong.empty()) continue;
    const auto why = wrong == kNotThat ? fmt::format("{} is not {}", shown(value), row->kind) : wrong;
    return fail(external::errc::bad_descriptor, fmt::format("{}: {}: {}", where, name, why), name);
  }
  return {};
}

Result<> check_whole(const Descriptor& descriptor, const std::string& where) {
  const auto wrong = [&](std::string_view key, std::string_view why) {
    return fail(external::errc::bad_descriptor, fmt::format("{}: {}: {}", where, key, why), std::string(key));
  };
  if (descriptor.recipe.empty()) return wrong("recipe", "it needs a name");
  if (descriptor.types.empty()) return wrong("types", "it serves no model type");
  if (descriptor.kind == ServerKind::attach) {
    if (descriptor.url.empty()) return wrong("url", "a server that already runs needs an address");
    if (!descriptor.command.empty()) return wrong("command", "corral does not start a server that already runs");
    if (descriptor.npu != NpuUse::none) return wrong("npu", "a server that already runs takes no NPU slot");
  } else if (descriptor.command.empty()) {
    return wrong("command", "it needs a command");
  } else if (descriptor.command.front().optional) {
    return wrong("command", "its first argument is the program, which cannot be omitted");
  }
  if (!descriptor.url.empty() && !parse_address(url_at(descriptor, 1)))
    return wrong("url", fmt::format("'{}' is not an address such as http://127.0.0.1:8080", descriptor.url));
  if (descriptor.kind == ServerKind::attach && chooses_port(descriptor))
    return wrong("url", "a server that already runs has a fixed port");
  if (descriptor.kind == ServerKind::server && chooses_port(descriptor)) {
    const std::string_view address = descriptor.listen == Listen::port ? "{port}" : "{socket}";
    const bool has_model = std::ranges::any_of(descriptor.command,
                                               [&](const CommandPart& part) {
                                                 return std::ranges::any_of(part.words, [&](const std::string& word) {
                                                   return with_own_words(word).contains(address);
                                                 });
                                               }) ||
                           std::ranges::any_of(descriptor.env, [&](const auto& entry) {
                             return with_own_words(entry.second).contains(address);
                           });
    if (!has_model)
      return wrong("command", fmt::format("the command does not set the address to listen on: it needs {}", address));
  }
  if (descriptor.kind == ServerKind::exec && descriptor.output.empty())
    return wrong("output", "it needs the type of the output");
  if (descriptor.cancel == Cancel::restart && (descriptor.kind != ServerKind::server || descriptor.concurrency != 1))
    return wrong("cancel",
                 "a restart ends all requests of the program: it needs kind = \"server\" and concurrency = 1");
  if (descriptor.paths.empty() && descriptor.kind != ServerKind::exec)
    return wrong("paths", "it needs at least one endpoint");
  for (const auto& word : descriptor.args) {
    const auto taken = [&](const std::string& flag) { return word == flag || word.starts_with(flag + "="); };
    if (std::ranges::any_of(descriptor.reserved, taken))
      return wrong("args", fmt::format("'{}' is set by corral and cannot be changed", word));
  }
  return {};
}

}  // namespace corral::backends
