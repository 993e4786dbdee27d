#include "config/files/known_models.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "base/state_file.h"
#include "base/text.h"
#include "config/errors.h"
#include "config/files/known_models_text.h"

namespace corral::config {
namespace {

constexpr std::size_t kMaxKnown = 1'000;
constexpr double kLargestBillions = 10'000;
constexpr std::uint64_t kProcessBytes = 256ull << 20;

// Bits of a parameter in a file: those of the format, or the average of files with mixed formats.
struct BitsRow {
  std::string_view quantisation;
  double bits;
};
constexpr BitsRow kBits[] = {
    {"Q2_K", 3.0},  {"Q3_K_S", 3.5}, {"Q3_K_M", 3.9}, {"Q3_K_L", 4.3},     {"IQ4_XS", 4.3},
    {"MXFP4", 4.6}, {"Q4_0", 4.6},   {"Q4_K_S", 4.6}, {"Q4_K_M", 4.9},     {"Q4_1", 5.0},
    {"Q5_0", 5.5},  {"Q5_K_S", 5.5}, {"Q5_K_M", 5.7}, {"Q5_1", 6.0},       {"Q6_K", 6.6},
    {"Q8_0", 8.5},  {"F16", 16.0},   {"BF16", 16.0},  {"UD-Q4_K_XL", 5.0},
};
constexpr double kBitsUnknown = 8.5;

std::unexpected<Error> bad_table(std::string_view where, std::string_view text) {
  return fail(errc::malformed_file, fmt::format("{}: {}", where, text));
}

bool is_word_char(unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.'; }

bool is_word(std::string_view text, std::size_t longest) {
  return !text.empty() && text.size() <= longest && std::isalnum(static_cast<unsigned char>(text.front())) != 0 &&
         std::ranges::all_of(text, is_word_char) && text.find("..") == text.npos;
}

bool is_repository(std::string_view text) {
  const auto slash = text.find('/');
  return slash != text.npos && is_word(text.substr(0, slash), 96) && is_word(text.substr(slash + 1), 96);
}

// Reads one row and collects its errors.
class RowReader {
 public:
  RowReader(const toml::table& row, std::string where) : row_(row), where_(std::move(where)) {}

  std::string text(std::string_view key) {
    const auto* node = row_.get(key);
    if (node == nullptr) return {};
    const auto* text = node->as_string();
    if (text == nullptr) note(fmt::format("{} must be a text", key));
    return text != nullptr ? text->get() : std::string();
  }
  double number(std::string_view key) {
    const auto* node = row_.get(key);
    if (node == nullptr) return 0;
    const auto value = node->value<double>();
    if (!value || !node->is_number()) note(fmt::format("{} must be a number", key));
    return value.value_or(0);
  }
  std::vector<std::string> texts(std::string_view key) {
    std::vector<std::string> texts;
    const auto* node = row_.get(key);
    if (node == nullptr) return texts;
    const auto* array = node->as_array();
    if (array == nullptr) note(fmt::format("{} must be a list of texts", key));
    if (array == nullptr) return texts;
    for (const auto& item : *array) {
      if (const auto* text = item.as_string())
        texts.push_back(text->get());
      else
        note(fmt::format("{} must be a list of texts", key));
    }
    return texts;
  }
  void only_keys(std::initializer_list<std::string_view> known) {
    for (const auto& [key, node] : row_) {
      if (std::ranges::find(known, key.str()) == known.end()) note(fmt::format("there is no key '{}'", key.str()));
    }
  }
  void note(std::string text) {
    if (problem_.empty()) problem_ = std::move(text);
  }
  Result<> end() const {
    if (problem_.empty()) return {};
    return bad_table(where_, problem_);
  }

 private:
  const toml::table& row_;
  const std::string where_;
  std::string problem_;
};

Result<KnownModel> read_row(const toml::table& row, std::string_view where, std::size_t number) {
  const auto* named = row.get("name");
  const auto* name = named != nullptr ? named->as_string() : nullptr;
  RowReader reader(row, fmt::format("{}: model '{}'", where, name != nullptr ? name->get() : std::to_string(number)));
  KnownModel model{.name = reader.text("name"),
                   .labels = reader.texts("labels"),
                   .repository = reader.text("repository"),
                   .quantisation = reader.text("quantisation"),
                   .file = reader.text("file"),
                   .billions = reader.number("parameters"),
                   .licence = reader.text("licence"),
                   .seen = reader.text("seen")};
  const auto type = reader.text("type");
  if (!is_word(model.name, 64)) reader.note("name must be letters, digits, '-', '_' and '.', 64 at most");
  if (const auto known = parse_model_type(type))
    model.type = *known;
  else
    reader.note(fmt::format("type '{}' is none of llm, embedding, reranking, transcription, image, tts", type));
  if (!is_repository(model.repository)) reader.note("repository must have the form org/repo");
  if (model.quantisation.empty() == model.file.empty()) reader.note("it needs a quantisation or a file, one of them");
  if (!(model.billions > 0) || model.billions > kLargestBillions) reader.note("parameters must be billions, above 0");
  if (!model.quantisation.empty() && !is_word(model.quantisation, 64)) reader.note("quantisation must be one word");
  if (!model.file.empty() && !is_word(model.file, 255)) reader.note("file must be the name of a file");
  reader.only_keys({"name", "type", "labels", "repository", "quantisation", "file", "parameters", "licence", "seen"});
  if (auto ended = reader.end(); !ended) return std::unexpected(ended.error());
  return model;
}

bool has_label(const KnownModel& model, std::string_view label) {
  return std::ranges::find(model.labels, label) != model.labels.end();
}

// The largest model with this label that takes at most `room`.
const KnownModel* largest(const KnownModels& known, std::string_view label, std::uint64_t room,
                          const std::vector<const KnownModel*>& but) {
  const KnownModel* best = nullptr;
  for (const auto& model : known.models) {
    if (model.type != ModelType::llm || !has_label(model, label)) continue;
    if (label == "chat" && has_label(model, "coding")) continue;  // made for coding
    if (estimated_memory(estimated_size(model)) > room || std::ranges::find(but, &model) != but.end()) continue;
    if (best == nullptr || estimated_size(model) > estimated_size(*best)) best = &model;
  }
  return best;
}

}  // namespace

const KnownModel* KnownModels::find(std::string_view name) const {
  const auto found =
      std::ranges::find_if(models, [&](const auto& model) { return equal_ignoring_case(model.name, name); });
  return found == models.end() ? nullptr : &*found;
}

Result<KnownTable> parse_known_models(std::string_view text, std::string_view where) {
  toml::table table;
  try {
    table = toml::parse(text, where);
  } catch (const toml::parse_error& error) {
    const auto& place = error.source().begin;
    return bad_table(where, fmt::format("line {}: not valid TOML: {}", place.line, error.description()));
  }
  KnownTable known;
  for (const auto& [key, node] : table) {
    if (key.str() == "only_these" && node.is_boolean()) {
      known.only_these = node.value_or(false);
    } else if (key.str() != "model" || !node.is_array_of_tables()) {
      return bad_table(where,
                       fmt::format("'{}': there are [[model]] tables and only_these = true or false", key.str()));
    }
  }
  const auto* rows = table.get_as<toml::array>("model");
  if (rows == nullptr) return known;
  if (rows->size() > kMaxKnown) return bad_table(where, fmt::format("more than {} models", kMaxKnown));
  for (const auto& row : *rows) {
    auto model = read_row(*row.as_table(), where, known.models.size() + 1);
    if (!model) return std::unexpected(model.error());
    const auto same = [&](const KnownModel& other) { return equal_ignoring_case(other.name, model->name); };
    if (std::ranges::any_of(known.models, same))
      return bad_table(where, fmt::format("model '{}' is in it twice", model->name));
    known.models.push_back(std::move(*model));
  }
  return known;
}

KnownModels read_known_models(const std::filesystem::path& user_file) {
  KnownModels known;
  if (auto shipped = parse_known_models(kKnownModelsText, "known_models.toml")) {
    known.models = std::move(shipped->models);
  } else {
    known.problem = shipped.error().message;
  }
  const auto text = user_file.empty() ? Result<std::optional<std::string>>() : read_state_file(user_file);
  if (!text) known.problem = text.error().message;
  if (!text || !*text) return known;
  auto own = parse_known_models(**text, user_file.native());
  if (!own) {
    known.problem = own.error().message;
    return known;
  }
  if (own->only_these) known.models.clear();
  for (auto& model : own->models) {
    const auto same = std::ranges::find_if(
        known.models, [&](const auto& other) { return equal_ignoring_case(other.name, model.name); });
    if (same != known.models.end()) {
      *same = std::move(model);
    } else {
      known.models.push_back(std::move(model));
    }
  }
  return known;
}

std::uint64_t estimated_size(const KnownModel& model) {
  double bits = kBitsUnknown;
  for (const auto& row : kBits)
    if (equal_ignoring_case(row.quantisation, model.quantisation)) bits = row.bits;
  return static_cast<std::uint64_t>(std::llround(model.billions * 1e9 * bits / 8));
}

std::uint64_t estimated_memory(std::uint64_t file_bytes) { return file_bytes + file_bytes / 10 + kProcessBytes; }

std::vector<const KnownModel*> suggested_models(const KnownModels& known, std::uint64_t memory) {
  const auto room = memory / 4 * 3;  // other programs need memory, too
  std::vector<const KnownModel*> models;
  const auto* const best = largest(known, "chat", room, models);
  if (best != nullptr) models.push_back(best);
  if (best != nullptr) {
    const auto half = std::min(room, estimated_memory(estimated_size(*best) / 2));
    if (const auto* quick = largest(known, "chat", half, models)) models.push_back(quick);
  }
  if (const auto* coder = largest(known, "coding", room, models)) models.push_back(coder);
  return models;
}

}  // namespace corral::config
