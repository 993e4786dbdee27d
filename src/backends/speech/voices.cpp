#include "backends/speech/voices.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <sstream>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/errors.h"
#include "base/close_names.h"
#include "base/text.h"
#include "json/peek.h"
#include "json/writer.h"
#include "protocol/errors.h"

namespace corral::backends {
namespace {

constexpr std::string_view kEspeak = "espeak-ng";
constexpr std::string_view kUsualVoice = "en-us";
constexpr std::size_t kMaxVoices = 1'000;
constexpr std::size_t kMaxHints = 3;
constexpr std::chrono::seconds kListTime{10};
constexpr double kUsualSpeed = 175;  // words a minute
constexpr double kSlowest = 80, kFastest = 450;

// OpenAI's voices, so that clients written for them work. The variants differ in the same way: pitch and gender.
constexpr auto kOpenAis = std::to_array<OpenaiVoice>({
    {"alloy", "en-us"},
    {"ash", "en-us+m3"},
    {"ballad", "en-gb+m5"},
    {"cedar", "en-us+m4"},
    {"coral", "en-us+f3"},
    {"echo", "en-us+m1"},
    {"fable", "en-gb"},
    {"marin", "en-us+f1"},
    {"nova", "en-us+f2"},
    {"onyx", "en-us+m7"},
    {"sage", "en-us+f4"},
    {"shimmer", "en-us+f5"},
    {"verse", "en-gb+m2"},
});

bool is_variant(std::string_view text) {
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); };
  return !text.empty() && text.size() <= 16 && std::ranges::all_of(text, plain);
}

// By `id`, then by name, file and language. `name` is in lower case.
const Voice* find_voice(std::string_view name, const VoiceList& voices) {
  const auto same = [name](std::string_view one) { return to_lower(one) == name; };
  const auto find = [&](auto fits) -> const Voice* {
    const auto found = std::ranges::find_if(voices, fits);
    return found != voices.end() ? &*found : nullptr;
  };
  if (const auto* voice = find([&](const Voice& one) { return same(one.id); })) return voice;
  std::string spaced(name);
  std::ranges::replace(spaced, '_', ' ');
  if (const auto* voice = find([&](const Voice& one) { return to_lower(one.name) == spaced || same(one.file); }))
    return voice;
  return find([&](const Voice& one) { return std::ranges::any_of(one.aliases, same); });
}

// " (did you mean a or b?)", or nothing.
std::string did_you_mean(std::string_view name, const VoiceList& voices) {
  std::vector<std::string> names;
  for (const auto& voice : voices) {
    names.push_back(voice.id);
    names.push_back(voice.name);
    names.insert(names.end(), voice.aliases.begin(), voice.aliases.end());
  }
  for (const auto& voice : kOpenAis) names.emplace_back(voice.name);
  const auto close = close_names(name, names, kMaxHints);
  return close.empty() ? "" : fmt::format(" (did you mean {}?)", fmt::join(close, " or "));
}

// "(zh-cmn 5)(zh 5)": the languages that a voice may serve, the least number first.
struct OtherLanguage {
  std::string name;
  std::size_t voice = 0;
  int priority = 0;
};
void read_other_languages(std::istream& words, std::size_t voice, std::vector<OtherLanguage>& into) {
  std::string rest;
  std::getline(words, rest);
  std::ranges::replace_if(rest, [](char c) { return c == '(' || c == ')'; }, ' ');
  std::istringstream pairs(rest);
  OtherLanguage other{{}, voice};
  while (pairs >> other.name >> other.priority) into.push_back(other);
}

void add_aliases(VoiceList& voices, std::vector<OtherLanguage> others) {
  std::ranges::sort(others, {},
                    [](const OtherLanguage& other) { return std::tuple(other.priority, other.voice, other.name); });
  std::set<std::string> taken;
  for (const auto& voice : voices) taken.insert(voice.id);
  for (const auto& other : others)
    if (taken.insert(other.name).second) voices[other.voice].aliases.push_back(other.name);
}

Result<std::string> espeak_voice(std::string_view requested, const VoiceList& voices) {
  if (requested.empty()) return std::string(kUsualVoice);
  const auto openais = std::ranges::find(kOpenAis, requested, &OpenaiVoice::name);
  if (openais != kOpenAis.end()) return std::string(openais->own);
  const auto plus = requested.find('+');
  const auto base = to_lower(requested.substr(0, plus));
  const auto* const found = find_voice(base, voices);
  const bool variant = plus == std::string_view::npos || is_variant(requested.substr(plus + 1));
  if (found == nullptr || !variant) {
    return fail(protocol::errc::bad_value,
                fmt::format("unknown voice \"{:.64}\"{}: GET /v1/audio/voices lists all; a variant may follow a voice, "
                            "such as en-us+f2",
                            requested, did_you_mean(base, voices)),
                "voice");
  }
  return plus == std::string_view::npos ? found->id : fmt::format("{}{}", found->id, requested.substr(plus));
}

}  // namespace

