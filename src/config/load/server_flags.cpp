// Long because it is one table.
#include "config/load/server_flags.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/close_names.h"
#include "base/state_file.h"
#include "config/errors.h"
#include "config/options/option.h"
#include "config/options/value.h"
#include "json/value.h"

namespace corral::config {
namespace {

namespace fs = std::filesystem;

// The result of the flags so far.
struct Built {
  const FileText& file;
  std::vector<std::string> words = {};
  std::string args = {};                             // for llamacpp_args
  std::map<std::string, std::string> requests = {};  // JSON by field
  std::vector<std::string> without_effect = {};
  std::set<std::string, std::less<>> names = {};  // of all flags
  bool unified = false;                           // the last of -kvu and -no-kvu
  std::string hub_model = {}, hub_file = {};
};

enum class Means {
  setting,  // `to` is a flag here, which gets the value; or a whole word, if the flag takes none
  args,     // `to` is the flag in llamacpp_args
  files,    // the same; the value names files
  number,   // `to` is a field of requests
  text,
  list,  // words separated by semicolons
  json,
  fixed,    // `to` is a field and its value, "cache_prompt=false"
  special,  // handled by take()
  ignored,
  refused,
};

struct Row {
  std::string_view names;  // separated by spaces
  std::string_view value;  // its name; empty: the flag takes none
  Means means;
  std::string_view to = {};     // of refused: why, and the alternative; of ignored: why it isn't needed
  std::string_view about = {};  // of special: its meaning here, for people
  Result<> (*take)(Built& built, std::string_view value) = nullptr;
};

Result<> no_value(std::string_view value) {
  return fail(errc::invalid_value, fmt::format("invalid value '{}'", value));
}

void set(Built& built, std::string_view flag, std::string_view value) {
  built.words.push_back(fmt::format("{}={}", flag, value));
}

Result<> add_words(Built& built, std::string_view flag, std::string_view value) {
  const char quote = value.contains('"') ? '\'' : '"';
  if (value.contains(quote)) return no_value(value);
  built.args += fmt::format("{}{} {}{}{}", built.args.empty() ? "" : " ", flag, quote, value, quote);
  return {};
}

// Makes the paths absolute, so that the engine finds them.
std::string absolute(std::string_view files) {
  std::string all;
  for (std::size_t begin = 0; begin <= files.size();) {
    const auto end = std::min(files.find(',', begin), files.size());
    if (begin > 0) all += ',';
    all += fs::absolute(files.substr(begin, end - begin)).native();
    begin = end + 1;
  }
  return all;
}

Result<> json_text(Built& built, std::string_view field, std::string_view value) {
  if (!json::parse(value)) return no_value(value);
  built.requests[std::string(field)] = value;
  return {};
}

std::string json_quoted(std::string_view text) { return json::serialize(json::Value(std::string(text))); }

std::string list_of(std::string_view value) {
  json::Array words;
  for (std::size_t begin = 0; begin <= value.size();) {
    const auto end = std::min(value.find(';', begin), value.size());
    if (end > begin) words.emplace_back(std::string(value.substr(begin, end - begin)));
    begin = end + 1;
  }
  return json::serialize(json::Value(std::move(words)));
}

Result<> model(Built& built, std::string_view value) {
  std::string ending(value.substr(value.size() - std::min<std::size_t>(value.size(), 5)));
  std::ranges::transform(ending, ending.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
  set(built, ending == ".gguf" ? "--model-file" : "--model", value);
  return {};
}

// A value below one means automatic.
Result<> threads(Built& built, std::string_view value) {
  const auto number = parse_int(value);
  if (!number) return no_value(value);
  set(built, "--threads", *number > 0 ? value : "auto");
  return {};
}
Result<> parallel(Built& built, std::string_view value) {
  const auto number = parse_int(value);
  if (!number) return no_value(value);
  if (*number > 0) set(built, "--parallel", value);
  return {};
}
Result<> take_unified(Built& built, std::string_view) {
  built.unified = true;
  return {};
}
Result<> take_divided(Built& built, std::string_view) {
  built.unified = false;
  return {};
}
Result<> models_max(Built& built, std::string_view value) {
  const auto number = parse_int(value);
  if (!number || *number < 0) return no_value(value);
  set(built, "--max-loaded-models", *number == 0 ? "-1" : value);
  return {};
}

Result<> sleep_idle(Built& built, std::string_view value) {
  const auto seconds = parse_int(value);
  if (!seconds) return no_value(value);
  if (*seconds < 0) return {};
  built.words.emplace_back("--auto-evict");
  set(built, "--evict-idle-timeout", fmt::format("{}s", *seconds));
  return {};
}

Result<> hub_model(Built& built, std::string_view value) {
  if (value.empty()) return no_value(value);
  built.hub_model = value;
  return {};
}
Result<> hub_file(Built& built, std::string_view value) {
  if (value.empty()) return no_value(value);
  built.hub_file = value;
  return {};
}

Result<> cors_origins(Built& built, std::string_view value) {
  set(built, "--allowed-origins", value);
  return {};
}
Result<> verbose(Built& built, std::string_view) {
  set(built, "--log-level", "debug");
  built.requests["verbose"] = "true";
  return {};
}
Result<> verbosity(Built& built, std::string_view value) {
  constexpr std::string_view kLevels[] = {"error", "error", "warning", "info", "debug", "trace"};
  const auto level = parse_int(value);
  if (!level) return no_value(value);
  set(built, "--log-level", kLevels[static_cast<std::size_t>(std::clamp<std::int64_t>(*level, 0, 5))]);
  return {};
}

Result<> pooling(Built& built, std::string_view value) {
  if (value == "rank") {
    set(built, "--model-type", "reranking");
    return {};
  }
  set(built, "--model-type", "embedding");
  return add_words(built, "--pooling", value);
}

Result<> reasoning(Built& built, std::string_view value) {
  if (value != "on" && value != "off" && value != "auto") return no_value(value);
  if (value != "auto") built.requests["enable_thinking"] = value == "on" ? "true" : "false";
  return {};
}
Result<> reasoning_budget(Built& built, std::string_view value) {
  const auto budget = parse_int(value);
  if (!budget || *budget < -1) return no_value(value);
  if (*budget > 0) return fail(errc::invalid_value, "thinking can be off (0) or unlimited (-1), but has no budget");
  if (*budget == 0) built.requests["enable_thinking"] = "false";
  return {};
}
Result<> effort(Built& built, std::string_view value) {
  if (value != "default") built.requests["reasoning_effort"] = json_quoted(value);
  return {};
}

Result<> template_file(Built& built, std::string_view value) {
  const auto text = built.file(value);
  if (!text) return std::unexpected(text.error());
  set(built, "--chat-template", *text);
  return {};
}
Result<> grammar_file(Built& built, std::string_view value) {
  const auto text = built.file(value);
  if (!text) return std::unexpected(text.error());
  built.requests["grammar"] = json_quoted(*text);
  return {};
}
Result<> schema_file(Built& built, std::string_view value) {
  const auto text = built.file(value);
  if (!text) return std::unexpected(text.error());
  return json_text(built, "json_schema", *text);
}

Result<> key_file(Built& built, std::string_view value) {
  const auto text = built.file(value);
  if (!text) return std::unexpected(text.error());
  std::vector<std::string_view> keys;
  for (std::string_view rest = *text; !rest.empty();) {
    const auto end = std::min(rest.find('\n'), rest.size());
    auto line = rest.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty() && !line.starts_with('#')) keys.push_back(line);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (keys.size() != 1) {
    return fail(errc::invalid_value, fmt::format("the file has {} keys, but only one is supported; create others, each "
                                                 "with its own rights, with corral key create",
                                                 keys.size()));
  }
  set(built, "--api-key", keys.front());
  return {};
}

constexpr std::string_view kAlways = "always on";
constexpr std::string_view kOwn = "the engine decides this";
constexpr std::string_view kRope = "the context of a model is its trained context";
constexpr std::string_view kNoDownload =
    "only a model of -hf is downloaded at the start: give its name with -hf, or the file with -m";
constexpr std::string_view kTools = "tools run at the client: there are no built-in tools and no MCP servers";
constexpr std::string_view kPlace = "use -ngl, --split-mode and --tensor-split to place weights";
constexpr std::string_view kPictureTokens = "the projector's file sets the number of tokens of a picture";

constexpr Row kRows[] = {
    {"-m", "FILE", Means::setting, "--model-file"},
    {"--model",
     "FILE",
     Means::special,
     {},
     "`--model-file` for a name that ends with .gguf; else `--mesh-models`",
     model},
    {"-hf -hfr --hf-repo", "ORG/REPO:QUANT", Means::special, {}, "`--hub-model`", hub_model},
    {"-hff --hf-file", "FILE", Means::special, {}, "`--hub-model` with the repository of -hf and this file", hub_file},
    {"-a", "NAME,...", Means::setting, "--alias"},
    {"-c", "N", Means::setting, "--ctx-size"},
    {"-np --parallel",
     "N",
     Means::special,
     {},
     "`--parallel`; below 1: the default; with `-c`: a request gets at most its part of the context, unless `-kvu` is "
     "given",
     parallel},
    {"-kvu --kv-unified", "", Means::special, {}, "a request may use the whole context of `-c`", take_unified},
    {"-no-kvu --no-kv-unified", "", Means::special, {}, "the opposite of `-kvu`; the default", take_divided},
    {"-t --threads", "N", Means::special, {}, "`--threads`; below 1: automatic", threads},
    {"--models-max", "N", Means::special, {}, "`--max-loaded-models`; 0: -1", models_max},
    {"--sleep-idle-seconds",
     "N",
     Means::special,
     {},
     "`--auto-evict` with `--evict-idle-timeout`; -1: never",
     sleep_idle},
    {"--embedding --embeddings", "", Means::setting, "--model-type=embedding"},
    {"--rerank --reranking", "", Means::setting, "--model-type=reranking"},
    {"--pooling",
     "KIND",
     Means::special,
     {},
     "none, mean, cls, last: an embedding model with this `pooling`; rank: `--rerank`",
     pooling},
    {"--chat-template-file",
     "FILE",
     Means::special,
     {},
     "`--chat-template` with the contents of the file",
     template_file},
    {"--api-key-file", "FILE", Means::special, {}, "`--api-key` with the only key in the file", key_file},
    {"--cors-origins",
     "ORIGIN,...",
     Means::special,
     {},
     "`--allowed-origins`; *, also with `--api-key` of one model: all origins, if the server requires keys",
     cors_origins},
    {"-v --verbose --log-verbose",
     "",
     Means::special,
     {},
     "`--log-level=debug`, and the default `verbose=true` of requests",
     verbose},
    {"--log-disable", "", Means::setting, "--log-level=none"},
    {"-lv --verbosity --log-verbosity", "N", Means::special, {}, "`--log-level`", verbosity},

    {"-b --batch-size", "N", Means::args, "-b"},
    {"-ngl --gpu-layers --n-gpu-layers", "N", Means::args, "-ngl"},
    {"-dev --device", "NAME,...", Means::args, "-dev"},
    {"-sm --split-mode", "MODE", Means::args, "-sm"},
    {"-ts --tensor-split", "N,...", Means::args, "-ts"},
    {"-mg --main-gpu", "N", Means::args, "-mg"},
    {"-fa --flash-attn", "on|off|auto", Means::args, "-fa"},
    {"-ctk --cache-type-k", "TYPE", Means::args, "-ctk"},
    {"-ctv --cache-type-v", "TYPE", Means::args, "-ctv"},
    {"-cram --cache-ram", "MIB", Means::args, "-cram"},
    {"--swa-full", "", Means::args, "--swa-full"},
    {"--mlock", "", Means::args, "--mlock"},
    {"--mmap", "", Means::args, "--mmap"},
    {"--no-mmap", "", Means::args, "--no-mmap"},
    {"--lora", "FILE,...", Means::files, "--lora"},
    {"--lora-scaled", "FILE:SCALE,...", Means::files, "--lora-scaled"},
    {"-md --model-draft --spec-draft-model", "FILE", Means::files, "-md"},
    {"--draft --draft-n --draft-max --spec-draft-n-max", "N", Means::args, "--draft"},
    {"-mm --mmproj", "FILE", Means::files, "--mmproj"},
    {"--no-mmproj --no-mmproj-auto", "", Means::args, "--no-mmproj"},
    {"--mmproj-auto", "", Means::args, "--mmproj-auto"},
    {"--mmproj-offload", "", Means::args, "--mmproj-offload"},
    {"--no-mmproj-offload", "", Means::args, "--no-mmproj-offload"},

    {"--temp --temperature", "N", Means::number, "temperature"},
    {"--top-k", "N", Means::number, "top_k"},
    {"--top-p", "N", Means::number, "top_p"},
    {"--min-p", "N", Means::number, "min_p"},
    {"--top-nsigma --top-n-sigma", "N", Means::number, "top_n_sigma"},
    {"--xtc-probability", "N", Means::number, "xtc_probability"},
    {"--xtc-threshold", "N", Means::number, "xtc_threshold"},
    {"--typical --typical-p", "N", Means::number, "typical_p"},
    {"--repeat-last-n", "N", Means::number, "repeat_last_n"},
    {"--repeat-penalty", "N", Means::number, "repeat_penalty"},
    {"--presence-penalty", "N", Means::number, "presence_penalty"},
    {"--frequency-penalty", "N", Means::number, "frequency_penalty"},
    {"--dry-multiplier", "N", Means::number, "dry_multiplier"},
    {"--dry-base", "N", Means::number, "dry_base"},
    {"--dry-allowed-length", "N", Means::number, "dry_allowed_length"},
    {"--dry-penalty-last-n", "N", Means::number, "dry_penalty_last_n"},
    {"--adaptive-target", "N", Means::number, "adaptive_target"},
    {"--adaptive-decay", "N", Means::number, "adaptive_decay"},
    {"--dynatemp-range", "N", Means::number, "dynatemp_range"},
    {"--dynatemp-exp", "N", Means::number, "dynatemp_exponent"},
    {"--mirostat", "N", Means::number, "mirostat"},
    {"--mirostat-lr", "N", Means::number, "mirostat_eta"},
    {"--mirostat-ent", "N", Means::number, "mirostat_tau"},
    {"-s --seed", "N", Means::number, "seed"},
    {"-n --predict --n-predict", "N", Means::number, "n_predict"},
    {"--sse-ping-interval", "SECONDS", Means::number, "sse_ping_interval"},
    {"--embd-normalize", "N", Means::number, "embd_normalize"},
    {"--samplers", "NAME;...", Means::list, "samplers"},
    {"--sampler-seq --sampling-seq", "LETTERS", Means::text, "samplers"},
    {"--grammar", "GBNF", Means::text, "grammar"},
    {"--grammar-file", "FILE", Means::special, {}, "the field `grammar`", grammar_file},
    {"-j --json-schema", "JSON", Means::json, "json_schema"},
    {"-jf --json-schema-file", "FILE", Means::special, {}, "the field `json_schema`", schema_file},
    {"--ignore-eos", "", Means::fixed, "ignore_eos=true"},
    {"--context-shift", "", Means::fixed, "context_shift=true"},
    {"--keep", "N", Means::number, "n_keep"},
    {"--no-cache-prompt", "", Means::fixed, "cache_prompt=false"},
    {"--chat-template-kwargs", "JSON", Means::json, "chat_template_kwargs"},
    {"--reasoning-format", "FORMAT", Means::text, "reasoning_format"},
    {"-rea --reasoning", "on|off|auto", Means::special, {}, "the field `enable_thinking`", reasoning},
    {"--reasoning-effort", "LEVEL", Means::special, {}, "the field `reasoning_effort`", effort},
    {"--reasoning-budget",
     "N",
     Means::special,
     {},
     "0: the field `enable_thinking` is false; -1: nothing",
     reasoning_budget},

    {"--jinja -cb --cont-batching --cache-prompt --metrics --props --no-ui --no-webui --no-context-shift", "",
     Means::ignored, kAlways},
    {"--warmup --no-warmup --perf --no-perf --kv-offload -kvo --repack --op-offload --no-host "
     "--no-repack -nr --no-op-offload --cache-idle-slots --no-cache-idle-slots --check-tensors -bs --backend-sampling "
     "--escape -e --no-escape --prefill-assistant --reasoning-preserve --no-agent -no-ag "
     "--spec-default --no-skip-chat-parsing",
     "", Means::ignored, kOwn},
    {"--log-prefix --no-log-prefix --log-timestamps --no-log-timestamps --no-log-jsonl", "", Means::ignored,
     "the log has one format"},
    {"-ub --ubatch-size -tb --threads-batch --prio --prio-batch --poll --poll-batch "
     "--cpu-strict "
     "--cpu-strict-batch -C --cpu-mask -Cr --cpu-range -Cb --cpu-mask-batch -Crb --cpu-range-batch --numa -dt "
     "--defrag-thold -fit --fit -fitt --fit-target -fitc --fit-ctx -ctxcp --ctx-checkpoints --swa-checkpoints -cms "
     "--checkpoint-min-step --cache-reuse -sps --slot-prompt-similarity -to --timeout --threads-http --log-colors "
     "-lzm --lazy-mode --spec-type --spec-draft-n-min --draft-min --draft-n-min --spec-draft-p-min --draft-p-min "
     "--spec-draft-p-split --draft-p-split -td --threads-draft --spec-draft-threads -ngld --gpu-layers-draft "
     "--n-gpu-layers-draft --spec-draft-ngl -devd --device-draft --spec-draft-device -ctkd --cache-type-k-draft "
     "--spec-draft-type-k -ctvd --cache-type-v-draft --spec-draft-type-v -lcs --lookup-cache-static -lcd "
     "--lookup-cache-dynamic --ui-config --webui-config --ui-config-file --webui-config-file",
     "X", Means::ignored, kOwn},

    {"--no-jinja", "", Means::ignored, "templates are always Jinja"},
    {"--ui --webui", "", Means::refused, "there is no web page"},
    {"--rope-scaling --rope-scale --rope-freq-base --rope-freq-scale --yarn-orig-ctx --yarn-ext-factor "
     "--yarn-attn-factor --yarn-beta-slow --yarn-beta-fast",
     "X", Means::refused, kRope},
    {"-nkvo --no-kv-offload -cmoe --cpu-moe", "", Means::refused, kPlace},
    {"-ncmoe --n-cpu-moe -ncffn --n-cpu-ffn -ot --override-tensor", "X", Means::refused, kPlace},
    {"--override-kv", "X", Means::refused, "the model's file sets this"},
    {"--rpc", "X", Means::refused, "use a mesh for several machines: corral mesh create"},
    {"-lm --load-mode", "X", Means::refused, "use --mmap, --no-mmap or --mlock"},
    {"--control-vector --control-vector-scaled --control-vector-layer-range", "X", Means::refused,
     "control vectors are not supported; give adapters with --lora"},
    {"-mu --model-url -dr --docker-repo -hfd -hfrd --hf-repo-draft --spec-draft-hf", "X", Means::refused, kNoDownload},
    {"-hft --hf-token", "X", Means::refused, "set the variable HF_TOKEN: other users of the machine can read flags"},
    {"--embd-gemma-default --fim-qwen-1.5b-default --fim-qwen-3b-default --fim-qwen-7b-default --fim-qwen-7b-spec "
     "--fim-qwen-14b-spec --fim-qwen-30b-default --gpt-oss-20b-default --gpt-oss-120b-default "
     "--vision-gemma-4b-default --vision-gemma-12b-default",
     "", Means::refused, kNoDownload},
    {"-mmu --mmproj-url", "X", Means::refused, kNoDownload},
    {"-mmdev --mmproj-device", "X", Means::refused, "--no-mmproj-offload keeps the projector off the GPU"},
    {"--image-min-tokens --image-max-tokens --mtmd-batch-max-tokens", "X", Means::refused, kPictureTokens},
    {"--video-fps --video-timestamp-interval --video-ffmpeg-dir", "X", Means::refused, "videos are not supported"},
    {"--media-path", "X", Means::refused, "requests contain their pictures: files of the machine are not read"},
    {"--tools --tools-runtime --mcp-servers-config --mcp-servers-json", "X", Means::refused, kTools},
    {"-ag --agent --ui-mcp-proxy --webui-mcp-proxy", "", Means::refused, kTools},
    {"--log-file", "X", Means::refused, "the log goes to standard error: use 2> FILE"},
    {"--log-jsonl", "", Means::refused, "the log consists of lines of text"},
    {"--log-prompts-dir", "X", Means::refused, "prompts are never written to disk"},
    {"--slot-save-path", "X", Means::refused,
     "there are no slots to save: park_mib keeps conversations, --park-on-disk also on disk"},
    {"--kv-unified-per-slot", "X", Means::refused, "requests share the context of -c"},
    {"--no-cont-batching -nocb", "", Means::refused, "requests always run concurrently; use -np 1 for one at a time"},
    {"--reuse-port --cors-credentials --no-cors-credentials", "", Means::refused, "not configurable"},
    {"--cors-methods --cors-headers", "X", Means::refused,
     "pages of --allowed-origins may use all methods and headers"},
    {"--path", "X", Means::refused, "files are not served"},
    {"--api-prefix", "X", Means::refused, "use a proxy for another path"},
    {"--ssl-key-file --ssl-cert-file", "X", Means::refused, "use a proxy for TLS"},
    {"--models-preset", "X", Means::refused, "save options per model: corral load MODEL --save-options"},
    {"-r --reverse-prompt", "X", Means::refused, "stop strings are set per request: 'stop'"},
    {"-l --logit-bias", "X", Means::refused, "set it per request, or in --request-defaults: 'logit_bias'"},
    {"--dry-sequence-breaker", "X", Means::refused, "set it in --request-defaults: 'dry_sequence_breakers'"},
    {"-sp --special", "", Means::refused, "set it per request: 'preserved_tokens' shows control tokens"},
    {"--spm-infill", "", Means::refused,
     "the text before the gap always comes first in a prompt, then the text after it"},
    {"--reasoning-budget-message", "X", Means::refused, "thinking has no budget, so there is no message"},
    {"--no-reasoning-preserve", "", Means::refused, "the template decides about earlier reasoning"},
    {"--skip-chat-parsing", "", Means::refused, "use --reasoning-format none, without tools"},
    {"--no-prefill-assistant", "", Means::refused, "a last message of the assistant is always continued"},
    {"--lora-init-without-apply", "", Means::refused,
     "use --lora-scaled FILE:0: such adapters apply only if a request sets 'lora'"},
    {"-cl --cache-list", "", Means::refused, "corral list shows the models"},
    {"--completion-bash --list-devices", "", Means::refused, "not supported"},
};

bool has_name(std::string_view names, std::string_view name) {
  for (std::size_t begin = 0; begin <= names.size();) {
    const auto end = std::min(names.find(' ', begin), names.size());
    if (names.substr(begin, end - begin) == name) return true;
    begin = end + 1;
  }
  return false;
}

std::vector<std::string> split(std::string_view names) {
  std::vector<std::string> all;
  for (std::size_t begin = 0; begin <= names.size();) {
    const auto end = std::min(names.find(' ', begin), names.size());
    all.emplace_back(names.substr(begin, end - begin));
    begin = end + 1;
  }
  return all;
}

// As in llama-server: --backend_sampling is --backend-sampling. A value behind = stays.
std::string with_dashes(std::string word) {
  if (word.starts_with("--"))
    std::replace(word.begin(), word.begin() + std::ptrdiff_t(std::min(word.find('='), word.size())), '_', '-');
  return word;
}

const Row* find_row(std::string_view name) {
  const auto found = std::ranges::find_if(kRows, [name](const Row& row) { return has_name(row.names, name); });
  return found == std::end(kRows) ? nullptr : &*found;
}

// corral's own flags; true: a value follows.
const std::map<std::string, bool, std::less<>>& own_flags() {
  static const auto all = [] {
    std::map<std::string, bool, std::less<>> flags{{"--config", true}, {"--help", false}, {"-h", false}};
    for (const Option& option : options()) {
      const auto flag = flag_of(option);
      flags[flag] = !is_switch(option);
      if (is_switch(option)) flags["--no-" + flag.substr(2)] = false;
      if (!option.older_flag.empty()) flags[std::string(option.older_flag)] = !is_switch(option);
    }
    return flags;
  }();
  return all;
}

std::unexpected<Error> unknown(std::string_view name) {
  std::vector<std::string> known;
  for (const auto& [flag, takes] : own_flags()) known.push_back(flag);
  for (const Row& row : kRows) std::ranges::move(split(row.names), std::back_inserter(known));
  std::erase_if(known, [](const std::string& flag) { return flag.size() < 4; });  // too short: similar to everything
  const auto close = close_names(name, known, 1);
  const auto hint = close.empty() ? std::string() : fmt::format("; did you mean {}?", close.front());
  return fail(errc::invalid_value, fmt::format("'{}' is not a flag of serve{}", name, hint));
}

Result<> apply(const Row& row, std::string_view name, std::string_view value, Built& built) {
  switch (row.means) {
    case Means::setting:
      row.value.empty() ? built.words.emplace_back(row.to)
                        : built.words.emplace_back(fmt::format("{}={}", row.to, value));
      return {};
    case Means::args:
      if (!row.value.empty()) return add_words(built, row.to, value);
      built.args += fmt::format("{}{}", built.args.empty() ? "" : " ", row.to);
      return {};
    case Means::files:
      return add_words(built, row.to, absolute(value));
    case Means::number:
      if (!parse_number(value)) return no_value(value);
      return json_text(built, row.to, value);
    case Means::text:
      built.requests[std::string(row.to)] = json_quoted(value);
      return {};
    case Means::list:
      built.requests[std::string(row.to)] = list_of(value);
      return {};
    case Means::json:
      return json_text(built, row.to, value);
    case Means::fixed: {
      const auto equals = row.to.find('=');
      built.requests[std::string(row.to.substr(0, equals))] = row.to.substr(equals + 1);
      return {};
    }
    case Means::special:
      return row.take(built, value);
    case Means::ignored:
      built.without_effect.emplace_back(name);
      return {};
    case Means::refused:
      return fail(errc::invalid_value, fmt::format("no equivalent here: {}", row.to));
  }
  return {};
}

// The value of a flag, in one word or in two; the last one is used.
std::string_view value_of(const std::vector<std::string>& words, std::string_view flag) {
  std::string_view value;
  for (std::size_t at = 0; at < words.size(); ++at) {
    const std::string_view word = words[at];
    if (word == flag && at + 1 < words.size()) value = words[at + 1];
    if (word.starts_with(flag) && word.substr(flag.size()).starts_with('=')) value = word.substr(flag.size() + 1);
  }
  return value;
}

// As in llama-server, the -np requests divide the context of -c. --ctx-size and --parallel are names of corral, too:
// they mean this only on a command line that names its model as there.
bool divides_context(const Built& built, const std::vector<std::string>& words) {
  const auto requests = parse_int(value_of(words, "--parallel"));
  if (built.unified || requests.value_or(0) < 2 || value_of(words, "--ctx-size").empty()) return false;
  const auto has = [&built](std::string_view name) { return built.names.contains(name); };
  const bool names_file = has("-m") || (has("--model") && !value_of(words, "--model-file").empty());
  return names_file || !built.hub_model.empty() || (has("-c") && has("-np"));
}

// Combines several flags at the end.
Result<> finish(const Built& built, std::vector<std::string>& words) {
  const auto given = [&](std::string_view flag) {
    return std::ranges::any_of(words, [flag](std::string_view word) {
      return word == flag || (word.starts_with(flag) && word.substr(flag.size()).starts_with('='));
    });
  };
  const auto add = [&](std::string_view flag, const std::string& text) -> Result<> {
    if (text.empty()) return {};
    if (given(flag))
      return fail(errc::invalid_value,
                  fmt::format("'{}' conflicts with flags that it includes: give each setting once", flag));
    words.push_back(fmt::format("{}={}", flag, text));
    return {};
  };
  if (!built.hub_file.empty()) {
    const auto repo = built.hub_model.substr(0, built.hub_model.find(':'));
    if (repo.empty()) return fail(errc::invalid_value, "'--hf-file': needs the repository, with -hf");
    words.push_back(fmt::format("--hub-model={}:{}", repo, built.hub_file));
  } else if (!built.hub_model.empty()) {
    words.push_back(fmt::format("--hub-model={}", built.hub_model));
  }
  // As in llama-server: with the key, requests may come from any page.
  const bool one_model = !value_of(words, "--model-file").empty() || !value_of(words, "--hub-model").empty();
  if (one_model && given("--api-key") && !given("--allowed-origins")) words.emplace_back("--allowed-origins=*");
  std::string args = built.args;
  // One's own arguments decide about this themselves.
  if (divides_context(built, words) && !given("--llamacpp-args"))
    args += fmt::format("{}--no-kv-unified", args.empty() ? "" : " ");
  if (auto fine = add("--llamacpp-args", args); !fine) return fine;
  std::string requests;
  for (const auto& [field, value] : built.requests)
    requests += fmt::format("{}{}:{}", requests.empty() ? "{" : ",", json_quoted(field), value);
  return add("--request-defaults", requests.empty() ? requests : requests + "}");
}

std::string_view group_of(Means means) {
  switch (means) {
    case Means::ignored:
      return "accepted without effect";
    case Means::refused:
      return "refused";
    default:
      return {};
  }
}

std::string what_it_is(const Row& row) {
  switch (row.means) {
    case Means::setting:
      return fmt::format("`{}`", row.to);
    case Means::args:
    case Means::files:
      return fmt::format("`{}` in `--llamacpp-args`", row.to);
    case Means::fixed:
    case Means::number:
    case Means::text:
    case Means::list:
    case Means::json:
      return fmt::format("the default of the request field `{}`", row.to);
    case Means::special:
      return std::string(row.about);
    case Means::ignored:
    case Means::refused:
      break;
  }
  return fmt::format("{}: {}", group_of(row.means), row.to);
}

}  // namespace

Result<std::string> read_text_file(const fs::path& path) {
  constexpr std::size_t kMax = 1 << 20;
  auto text = read_state_file(path, kMax + 1);
  if (!text || !*text) return fail(errc::unreadable_file, fmt::format("'{}' cannot be read", path.native()));
  if ((*text)->size() > kMax)
    return fail(errc::unreadable_file, fmt::format("'{}' is larger than 1 MiB", path.native()));
  return std::move(**text);
}

Result<ServeArguments> translate_server_flags(const std::vector<std::string>& words, const FileText& file) {
  Built built{file};
  for (std::size_t at = 0; at < words.size(); ++at) {
    const std::string word = with_dashes(words[at]);
    const auto equals = word.starts_with("--") ? word.find('=') : std::string::npos;
    const std::string name = word.substr(0, equals);
    const bool alone = equals == std::string::npos;
    const Row* const row = find_row(name);
    built.names.insert(name);
    if (!row) {
      const auto own = own_flags().find(name);
      const bool number = word.size() > 1 && word.find_first_not_of("-.0123456789") == std::string::npos;
      if (own == own_flags().end() && word.starts_with('-') && !number) return unknown(name);
      built.words.push_back(word);
      if (own != own_flags().end() && own->second && alone && at + 1 < words.size()) built.words.push_back(words[++at]);
      continue;
    }
    const auto wrong = [&name](const std::string& why) {
      return fail(errc::invalid_value, fmt::format("'{}': {}", name, why));
    };
    if (row->value.empty() && !alone) return wrong("takes no value");
    // For a rejected flag the reason is more useful than the missing value.
    const bool needed = !row->value.empty() && row->means != Means::refused;
    if (needed && alone && at + 1 == words.size()) return wrong("needs a value");
    std::string value;
    if (needed) value = alone ? words[++at] : word.substr(equals + 1);
    if (auto done = apply(*row, name, value, built); !done) return wrong(done.error().message);
  }
  ServeArguments translated{built.words, std::move(built.without_effect)};
  if (auto done = finish(built, translated.words); !done) return std::unexpected(done.error());
  return translated;
}

std::string server_flags_help() {
  std::string text = "Flags of llama-server (0.5.0) also work; docs/configuration.md lists their equivalents:\n";
  std::string line = " ";
  for (const Row& row : kRows) {
    if (row.means == Means::ignored || row.means == Means::refused) continue;
    const auto name = split(row.names).front() + (row.value.empty() ? "" : " " + std::string(row.value));
    if (line.size() + name.size() + 3 > 100) text += std::exchange(line, " ") + "\n";
    line += (line.size() > 1 ? ", " : " ") + name;
  }
  return text + line + "\n";
}

std::string server_flags_page() {
  std::string page =
      "\n## Flags of llama-server\n\n`corral serve` accepts the flags of llama.cpp's own server (release 0.5.0), so "
      "`llama-server -m FILE …` becomes\n`corral serve -m FILE …`. `LLAMA_ARG_…` variables are not read. Names may "
      "have `_` "
      "instead of `-` inside. At start, one line lists flags\nwithout effect. A flag that would change responses and "
      "has "
      "no equivalent is rejected by name.\n\n| flag | equivalent |\n|---|---|\n";
  for (const Row& row : kRows) {
    std::string names;
    for (const auto& name : split(row.names)) names += fmt::format("{}`{}`", names.empty() ? "" : " ", name);
    std::string value(row.value == "X" ? "" : row.value);
    for (auto bar = value.find('|'); bar != std::string::npos; bar = value.find('|', bar + 2)) value.insert(bar, "\\");
    page += fmt::format("| {}{} | {} |\n", names, value.empty() ? "" : " " + value, what_it_is(row));
  }
  return page;
}

}  // namespace corral::config
