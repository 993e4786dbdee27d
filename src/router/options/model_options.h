// The options of a load: from the load itself, saved for the model, and configured. On the home loop.
#pragma once

#include <memory>
#include <set>
#include <vector>

#include "backends/option_store.h"
#include "backends/wrapped_server.h"
#include "base/recipe_table.h"
#include "router/core/core_driver.h"
#include "router/options/load_spec.h"
#include "router/options/option_report.h"

namespace corral::router {

class ModelOptions {
 public:
  // The backend of a model, and the resolved options.
  struct Resolved {
    backends::Backend* backend;
    backends::LoadOptions options;
  };

  ModelOptions(std::vector<backends::Backend*> backends, backends::OptionStore saved)
      : backends_(std::move(backends)), saved_(std::move(saved)) {}

  // A further recipe. `backend` must outlive this object.
  void add(backends::Backend& backend) { backends_.push_back(&backend); }

  // For later loads.
  void use(RecipeTable recipes) { recipes_ = std::move(recipes); }
  const RecipeTable& recipes() const { return recipes_; }

  // Sets the defaults for options that neither the load nor the saved options set. `without_args`: the same without the
  // server's own llamacpp_args. `load_timeout` 0: from the model's size.
  void configure(backends::LoadOptions defaults, std::optional<backends::LoadOptions> without_args,
                 Millis load_timeout) {
    defaults_ = std::move(defaults);
    without_args_ = std::move(without_args);
    load_timeout_ = load_timeout;
  }

  // The options of a load with this patch, not resolved yet.
  backends::LoadOptions wanted(const models::ModelInfo& model, const OptionPatch& patch) const;
  // The same without the options that came with the model, which never decide its eviction.
  backends::LoadOptions wanted(const ModelName& model, const OptionPatch& patch) const;
  // Adds the configured options to `requested` of model and load. `came_with`: see came_with().
  backends::LoadOptions with_defaults(const backends::LoadOptions& requested,
                                      const backends::LoadOptions& came_with = {}) const;
  Result<Resolved> resolve(const models::ModelInfo& model, const backends::LoadOptions& options) const;
  // The spec of such a load, without what only its preflight can find. Errors: those of Backend::resolve.
  Result<std::shared_ptr<LoadSpec>> spec_of(const backends::ModelPtr& model, const OptionPatch& patch) const;

  // See ModelRouter::options(); reads files.
  async::Task<Result<OptionReport>> change(backends::ModelPtr model, OptionChange change, const CoreDriver& driver);
  Result<> save_loaded(const ModelName& model, const OptionPatch& requested);
  void save_pin(const ModelName& model, bool pinned);
  std::set<ModelName> pins() const { return saved_.pins(); }
  backends::OptionStore::All all_saved() const { return saved_.all(); }

 private:
  std::vector<backends::Backend*> backends_;
  RecipeTable recipes_;
  backends::OptionStore saved_;
  backends::LoadOptions defaults_;
  std::optional<backends::LoadOptions> without_args_;
  Millis load_timeout_{0};
};

}  // namespace corral::router
