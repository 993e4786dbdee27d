#include "residency/npu_rule.h"

namespace corral::residency {
namespace {

bool type_coexists(ModelType type) {
  return type == ModelType::llm || type == ModelType::transcription || type == ModelType::embedding;
}

}  // namespace

bool may_share_npu(const ModelSpec& a, const ModelSpec& b) {
  if (!uses_npu(a) || !uses_npu(b)) return true;
  if (a.npu != NpuPolicy::coexist || b.npu != NpuPolicy::coexist) return false;
  return a.recipe == b.recipe && a.type != b.type && type_coexists(a.type) && type_coexists(b.type);
}

}  // namespace corral::residency
