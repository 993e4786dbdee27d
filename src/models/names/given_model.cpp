#include "models/names/given_model.h"

#include "models/names/model_names.h"

namespace corral::models {

std::vector<std::filesystem::path> files_of_set(const std::filesystem::path& file) {
  constexpr std::uint64_t kMaxShardsOfFile = 10'000;
  const std::string stem = file.stem();
  const auto shard = parse_shard(stem);
  if (!shard || shard->count > kMaxShardsOfFile) return {file};
  std::vector<std::filesystem::path> files;
  for (std::uint64_t number = 1; number <= shard->count; ++number) {
    const auto name = shard_stem(shard->set, number, shard->count) + file.extension().native();
    files.push_back(file.parent_path() / name);
  }
  return files;
}

Catalog as_given(const Catalog& found, const GivenModel& given) {
  std::vector<ModelInfo> models;
  for (const auto& model : found.models()) {
    auto& info = models.emplace_back(*model);
    if (given.type) info.type = *given.type;
    info.declared.names = given.names;
    info.declared.tags = given.tags;
    if (given.names.empty()) continue;
    info.aliases.push_back(info.name);
    info.name = ModelName(given.names.front());
    for (auto name = given.names.begin() + 1; name != given.names.end(); ++name) info.aliases.emplace_back(*name);
    std::erase(info.aliases, info.name);
  }
  const auto problems = found.problems();
  const auto others = found.not_models();
  return Catalog(std::move(models), {problems.begin(), problems.end()}, {others.begin(), others.end()});
}

}  // namespace corral::models
