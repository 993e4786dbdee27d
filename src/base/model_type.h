// The type of a model (ModelType) and its devices (Device), with their names. The registry of models and the decision
// core both use them, so they are below both. Plain values; safe on every thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace corral {

// Each type has its own slots and LRU order.
enum class ModelType : std::uint8_t { llm, embedding, reranking, transcription, image, tts };

inline constexpr std::array kModelTypes{ModelType::llm,           ModelType::embedding, ModelType::reranking,
                                        ModelType::transcription, ModelType::image,     ModelType::tts};
inline constexpr std::size_t kModelTypeCount = kModelTypes.size();

constexpr std::size_t index_of(ModelType type) { return static_cast<std::size_t>(type); }

// The name used in configuration, in the API and in logs: "llm", "embedding", ...
std::string_view name_of(ModelType type);
// The type with exactly this name, if there is one.
std::optional<ModelType> parse_model_type(std::string_view name);

// The type of a label ("rerank" and "reranking" alike); nothing for labels without a type.
std::optional<ModelType> type_of_label(std::string_view label);
// The type of a model with these labels: of the first label with a type; none: llm.
ModelType type_of_labels(std::span<const std::string> labels);

// A set of devices. As values of one bit they name one device, or'ed together the devices a model uses.
enum class Device : std::uint8_t { none = 0, cpu = 1, gpu = 2, npu = 4 };

inline constexpr std::array kDevices{Device::cpu, Device::gpu, Device::npu};

constexpr Device operator|(Device a, Device b) {
  return static_cast<Device>(static_cast<std::uint8_t>(a) | static_cast<std::uint8_t>(b));
}
constexpr Device operator&(Device a, Device b) {
  return static_cast<Device>(static_cast<std::uint8_t>(a) & static_cast<std::uint8_t>(b));
}
constexpr Device& operator|=(Device& a, Device b) { return a = a | b; }

// True when the set holds at least one of the wanted devices: if (has(model.device, Device::npu)).
constexpr bool has(Device set, Device wanted) { return (set & wanted) != Device::none; }

// "cpu", "gpu|npu", ...; "none" for the empty set.
std::string name_of(Device set);
// The reverse of name_of; an unknown or empty name gives nothing.
std::optional<Device> parse_device(std::string_view name);

}  // namespace corral
