#include "models/gguf/inspection.h"

#include <fmt/format.h>

#include "models/errors.h"
#include "models/gguf/gguf_facts.h"

namespace corral::models {
namespace {

std::unexpected<Error> wrong(const SuspectFile& file, std::string_view what) {
  return fail(errc::malformed, fmt::format("'{}' {}", file.name, what));
}

Result<GgufFacts> look(SuspectFile& file) {
  auto reader = GgufReader::from(std::move(file.bytes), file.name);
  if (!reader) return std::unexpected(reader.error());
  return read_facts(*reader);
}

}  // namespace

Result<std::size_t> inspect_files(std::span<SuspectFile> files) {
  if (files.empty()) return fail(errc::malformed, "there are no files");
  const auto first = look(files.front());
  if (!first) return std::unexpected(first.error());
  if (first->kind != FileKind::model) return wrong(files.front(), fmt::format("is not a model but {}", first->what));
  if (first->shard != 0) return wrong(files.front(), fmt::format("is part {} of a model", first->shard + 1));
  const auto parts = first->shards;
  if (files.size() < parts || files.size() > parts + 1) {
    return wrong(files.front(), fmt::format("has the number of parts {}, but there are {} files", parts, files.size()));
  }
  for (std::size_t i = 1; i < files.size(); ++i) {
    const auto facts = look(files[i]);
    if (!facts) return std::unexpected(facts.error());
    const bool is_projector = i == parts;
    if (is_projector && facts->kind != FileKind::projector) return wrong(files[i], "is not a projector of a model");
    if (!is_projector && (facts->shard != i || facts->shards != parts)) {
      return wrong(files[i], fmt::format("is part {} of {}, expected part {} of {}", facts->shard + 1, facts->shards,
                                         i + 1, parts));
    }
  }
  return parts;
}

}  // namespace corral::models
