#include "residency/npu_rule.h"

#include <array>

namespace corral::residency {
namespace {

struct Row {
  std::string_view recipe;
  NpuPolicy policy;
};
// Everything else that uses the NPU is taken to need the whole of it.
constexpr std::array kRecipes{Row{"flm", NpuPolicy::coexist}};

bool type_coexists(ModelType type) {
  return type == ModelType::llm || type == ModelType::transcription || type == ModelType::embedding;
}

}  // namespace

bool may_share_npu(const ModelSpec& a, const ModelSpec& b) {
  if (!uses_npu(a) || !uses_npu(b)) return true;
  if (a.npu != NpuPolicy::coexist || b.npu != NpuPolicy::coexist) return false;
  return a.recipe == b.recipe && a.type != b.type && type_coexists(a.type) && type_coexists(b.type);
}

NpuPolicy npu_policy_of(std::string_view recipe, Device effective) {
  if (!has(effective, Device::npu)) return NpuPolicy::none;
  for (const Row& row : kRecipes) {
    if (row.recipe == recipe) return row.policy;
  }
  return NpuPolicy::exclusive;
}

}  // namespace corral::residency
