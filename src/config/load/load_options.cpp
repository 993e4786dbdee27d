#include "config/load/load_options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/errors.h"
#include "config/load/llama_args.h"

namespace corral::config {
namespace {

using L = LoadOptions;

constexpr double kLongestIdle = 365.0 * 24 * 3600;

constexpr std::string_view kToggle[] = {"auto", "on", "off"};
constexpr std::string_view kSplitModes[] = {"auto", "none", "layer", "row"};
constexpr std::string_view kPoolings[] = {"auto", "none", "mean", "cls", "last"};
constexpr std::size_t kMaxTemplate = 1 << 20;
// Formats that libllama knows by name; the engine implements them itself, without Jinja. chatml is Jinja.
constexpr std::string_view kTemplateNames[] = {
    "chatml",      "llama2",        "llama2-sys",        "llama2-sys-bos", "llama2-sys-strip",
    "mistral-v1",  "mistral-v3",    "mistral-v3-tekken", "mistral-v7",     "mistral-v7-tekken",
    "phi3",        "phi4",          "falcon3",           "zephyr",         "monarch",
    "gemma",       "orion",         "openchat",          "vicuna",         "vicuna-orca",
    "deepseek",    "deepseek2",     "deepseek3",         "deepseek-ocr",   "command-r",
    "llama3",      "chatglm3",      "chatglm4",          "glmedge",        "minicpm",
    "exaone3",     "exaone4",       "exaone-moe",        "rwkv-world",     "granite",
    "granite-4.0", "granite-4.1",   "gigachat",          "megrez",         "yandex",
    "bailing",     "bailing-think", "bailing2",          "llama4",         "smolvlm",
    "hunyuan-moe", "gpt-oss",       "hunyuan-dense",     "hunyuan-vl",     "kimi-k2",
    "seed_oss",    "grok-2",        "pangu-embedded",    "solar-open"};
constexpr std::size_t kMaxShares = 16;  // maximum of libllama
constexpr std::string_view kCacheTypes[] = {"f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "q5_0", "iq4_nl", "q5_1"};

const std::array kOptions = {
    LoadOption{.key = "ctx_size",
               .field = &L::ctx_size,
               .min = -1,
               .max = 1 << 26,
               .automatic = -1,
               .value_name = "N",
               .help = "Context in tokens; auto (-1): as much as memory allows"},
    LoadOption{.key = "parallel",
               .field = &L::parallel,
               .min = 1,
               .max = 256,
               .value_name = "N",
               .help = "Number of concurrent requests"},
    LoadOption{.key = "kv_unified",
               .field = &L::kv_unified,
               .help = "Let each request use the whole context; off: at most ctx_size / parallel tokens"},
    LoadOption{.key = "batch_size",
               .field = &L::batch_size,
               .min = 1,
               .max = 16'384,
               .value_name = "N",
               .help = "Maximum number of tokens of one forward pass; embedding models choose their own"},
    LoadOption{.key = "workers",
               .field = &L::workers,
               .min = 0,
               .max = 64,
               .automatic = 0,
               .value_name = "N",
               .help = "Contexts on the same weights, each with its own KV cache and threads; auto (0): automatic"},
    LoadOption{.key = "threads",
               .field = &L::threads,
               .min = 0,
               .max = 1024,
               .automatic = 0,
               .value_name = "N",
               .help = "Compute threads; auto (0): all cores"},
    LoadOption{.key = "gpu_layers",
               .field = &L::gpu_layers,
               .min = -1,
               .max = 100'000,
               .automatic = -1,
               .value_name = "N",
               .help = "Layers on the GPU; auto (-1): all that fit"},
    LoadOption{.key = "llamacpp_backend",
               .field = &L::llamacpp_backend,
               .choices = kComputeBackends,
               .older_flag = "--llamacpp",
               .value_name = "NAME",
               .help = "Compute backend: auto, cpu (keeps it off the GPU), cuda, vulkan, rocm or metal"},
    LoadOption{.key = "devices",
               .field = &L::devices,
               .value_name = "NAME",
               .help = "GPU to use, by its name in the engine: CUDA0, Vulkan1; repeatable; default: all"},
    LoadOption{.key = "split_mode",
               .field = &L::split_mode,
               .choices = kSplitModes,
               .value_name = "none|layer|row",
               .help = "How to split across several GPUs: by layers, by rows, or none (one GPU has all)"},
    LoadOption{.key = "tensor_split",
               .field = &L::tensor_split,
               .value_name = "N,N,...",
               .help = "Share of each GPU, in order; default: by free memory"},
    LoadOption{.key = "main_gpu",
               .field = &L::main_gpu,
               .min = 0,
               .max = kMaxShares - 1,
               .value_name = "N",
               .help = "The GPU for split_mode none, counted from 0"},
    LoadOption{.key = "lora",
               .field = &L::lora,
               .names_files = true,
               .value_name = "FILE[:SCALE]",
               .help = "LoRA adapter with its scale; repeatable"},
    LoadOption{.key = "speculative",
               .field = &L::speculative,
               .min = 0,
               .max = 64,
               .value_name = "N",
               .help = "Maximum number of draft tokens; 0: none"},
    LoadOption{.key = "draft_model",
               .field = &L::draft_model,
               .names_files = true,
               .value_name = "FILE",
               .help = "Draft model: a smaller model with the same vocabulary"},
    LoadOption{.key = "mmproj",
               .field = &L::mmproj,
               .names_files = true,
               .none = kNoProjector,
               .value_name = "FILE",
               .help = "Projector for pictures and sound; default: the one beside the model; none: text only"},
    LoadOption{.key = "mmproj_offload",
               .field = &L::mmproj_offload,
               .help = "Use the GPU for the projector, if the model is on a GPU"},
    LoadOption{.key = "flash_attention",
               .field = &L::flash_attention,
               .choices = kToggle,
               .value_name = "auto|on|off",
               .help = "Use flash attention"},
    LoadOption{.key = "cache_type_k",
               .field = &L::cache_type_k,
               .choices = kCacheTypes,
               .value_name = "TYPE",
               .help = "Data type of keys in the KV cache: f16, q8_0, q4_0, ..."},
    LoadOption{.key = "cache_type_v",
               .field = &L::cache_type_v,
               .choices = kCacheTypes,
               .value_name = "TYPE",
               .help = "Data type of values in the KV cache; quantized types need flash attention"},
    LoadOption{.key = "swa_full",
               .field = &L::swa_full,
               .help = "Keep the whole context in layers with a sliding window, so that every prefix can be shared"},
    LoadOption{.key = "mmap", .field = &L::mmap, .help = "Map the file into memory instead of reading it"},
    LoadOption{.key = "mlock", .field = &L::mlock, .help = "Lock its pages in memory"},
    LoadOption{
        .key = "chat_template",
        .field = &L::chat_template,
        .value_name = "TEXT",
        .help =
            "Jinja template for chats instead of the model's own, or a name that llama.cpp knows: chatml, llama3, ..."},
    LoadOption{.key = "pooling",
               .field = &L::pooling,
               .choices = kPoolings,
               .value_name = "none|mean|cls|last",
               .help = "Pooling method of embeddings, instead of the one in the file; none: one per token"},
    LoadOption{.key = "park_bytes",
               .field = &L::park_bytes,
               .min = 0,
               .value_name = "BYTES",
               .help = "Host memory for parked conversations; 0: none"},
    LoadOption{.key = "park_dir", .field = &L::park_dir, .internal = true, .value_name = "DIR", .help = ""},
    LoadOption{.key = "auto_evict",
               .field = &L::auto_evict,
               .reloads = false,
               .help = "Evict it automatically when it is idle or memory is scarce"},
    LoadOption{.key = "downsize_idle_timeout",
               .field = &L::downsize_idle_timeout,
               .min = -1,
               .max = kLongestIdle,
               .reloads = false,
               .value_name = "SECONDS",
               .help = "Idle time before it is downsized; 0: at once, -1: never"},
    LoadOption{.key = "evict_idle_timeout",
               .field = &L::evict_idle_timeout,
               .min = -1,
               .max = kLongestIdle,
               .reloads = false,
               .value_name = "SECONDS",
               .help = "Idle time before it is unloaded; 0: at once, -1: never"},
    LoadOption{.key = "evict_weight_factor",
               .field = &L::evict_weight_factor,
               .min = kAboveZero,
               .max = std::numeric_limits<double>::max(),
               .reloads = false,
               .value_name = "X",
               .help = "Weight: models with a higher value are evicted later"},
    LoadOption{.key = "llamacpp_args",
               .field = &L::llamacpp_args,
               .reloads = false,
               .value_name = "FLAGS",
               .help = "Flags of llama-server with an equivalent here, as one argument"},
    LoadOption{.key = "merge_args",
               .field = &L::merge_args,
               .reloads = false,
               .help = "Merge with the server's own llamacpp_args; otherwise these replace them"},
};

// Reads one JSON value as the kind of the member.
struct Reader {
  const json::Value& value;
  LoadOptions& options;

  bool operator()(std::optional<std::int64_t> L::* member) const {
    if (!value.is_int64()) return false;
    options.*member = value.get_int64();
    return true;
  }
  bool operator()(std::optional<double> L::* member) const {
    if (!value.is_number()) return false;
    options.*member = value.to_number<double>();
    return true;
  }
  bool operator()(std::optional<bool> L::* member) const {
    if (!value.is_bool()) return false;
    options.*member = value.get_bool();
    return true;
  }
  bool operator()(std::optional<Millis> L::* member) const {
    if (!value.is_number() || std::abs(value.to_number<double>()) > kLongestIdle) return false;
    options.*member = Millis(std::llround(value.to_number<double>() * 1000));
    return true;
  }
  bool operator()(std::optional<std::string> L::* member) const {
    const auto* text = value.if_string();
    if (text) options.*member = std::string(*text);
    return text != nullptr;
  }
  bool operator()(std::optional<std::vector<std::string>> L::* member) const {
    const auto* array = value.if_array();
    if (!array || !std::ranges::all_of(*array, [](const json::Value& item) { return item.is_string(); })) return false;
    auto& texts = (options.*member).emplace();
    for (const json::Value& item : *array) texts.emplace_back(item.get_string());
    return true;
  }
};

json::Value json_of(std::int64_t value) { return value; }
// Whole numbers as such: "2", not "2.0".
json::Value json_of(double value) {
  constexpr double kExact = 9007199254740992.0;  // up to here each whole number is a double
  if (std::abs(value) > kExact) return value;
  const auto whole = static_cast<std::int64_t>(value);
  return static_cast<double>(whole) == value ? json::Value(whole) : json::Value(value);
}
json::Value json_of(bool value) { return value; }
json::Value json_of(const std::string& value) { return json::Value(value); }
json::Value json_of(const std::vector<std::string>& value) { return json::Array(value.begin(), value.end()); }
json::Value json_of(Millis value) { return json_of(static_cast<double>(value.count()) / 1000); }

std::optional<double> number_of(const std::optional<std::int64_t>& value) {
  return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
}
std::optional<double> number_of(const std::optional<double>& value) { return value; }
std::optional<double> number_of(const std::optional<Millis>& value) {
  return value ? std::optional(static_cast<double>(value->count()) / 1000) : std::nullopt;
}
std::optional<double> number_of(const auto&) { return std::nullopt; }

std::string range_text(const LoadOption& option) {
  if (option.min == kAboveZero) return "above 0";
  return fmt::format("between {} and {}", option.min, option.max);
}

}  // namespace

std::span<const LoadOption> load_options() { return kOptions; }

const LoadOption* find_load_option(std::string_view key) {
  const auto found = std::ranges::find(kOptions, key, &LoadOption::key);
  return found == kOptions.end() ? nullptr : &*found;
}

bool is_set(const LoadOption& option, const LoadOptions& options) {
  return std::visit([&](auto member) { return (options.*member).has_value(); }, option.field);
}

void unset(const LoadOption& option, LoadOptions& options) {
  std::visit([&](auto member) { (options.*member).reset(); }, option.field);
}

bool read(const LoadOption& option, const json::Value& value, LoadOptions& options) {
  return std::visit(Reader{value, options}, option.field);
}

LoadOptions read_load_options(const json::Value& object) {
  LoadOptions options;
  for (const LoadOption& option : kOptions) {
    if (const auto* value = json::find(object, option.key)) read(option, *value, options);
  }
  return options;
}

json::Value to_json(const LoadOption& option, const LoadOptions& options) {
  const auto convert = [&](auto member) -> json::Value {
    return options.*member ? json_of(*(options.*member)) : json::Value();
  };
  return std::visit(convert, option.field);
}

void write_members(json::Writer& out, const LoadOptions& options, Members which) {
  for (const LoadOption& option : kOptions) {
    if (!is_set(option, options) || (which == Members::of_the_process && !option.reloads)) continue;
    out.key(option.key).raw(json::serialize(to_json(option, options)));
  }
}

namespace {

// The text; null if it is unset or of another kind.
const std::string* text_of(const LoadOption& option, const LoadOptions& options) {
  const auto* const member = std::get_if<std::optional<std::string> L::*>(&option.field);
  return member && options.**member ? &*(options.**member) : nullptr;
}

}  // namespace

Result<std::vector<float>> parse_tensor_split(std::string_view text) {
  const auto wrong = [&] {
    return fail(
        errc::invalid_value,
        fmt::format("'tensor_split' must be up to {} numbers of at least 0, as in \"3,1\", and not all 0; not '{}'",
                    kMaxShares, text),
        "tensor_split");
  };
  std::vector<float> shares;
  float sum = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const auto comma = std::min(rest.find(','), rest.size());
    float share = 0;
    const auto [stop, error] = std::from_chars(rest.data(), rest.data() + comma, share);
    // A trailing comma is invalid.
    if (error != std::errc() || stop != rest.data() + comma || comma + 1 == rest.size()) return wrong();
    if (!std::isfinite(share) || share < 0 || shares.size() == kMaxShares) return wrong();
    shares.push_back(share);
    sum += share;
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  if (!shares.empty() && (sum <= 0 || !std::isfinite(sum))) return wrong();
  return shares;
}

std::int64_t context_of_request(const LoadOptions& options) {
  constexpr std::int64_t kMultiple = 256;  // of the engine and of llama.cpp, which rounds each part up
  const std::int64_t all = std::max<std::int64_t>(options.ctx_size.value_or(0), 0);
  const std::int64_t parts =
      options.kv_unified.value_or(true) ? 1 : std::max<std::int64_t>(options.parallel.value_or(1), 1);
  return parts == 1 ? all : (all / parts + kMultiple - 1) / kMultiple * kMultiple;
}

std::string_view named_projector(const LoadOptions& options) {
  const std::string_view text = options.mmproj ? std::string_view(*options.mmproj) : std::string_view();
  return text == "auto" || text == kNoProjector ? std::string_view() : text;
}

Result<> check_template(const std::string& text) {
  const auto wrong = [](std::string_view why) {
    return fail(errc::invalid_value, fmt::format("'chat_template' {}", why), "chat_template");
  };
  if (text.size() > kMaxTemplate) return wrong("is longer than 1 MiB");
  if (text.empty() || text.find_first_of("{ \n") != std::string::npos) return {};
  if (std::ranges::find(kTemplateNames, text) != std::end(kTemplateNames)) return {};
  return wrong(fmt::format("must be a Jinja template, or one of the names {}; not '{}'",
                           fmt::join(kTemplateNames, ", "), text.substr(0, 100)));
}

Result<> check(const LoadOptions& options) {
  if (auto fine = check_template(options.chat_template.value_or("")); !fine) return fine;
  if (const auto shares = parse_tensor_split(options.tensor_split.value_or("")); !shares)
    return std::unexpected(shares.error());
  for (const LoadOption& option : kOptions) {
    if (const auto* text = text_of(option, options); text && !option.choices.empty()) {
      const std::string_view word = text->empty() ? "auto" : std::string_view(*text);
      if (std::ranges::find(option.choices, word) != option.choices.end()) continue;
      return fail(errc::invalid_value,
                  fmt::format("'{}' must be one of {}, not '{}'", option.key, fmt::join(option.choices, ", "), *text),
                  std::string(option.key));
    }
    const auto number = std::visit([&](auto member) { return number_of(options.*member); }, option.field);
    if (!number || (*number >= option.min && *number <= option.max)) continue;
    return fail(errc::invalid_value, fmt::format("'{}' must be {}, not {}", option.key, range_text(option), *number),
                std::string(option.key));
  }
  if (!options.llamacpp_args) return {};
  const auto parsed = parse_llama_args(*options.llamacpp_args);
  return parsed ? Result<>() : std::unexpected(parsed.error());
}

LoadOptions merge(const LoadOptions& first, const LoadOptions& second) {
  LoadOptions merged = first;
  for (const LoadOption& option : kOptions) {
    const auto fill = [&](auto member) {
      if (!(merged.*member)) merged.*member = second.*member;
    };
    std::visit(fill, option.field);
  }
  return merged;
}

std::uint64_t fingerprint(const LoadOptions& options) {
  std::string text;
  for (const LoadOption& option : kOptions) {
    if (option.reloads) text += json::serialize(to_json(option, options)) + '\n';
  }
  // FNV-1a, so that the value is the same in every build.
  std::uint64_t hash = 14695981039346656037ull;
  for (const unsigned char c : text) hash = (hash ^ c) * 1099511628211ull;
  return hash;
}

LoraFile parse_lora(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon != std::string_view::npos) {
    float scale = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, scale);
    if (error == std::errc() && stop == end) return {std::filesystem::path(text.substr(0, colon)), scale};
  }
  return {std::filesystem::path(text), 1};
}

}  // namespace corral::config
