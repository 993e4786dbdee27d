#include "app/model_supply.h"

#include <utility>

#include "app/parts_options.h"

namespace corral::app {

ModelSupply::ModelSupply(async::Timers& timers, config::LiveSettings& live, const config::ServeSettings& settings,
                         SupplyHooks hooks)
    : hooks_(std::move(hooks)),
      teller_(hooks_.tell),
      names_(settings.user_models_file(), settings.aliases_file()),
      desk_(timers, desk_options(settings),
            [this](api::DownloadEventSource::Row row, bool moved) {
              const bool arrived = moved && row->view.state == downloads::DownloadState::done;
              teller_.changed(std::move(row));
              if (arrived) hooks_.arrived();
            }),
      supply_{.desk = desk_,
              .names = names_,
              .places = [&live] { return model_places(*live.in_force()); },
              .memory = hooks_.memory,
              .imports = imports_,
              .known = hooks_.known} {
  change(settings);
}

void ModelSupply::change(const config::ServeSettings& settings) {
  desk_.set_offline(settings.offline);
  supply_.auto_pull = settings.auto_pull;
}

}  // namespace corral::app