std::span<const OpenaiVoice> openai_voices() { return kOpenAis; }
bool speaks_by_espeak(const models::ModelInfo& model) { return model.recipe == kEspeak; }

VoiceList read_espeak_voices(std::string_view listing) {
  VoiceList voices;
  std::set<std::string> seen;
  std::vector<OtherLanguage> others;
  std::istringstream lines{std::string(listing)};
  std::string line;
  std::getline(lines, line);  // the heads of the columns
  while (std::getline(lines, line) && voices.size() < kMaxVoices) {
    std::istringstream words(line);
    std::string priority, language, about, name, file;
    if (!(words >> priority >> language >> about >> name)) continue;
    words >> file;
    const auto id = seen.insert(language).second ? language : file;
    if (id.empty()) continue;
    std::ranges::replace(name, '_', ' ');
    const std::string gender = about.ends_with("/M") ? "male" : about.ends_with("/F") ? "female" : "";
    read_other_languages(words, voices.size(), others);
    voices.push_back({id, name, language, gender, file});
  }
  add_aliases(voices, std::move(others));
  return voices;
}

Result<std::string> espeak_body(const std::string& body, const VoiceList& voices) {
  const auto peek = json::Peek::open(body);
  if (!peek) return std::unexpected(peek.error());
  const auto root = peek->root();
  auto voice = espeak_voice(root.find("voice").as_string(), voices);
  if (!voice) return std::unexpected(std::move(voice.error()));
  const auto speed = root.find("speed");
  const double factor = speed.is_null() ? 1 : speed.as_number();
  const auto words = std::lround(std::clamp(kUsualSpeed * factor, kSlowest, kFastest));
  std::string own;
  json::Writer out(own);
  out.begin_object();
  root.each_member([&out](std::string_view name, json::View value) {
    if (name != "voice" && name != "words_per_minute") out.any_key(name).raw(value.text());
  });
  out.field("voice", *voice).field("words_per_minute", words).end_object();
  return own;
}

async::Task<Result<std::shared_ptr<const VoiceList>>> Voices::of(const models::ModelInfo& model) {
  if (!speaks_by_espeak(model)) {
    co_return fail(protocol::errc::unsupported_value,
                   fmt::format("the backend of '{}' ({}) does not list its voices", model.name.value(), model.recipe),
                   "model");
  }
  {
    const MutexLock lock(mutex_);
    if (espeak_) co_return espeak_;
  }
  auto asking = ask_espeak();
  co_return co_await std::move(asking);
}

async::Task<Result<std::string>> Voices::fitted(std::string body, const models::ModelInfo& model) {
  if (!speaks_by_espeak(model)) co_return body;
  auto asking = of(model);
  const auto voices = co_await std::move(asking);
  if (!voices) co_return std::unexpected(voices.error());
  co_return espeak_body(body, **voices);
}

async::Task<Result<std::shared_ptr<const VoiceList>>> Voices::ask_espeak() {
  const auto program = program_();
  if (program.empty()) {
    co_return fail(errc::backend_not_installed, "espeak-ng is not installed: apt-get install espeak-ng");
  }
  const auto listing = std::make_shared<std::string>();
  proc::ChildSpec spec{.name = "voices of espeak-ng", .argv = {program, "--voices"}};
  spec.on_line = [listing](const proc::LogLine& line) {
    if (!line.from_stderr && listing->size() < (1 << 20)) listing->append(line.text).push_back('\n');
  };
  auto spawning = spawner_.spawn(std::move(spec));
  const auto child = co_await std::move(spawning);
  if (!child) co_return std::unexpected(child.error());
  auto waiting = async::with_timeout(timers_, kListTime, (*child)->wait());
  const auto status = co_await std::move(waiting);
  if (!status) {  // the end of `child` kills it
    co_return fail(errc::load_failed,
                   fmt::format("espeak-ng did not list its voices within {} s: try it with: {} --voices",
                               kListTime.count(), program));
  }
  auto voices = std::make_shared<const VoiceList>(read_espeak_voices(*listing));
  if (voices->empty())
    co_return fail(errc::load_failed, fmt::format("espeak-ng lists no voices: it {}", status->describe()));
  const MutexLock lock(mutex_);
  espeak_ = voices;
  co_return voices;
}

}  // namespace corral::backends
