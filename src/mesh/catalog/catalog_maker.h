// Builds a catalog, step by step. Only for make_catalog().
#pragma once

#include <set>

#include "mesh/catalog/catalog.h"

namespace corral::mesh {

class CatalogMaker {
 public:
  explicit CatalogMaker(std::vector<KnownNode> nodes);
  std::shared_ptr<const Catalog> make();

  static std::string small(std::string_view name);
  static bool looks_hashed(std::string_view name);

 private:
  // A model on a node's disk.
  struct Claim {
    const KnownNode* node;
    const ModelOnDisk* model;
    const ServedModel* serving;
    ContentKey content;
    bool now = true;  // from the node's present epoch; false: only its name is used
  };
  void collect();
  void join_pending();
  void note_meanings();
  void make_model(const ContentKey& content, std::vector<const Claim*> claims);
  void make_wanted();
  void give_names();
  ModelStatus status_of(const MeshModel& model) const;

  std::shared_ptr<Catalog> catalog_ = std::make_shared<Catalog>();
  std::vector<Claim> claims_;
};

}  // namespace corral::mesh
