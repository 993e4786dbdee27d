#include "mesh/catalog/hashed_since.h"

namespace corral::mesh {

ContentKey HashedSince::operator()(const ContentKey& key) {
  if (!key.pending) return key;
  if (!names_) {
    names_.emplace();
    for (const auto& model : catalog_.models()) {
      for (const auto& copy : model.copies) {
        ModelOnDisk unhashed;
        unhashed.name = copy.model->name;
        unhashed.bytes = copy.model->bytes;
        const auto before = content_key(unhashed);
        const auto [there, fresh] = names_->emplace(before, model.content);
        if (!fresh && there->second != model.content) there->second = before;
      }
    }
  }
  const auto found = names_->find(key);
  return found == names_->end() ? key : found->second;
}

}  // namespace corral::mesh
