#include "base/model_type.h"

#include <utility>

namespace corral {
namespace {

constexpr std::array<std::string_view, kModelTypeCount> kTypeNames{"llm",           "embedding", "reranking",
                                                                   "transcription", "image",     "tts"};

struct LabelRow {
  std::string_view label;
  ModelType type;
};
constexpr std::array kLabels{
    LabelRow{"embedding", ModelType::embedding}, LabelRow{"embeddings", ModelType::embedding},
    LabelRow{"reranking", ModelType::reranking}, LabelRow{"rerank", ModelType::reranking},
    LabelRow{"audio", ModelType::transcription}, LabelRow{"transcription", ModelType::transcription},
    LabelRow{"image", ModelType::image},         LabelRow{"tts", ModelType::tts},
};

struct DeviceRow {
  Device device;
  std::string_view name;
};
constexpr std::array kDeviceNames{DeviceRow{Device::cpu, "cpu"}, DeviceRow{Device::gpu, "gpu"},
                                  DeviceRow{Device::npu, "npu"}};

}  // namespace

std::string_view name_of(ModelType type) { return kTypeNames[index_of(type)]; }

std::optional<ModelType> parse_model_type(std::string_view name) {
  for (ModelType type : kModelTypes) {
    if (name_of(type) == name) return type;
  }
  return std::nullopt;
}

std::optional<ModelType> type_of_label(std::string_view label) {
  for (const LabelRow& row : kLabels) {
    if (row.label == label) return row.type;
  }
  return std::nullopt;
}

ModelType type_of_labels(std::span<const std::string> labels) {
  for (const std::string& label : labels) {
    if (const auto type = type_of_label(label)) return *type;
  }
  return ModelType::llm;
}

std::string name_of(Device set) {
  std::string text;
  for (const DeviceRow& row : kDeviceNames) {
    if (!has(set, row.device)) continue;
    if (!text.empty()) text += '|';
    text += row.name;
  }
  return text.empty() ? "none" : text;
}

std::optional<Device> parse_device(std::string_view name) {
  Device set = Device::none;
  while (true) {
    const std::size_t bar = name.find('|');
    const std::string_view part = name.substr(0, bar);
    Device found = Device::none;
    for (const DeviceRow& row : kDeviceNames) {
      if (row.name == part) found = row.device;
    }
    if (found == Device::none) return std::nullopt;
    set |= found;
    if (bar == std::string_view::npos) return set;
    name.remove_prefix(bar + 1);
  }
}

}  // namespace corral
