#include "base/recipe.h"

#include <algorithm>
#include <array>

namespace corral {
namespace {

constexpr Device kCpu = Device::cpu, kGpu = Device::gpu, kNpu = Device::npu;

constexpr std::array kText{ModelType::llm, ModelType::embedding, ModelType::reranking};
constexpr std::array kChat{ModelType::llm};
constexpr std::array kFlm{ModelType::llm, ModelType::transcription, ModelType::embedding};
constexpr std::array kHearing{ModelType::transcription};
constexpr std::array kImages{ModelType::image};
constexpr std::array kSpeech{ModelType::tts};

constexpr std::array kRecipes{
    Recipe{"llamacpp", kGpu, kCpu | kGpu, NpuUse::none, kText, ""},
    Recipe{"oga-cpu", kCpu, kCpu, NpuUse::none, kChat, "ryzenai-server"},
    Recipe{"oga-hybrid", kGpu | kNpu, kGpu | kNpu, NpuUse::exclusive, kChat, "ryzenai-server"},
    Recipe{"oga-npu", kNpu, kNpu, NpuUse::exclusive, kChat, "ryzenai-server"},
    Recipe{"ryzenai-llm", kNpu, kNpu, NpuUse::exclusive, kChat, "ryzenai-server"},
    Recipe{"flm", kNpu, kNpu, NpuUse::coexist, kFlm, "flm"},
    Recipe{"vllm", kGpu, kGpu, NpuUse::none, kChat, "vllm-server"},
    Recipe{"whispercpp", kCpu, kCpu | kGpu | kNpu, NpuUse::exclusive, kHearing, "whisper-server"},
    Recipe{"moonshine", kCpu, kCpu, NpuUse::none, kHearing, "moonshine-server"},
    Recipe{"sd-cpp", kCpu, kCpu | kGpu, NpuUse::none, kImages, "sd-server"},
    Recipe{"thenoise", kGpu, kGpu, NpuUse::none, kImages, "thenoise"},
    Recipe{"kokoro", kCpu, kCpu, NpuUse::none, kSpeech, "koko"},
    Recipe{"openmoss", kGpu, kGpu, NpuUse::none, kSpeech, "moss-tts-server"},
};

}  // namespace

std::span<const Recipe> recipes() { return kRecipes; }

const Recipe* find_recipe(std::string_view name) {
  const auto found = std::ranges::find(kRecipes, name, &Recipe::name);
  return found == kRecipes.end() ? nullptr : &*found;
}

bool serves(const Recipe& recipe, ModelType type) {
  return std::ranges::find(recipe.types, type) != recipe.types.end();
}

std::string recipe_names() {
  std::string text;
  for (const Recipe& recipe : kRecipes) text.append(text.empty() ? "" : ", ").append(recipe.name);
  return text;
}

NpuUse npu_use(std::string_view recipe, Device effective) {
  if (!has(effective, Device::npu)) return NpuUse::none;
  const Recipe* const known = find_recipe(recipe);
  return known ? known->on_npu : NpuUse::exclusive;
}

}  // namespace corral
