#include "app/model_supply.h"

#include <utility>

#include "app/parts_options.h"

namespace corral::app {

ModelSupply::ModelSupply(async::Timers& timers, config::LiveSettings& live, const config::ServeSettings& settings,
                         SupplyHooks hooks)
    : hooks_(std::move(hooks)),
      event_source_(hooks_.notify),
      names_(settings.user_models_file(), settings.aliases_file()),
      download_manager_(timers, download_manager_options(settings),
                        [this](api::DownloadEventSource::Row row, bool moved) {
                          const bool arrived = moved && row->view.state == downloads::DownloadState::done;
                          event_source_.changed(std::move(row));
                          if (arrived) hooks_.arrived();
                        }),
      supply_{.download_manager = download_manager_,
              .names = names_,
              .places = [&live] { return model_places(*live.in_force()); },
              .memory = hooks_.memory,
              .imports = imports_,
              .known = hooks_.known} {
  change(settings);
}

void ModelSupply::change(const config::ServeSettings& settings) {
  download_manager_.set_offline(settings.offline);
  supply_.auto_pull = settings.auto_pull;
}

}  // namespace corral::app
