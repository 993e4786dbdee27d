#include <algorithm>
#include <array>
#include <deque>

#include "base/mutex.h"
#include "base/own_recipes.h"

namespace corral {
namespace {

constexpr Device kCpu = Device::cpu, kGpu = Device::gpu, kNpu = Device::npu;

constexpr std::array kText{ModelType::llm, ModelType::embedding, ModelType::reranking};
constexpr std::array kChat{ModelType::llm};
constexpr std::array kFlm{ModelType::llm, ModelType::transcription, ModelType::embedding};
constexpr std::array kHearing{ModelType::transcription};
constexpr std::array kImages{ModelType::image};
constexpr std::array kSpeech{ModelType::tts};
constexpr std::array kMany{ModelType::llm,           ModelType::embedding, ModelType::reranking,
                           ModelType::transcription, ModelType::image,     ModelType::tts};

constexpr std::array kRecipes{
    Recipe{"llamacpp", kGpu, kCpu | kGpu, NpuUse::none, kText, ""},
    Recipe{"oga-cpu", kCpu, kCpu, NpuUse::none, kChat, "ryzenai-server"},
    Recipe{"oga-hybrid", kGpu | kNpu, kGpu | kNpu, NpuUse::exclusive, kChat, "ryzenai-server"},
    Recipe{"oga-npu", kNpu, kNpu, NpuUse::exclusive, kChat, "ryzenai-server"},
    Recipe{"ryzenai-llm", kNpu, kNpu, NpuUse::exclusive, kChat, "ryzenai-server"},
    Recipe{"flm", kNpu, kNpu, NpuUse::coexist, kFlm, "flm"},
    Recipe{"vllm", kGpu, kGpu, NpuUse::none, kText, "vllm"},
    Recipe{"whispercpp", kCpu, kCpu | kGpu | kNpu, NpuUse::exclusive, kHearing, "whisper-server"},
    Recipe{"moonshine", kCpu, kCpu, NpuUse::none, kHearing, "moonshine-server"},
    Recipe{"sd-cpp", kCpu, kCpu | kGpu, NpuUse::none, kImages, "sd-server"},
    Recipe{"thenoise", kGpu, kGpu, NpuUse::none, kImages, "thenoise"},
    Recipe{"kokoro", kCpu, kCpu, NpuUse::none, kSpeech, "koko"},
    Recipe{"espeak-ng", kCpu, kCpu, NpuUse::none, kSpeech, "espeak-ng"},
    Recipe{"openmoss", kGpu, kGpu, NpuUse::none, kSpeech, "moss-tts-server"},
    Recipe{"llama-server", kGpu, kCpu | kGpu, NpuUse::none, kText, "llama-server"},
    Recipe{"command", kCpu, kCpu | kGpu, NpuUse::none, kMany, "a command"},
    Recipe{"lemonade", kCpu, kCpu, NpuUse::none, kMany, "a running server"},
    Recipe{"lmstudio", kCpu, kCpu, NpuUse::none, kText, "a running server"},
    Recipe{"ollama", kCpu, kCpu, NpuUse::none, kText, "a running server"},
};

struct Kept {
  OwnRecipe own;
  Recipe row;
};
// Entries keep their address, because find_recipe() returns it.
struct KeptRecipes {
  mutable Mutex mutex;  // held for a search or an addition
  std::deque<Kept> all GUARDED_BY(mutex);
};
KeptRecipes& kept() {
  static KeptRecipes recipes;
  return recipes;
}

bool same(const OwnRecipe& a, const OwnRecipe& b) {
  return a.name == b.name && a.device == b.device && a.possible == b.possible && a.on_npu == b.on_npu &&
         a.types == b.types && a.program == b.program;
}

// The latest one of that name; null: none.
const Kept* latest(const KeptRecipes& among, std::string_view name) REQUIRES(among.mutex) {
  const auto& all = among.all;
  const auto found = std::find_if(all.rbegin(), all.rend(), [&](const Kept& entry) { return entry.row.name == name; });
  return found == all.rend() ? nullptr : &*found;
}

}  // namespace

std::span<const Recipe> recipes() { return kRecipes; }

void add_recipes(std::vector<OwnRecipe> own) {
  auto& known = kept();
  const MutexLock lock(known.mutex);
  for (auto& one : own) {
    if (const Kept* const last = latest(known, one.name); last != nullptr && same(last->own, one)) continue;
    auto& entry = known.all.emplace_back();
    entry.own = std::move(one);
    const auto& said = entry.own;
    entry.row = {said.name, said.device, said.possible, said.on_npu, said.types, said.program};
  }
}

const Recipe* find_recipe(std::string_view name) {
  {
    const auto& known = kept();
    const MutexLock lock(known.mutex);
    if (const Kept* const own = latest(known, name)) return &own->row;
  }
  const auto found = std::ranges::find(kRecipes, name, &Recipe::name);
  return found == kRecipes.end() ? nullptr : &*found;
}

bool takes_gguf(std::string_view recipe) { return recipe == "llamacpp" || recipe == "llama-server"; }

bool serves(const Recipe& recipe, ModelType type) {
  return std::ranges::find(recipe.types, type) != recipe.types.end();
}

std::string recipe_names() {
  std::string text;
  for (const Recipe& recipe : kRecipes) text.append(text.empty() ? "" : ", ").append(recipe.name);
  const auto& known = kept();
  const MutexLock lock(known.mutex);
  for (const Kept& entry : known.all) {
    const bool built_in = std::ranges::find(kRecipes, entry.row.name, &Recipe::name) != kRecipes.end();
    if (!built_in && latest(known, entry.row.name) == &entry) text.append(", ").append(entry.row.name);
  }
  return text;
}

NpuUse npu_use(std::string_view recipe, Device effective) {
  if (!has(effective, Device::npu)) return NpuUse::none;
  const Recipe* const known = find_recipe(recipe);
  return known ? known->on_npu : NpuUse::exclusive;
}

}  // namespace corral
